#include "meshwright/hlo/proto/writer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/attributes.h"
#include "meshwright/hlo/proto/dimensions.h"
#include "meshwright/hlo/proto/hlo.pb.h"
#include "meshwright/hlo/proto/instruction.h"
#include "meshwright/hlo/proto/shape.h"
#include "meshwright/hlo/text/metadata.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

using proto::HloComputationProto;
using proto::HloInstructionProto;
using proto::HloModuleProto;

class ModuleWriter {
 public:
  explicit ModuleWriter(const Module& module) : module_(module) {
    // Ids are unique in the whole module and start from 1, as in all versions of XLA.
    int64_t next = 1;
    for (const Computation& computation : module.computations) {
      first_id_.push_back(next);
      next += static_cast<int64_t>(computation.instructions.size());
    }
    for (const Computation& computation : module.computations) {
      for (const Instruction& instruction : computation.instructions) {
        if (instruction.opcode != Opcode::kFusion) continue;
        for (ComputationId called : instruction.called) fused_.push_back(called);
      }
    }
  }

  void Write(HloModuleProto* out) const {
    out->set_name(module_.name);
    for (size_t c = 0; c < module_.computations.size(); ++c) {
      WriteComputation(ComputationId(c), out->add_computations());
    }
    for (ComputationId fused : fused_) {
      out->mutable_computations(fused.value)->set_is_fusion_computation(true);
    }
    if (module_.entry.valid()) {
      out->set_entry_computation_name(module_.entry_computation().name);
      out->set_entry_computation_id(Id(module_.entry));
    }
    if (module_.is_scheduled) WriteSchedule(out->mutable_schedule());
    WriteInterface(out);
    WriteStackFrames(out->mutable_stack_frame_index());
    WriteOther(out);
  }

 private:
  static int64_t Id(ComputationId computation) { return computation.value + 1; }
  int64_t Id(ComputationId computation, InstructionId instruction) const {
    return first_id_[computation.index()] + instruction.value;
  }

  void WriteComputation(ComputationId id, HloComputationProto* out) const;
  void WriteSchedule(proto::HloScheduleProto* out) const;
  void WriteInterface(HloModuleProto* out) const;
  void WriteStackFrames(proto::StackFrameIndexProto* out) const;
  void WriteOther(HloModuleProto* out) const;

  const Module& module_;
  std::vector<int64_t> first_id_;     // by computation: the id of its first instruction
  std::vector<ComputationId> fused_;  // what fusions call
};

void WriteProgramShape(const Computation& computation, proto::ProgramShapeProto* out) {
  for (InstructionId parameter : computation.parameters) {
    ShapeToProto(computation[parameter].shape, out->add_parameters());
    out->add_parameter_names(computation[parameter].name);
  }
  if (computation.root.valid()) {
    ShapeToProto(computation[computation.root].shape, out->mutable_result());
  }
}

void ModuleWriter::WriteComputation(ComputationId id, HloComputationProto* out) const {
  const Computation& computation = module_[id];
  out->set_name(computation.name);
  out->set_id(Id(id));
  out->set_root_id(Id(id, computation.root));
  out->set_execution_thread(computation.execution_thread);
  WriteProgramShape(computation, out->mutable_program_shape());
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    const Instruction& from = computation.instructions[i];
    HloInstructionProto* to = out->add_instructions();
    InstructionToProto(from, to);
    const ElementType operand =
        from.operands.empty() ? ElementType::kInvalid : computation[from.operands[0]].shape.type;
    OtherAttributesToProto(from.other, from.opcode, operand, to);
    to->set_id(Id(id, InstructionId(i)));
    for (InstructionId o : from.operands) to->add_operand_ids(Id(id, o));
    for (InstructionId p : from.control_predecessors) to->add_control_predecessor_ids(Id(id, p));
    for (ComputationId called : from.called) to->add_called_computation_ids(Id(called));
    // The proto has a loop's body before its condition.
    if (from.opcode == Opcode::kWhile && from.called.size() == 2) {
      to->mutable_called_computation_ids()->SwapElements(0, 1);
    }
  }
}

void ModuleWriter::WriteSchedule(proto::HloScheduleProto* out) const {
  for (size_t c = 0; c < module_.computations.size(); ++c) {
    const ComputationId id(c);
    auto& sequence = (*out->mutable_sequences())[Id(id)];
    for (size_t i = 0; i < module_[id].instructions.size(); ++i) {
      sequence.add_instruction_ids(Id(id, InstructionId(i)));
    }
  }
  // Schedules do not cover what happens inside of a fusion.
  for (ComputationId fused : fused_) out->mutable_sequences()->erase(Id(fused));
}

void ModuleWriter::WriteInterface(HloModuleProto* out) const {
  for (const InputOutputAlias& alias : module_.input_output_alias) {
    auto* entry = out->mutable_input_output_alias()->add_entries();
    ToList(alias.output, entry->mutable_output_shape_index());
    entry->set_parameter_number(alias.parameter);
    ToList(alias.parameter_index, entry->mutable_parameter_shape_index());
    entry->set_kind(alias.must ? 2 : 1);
  }
  for (const auto& [parameter, index] : module_.buffer_donors) {
    auto* entry = out->mutable_buffer_donor()->add_entries();
    entry->set_parameter_number(parameter);
    ToList(index, entry->mutable_parameter_shape_index());
  }
  proto::ProgramShapeProto* host = out->mutable_host_program_shape();
  const bool has_layout = module_.entry_result_layout.type != ElementType::kInvalid;
  out->set_no_entry_layout(!has_layout);
  if (module_.entry.valid()) WriteProgramShape(module_.entry_computation(), host);
  if (!has_layout) return;
  host->clear_parameters();
  for (const Shape& shape : module_.entry_parameter_layouts) {
    ShapeToProto(shape, host->add_parameters());
  }
  host->clear_result();
  ShapeToProto(module_.entry_result_layout, host->mutable_result());
}

void ModuleWriter::WriteStackFrames(proto::StackFrameIndexProto* out) const {
  for (const std::string& name : module_.file_names) out->add_file_names(name);
  for (const std::string& name : module_.function_names) out->add_function_names(name);
  for (const FileLocation& from : module_.file_locations) {
    auto* to = out->add_file_locations();
    to->set_file_name_id(static_cast<int32_t>(from.file_name_id));
    to->set_function_name_id(static_cast<int32_t>(from.function_name_id));
    to->set_line(static_cast<int32_t>(from.line));
    to->set_end_line(static_cast<int32_t>(from.end_line));
    to->set_column(static_cast<int32_t>(from.column));
    to->set_end_column(static_cast<int32_t>(from.end_column));
  }
  for (const StackFrame& from : module_.stack_frames) {
    auto* to = out->add_stack_frames();
    to->set_file_location_id(static_cast<int32_t>(from.file_location_id));
    to->set_parent_frame_id(static_cast<int32_t>(from.parent_frame_id - 1));  // as it is printed
  }
}

void ModuleWriter::WriteOther(HloModuleProto* out) const {
  AttributeList from_fields;
  for (const auto& [name, text] : module_.other) {
    if (name != "frontend_attributes") continue;
    StringPairs pairs;
    TextCursor cursor(text, "frontend_attributes");
    if (!ReadFrontendAttributes(cursor, pairs).ok()) continue;
    FrontendAttributesToProto(pairs, out->mutable_frontend_attributes());
    from_fields = {
        {name, FrontendAttributesText(SortedFrontendAttributes(out->frontend_attributes()))}};
  }
  if (from_fields == module_.other) return;
  for (const auto& [name, text] : module_.other) {
    proto::TextAttribute* attribute = out->add_text_attributes();
    attribute->set_name(name);
    attribute->set_value(text);
  }
}

}  // namespace

std::string ToHloProto(const Module& module) {
  HloModuleProto proto;
  ModuleWriter(module).Write(&proto);
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);  // maps in the order of their keys
  proto.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace meshwright
