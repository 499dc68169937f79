#include "meshwright/hlo/proto/reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/dependency_order.h"
#include "meshwright/hlo/proto/attributes.h"
#include "meshwright/hlo/proto/dimensions.h"
#include "meshwright/hlo/proto/hlo.pb.h"
#include "meshwright/hlo/proto/instruction.h"
#include "meshwright/hlo/proto/shape.h"
#include "meshwright/hlo/scaled_dot.h"
#include "meshwright/hlo/text/metadata.h"
#include "meshwright/hlo/text_cursor.h"
#include "meshwright/hlo/verify/verifier.h"

namespace meshwright {
namespace {

using proto::HloComputationProto;
using proto::HloInstructionProto;
using proto::HloModuleProto;

absl::Status Prefixed(std::string_view prefix, const absl::Status& status) {
  return absl::Status(status.code(), StrCat(prefix, FromAbsl(status.message())));
}

// From an id in the proto to a position.
using Positions = absl::flat_hash_map<int64_t, size_t>;

absl::StatusOr<size_t> Find(const Positions& positions, int64_t id, std::string_view what) {
  const auto it = positions.find(id);
  if (it != positions.end()) return it->second;
  return absl::InvalidArgumentError(StrCat(what, " has the id ", id, ", which does not exist"));
}

// `items` in the order given by positions.
template <typename T>
std::vector<T> Reordered(std::vector<T> items, const std::vector<size_t>& order) {
  std::vector<T> result;
  result.reserve(items.size());
  for (size_t i : order) result.push_back(std::move(items[i]));
  return result;
}

// The inverse of an order: where each item has gone.
std::vector<size_t> NewPositions(const std::vector<size_t>& order) {
  std::vector<size_t> positions(order.size());
  for (size_t i = 0; i < order.size(); ++i) positions[order[i]] = i;
  return positions;
}

// One computation. What its instructions call is filled in later, when all computations are known.
class ComputationReader {
 public:
  // `schedule`: ids in execution order, or nullptr.
  ComputationReader(const HloComputationProto& proto,
                    const proto::HloScheduleProto::InstructionSequence* schedule)
      : proto_(proto), schedule_(schedule) {}

  absl::StatusOr<Computation> Read() {
    MW_RETURN_IF_ERROR(Order());
    result_.name = proto_.name();
    result_.execution_thread = proto_.execution_thread();
    for (const HloInstructionProto* instruction : ordered_) {
      absl::StatusOr<Instruction> read = ReadInstruction(*instruction);
      if (!read.ok()) {
        return Prefixed(StrCat("instruction ", QuoteForError(instruction->name()), ": "),
                        read.status());
      }
      result_.instructions.push_back(*std::move(read));
    }
    MW_RETURN_IF_ERROR(FindParameters());
    MW_ASSIGN_OR_RETURN(const size_t root, Find(positions_, proto_.root_id(), "the root"));
    result_.root = InstructionId(root);
    result_.instructions[root].is_root = true;
    return std::move(result_);
  }

  // By position of the instruction in the result.
  const std::vector<const HloInstructionProto*>& ordered() const { return ordered_; }

 private:
  absl::Status Order();
  absl::StatusOr<Instruction> ReadInstruction(const HloInstructionProto& from);
  absl::Status FindParameters();

  const HloComputationProto& proto_;
  const proto::HloScheduleProto::InstructionSequence* schedule_;
  std::vector<const HloInstructionProto*> ordered_;
  Positions positions_;  // by instruction id
  Computation result_;
};

absl::Status ComputationReader::Order() {
  for (const HloInstructionProto& instruction : proto_.instructions()) {
    if (!positions_.emplace(instruction.id(), ordered_.size()).second) {
      return absl::InvalidArgumentError(
          absl::StrFormat("two instructions have the id %d", instruction.id()));
    }
    ordered_.push_back(&instruction);
  }
  if (schedule_ != nullptr && schedule_->instruction_ids_size() > 0) {
    std::vector<size_t> order;
    for (int64_t id : schedule_->instruction_ids()) {
      MW_ASSIGN_OR_RETURN(order.emplace_back(), Find(positions_, id, "an instruction scheduled"));
    }
    std::vector<size_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.size() != ordered_.size() ||
        std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the schedule does not have each of %d instructions once", ordered_.size()));
    }
    ordered_ = Reordered(std::move(ordered_), order);
    for (size_t i = 0; i < ordered_.size(); ++i) positions_[ordered_[i]->id()] = i;
  }
  std::vector<std::vector<size_t>> needs(ordered_.size());
  for (size_t i = 0; i < ordered_.size(); ++i) {
    const std::string owner = StrCat("instruction ", QuoteForError(ordered_[i]->name()), ": ");
    for (const auto* ids : {&ordered_[i]->operand_ids(), &ordered_[i]->control_predecessor_ids()}) {
      for (int64_t id : *ids) {
        MW_ASSIGN_OR_RETURN(needs[i].emplace_back(), Find(positions_, id, owner + "an operand"));
      }
    }
  }
  const DependencyOrder order = OrderByDependency(needs);
  if (!order.cycle.empty()) {
    return absl::InvalidArgumentError(StrCat("instruction ",
                                             QuoteForError(ordered_[order.cycle[0]]->name()),
                                             ": its operands depend on itself"));
  }
  ordered_ = Reordered(std::move(ordered_), order.order);
  for (size_t i = 0; i < ordered_.size(); ++i) positions_[ordered_[i]->id()] = i;
  return absl::OkStatus();
}

absl::StatusOr<Instruction> ComputationReader::ReadInstruction(const HloInstructionProto& from) {
  MW_ASSIGN_OR_RETURN(Instruction to, InstructionFromProto(from));
  for (int64_t id : from.operand_ids()) to.operands.emplace_back(positions_.at(id));
  for (int64_t id : from.control_predecessor_ids()) {
    to.control_predecessors.emplace_back(positions_.at(id));
  }
  const ElementType operand =
      to.operands.empty() ? ElementType::kInvalid : result_[to.operands[0]].shape.type;
  to.other = OtherAttributes(from, to.opcode, operand);
  return to;
}

absl::Status ComputationReader::FindParameters() {
  const auto is_parameter = [](const Instruction& instruction) {
    return instruction.opcode == Opcode::kParameter;
  };
  const int64_t count =
      std::count_if(result_.instructions.begin(), result_.instructions.end(), is_parameter);
  result_.parameters.resize(static_cast<size_t>(count));
  for (size_t i = 0; i < result_.instructions.size(); ++i) {
    const Instruction& instruction = result_.instructions[i];
    if (!is_parameter(instruction)) continue;
    const int64_t number = instruction.parameter_number;
    if (number < 0 || number >= count || result_.parameters[static_cast<size_t>(number)].valid()) {
      return absl::InvalidArgumentError(
          StrCat("instruction ", QuoteForError(instruction.name), ": parameter number ", number,
                 " is out of range or taken; there are ", count, " parameters"));
    }
    result_.parameters[static_cast<size_t>(number)] = InstructionId(i);
  }
  return absl::OkStatus();
}

class ModuleReader {
 public:
  explicit ModuleReader(const HloModuleProto& proto) : proto_(proto) {}

  absl::StatusOr<Module> Read() {
    module_.name = proto_.name();
    module_.is_scheduled = proto_.has_schedule() && !proto_.schedule().sequences().empty();
    MW_RETURN_IF_ERROR(ReadComputations());
    MW_RETURN_IF_ERROR(ReadInterface());
    ReadStackFrames();
    ReadOther();
    return std::move(module_);
  }

 private:
  absl::Status ReadComputations();
  absl::StatusOr<size_t> FindEntry(const Positions& positions) const;
  absl::Status ReadInterface();
  void ReadStackFrames();
  void ReadOther();

  const HloModuleProto& proto_;
  Module module_;
};

absl::StatusOr<size_t> ModuleReader::FindEntry(const Positions& positions) const {
  if (proto_.entry_computation_id() != 0 || proto_.entry_computation_name().empty()) {
    return Find(positions, proto_.entry_computation_id(), "the entry computation");
  }
  for (int i = 0; i < proto_.computations_size(); ++i) {
    if (proto_.computations(i).name() == proto_.entry_computation_name()) {
      return static_cast<size_t>(i);
    }
  }
  return absl::InvalidArgumentError(StrCat(
      "the entry computation ", QuoteForError(proto_.entry_computation_name()), " does not exist"));
}

absl::Status ModuleReader::ReadComputations() {
  Positions positions;
  for (int i = 0; i < proto_.computations_size(); ++i) {
    if (!positions.emplace(proto_.computations(i).id(), static_cast<size_t>(i)).second) {
      return absl::InvalidArgumentError(
          absl::StrFormat("two computations have the id %d", proto_.computations(i).id()));
    }
  }
  MW_ASSIGN_OR_RETURN(const size_t entry, FindEntry(positions));

  std::vector<Computation> computations;
  std::vector<std::vector<size_t>> needs(static_cast<size_t>(proto_.computations_size()));
  for (size_t c = 0; c < needs.size(); ++c) {
    const HloComputationProto& from = proto_.computations(static_cast<int>(c));
    const std::string prefix = StrCat("computation ", QuoteForError(from.name()), ": ");
    const auto sequence = proto_.schedule().sequences().find(from.id());
    ComputationReader reader(
        from, sequence == proto_.schedule().sequences().end() ? nullptr : &sequence->second);
    absl::StatusOr<Computation> computation = reader.Read();
    if (!computation.ok()) return Prefixed(prefix, computation.status());
    for (size_t i = 0; i < computation->instructions.size(); ++i) {
      Instruction& instruction = computation->instructions[i];
      for (int64_t id : reader.ordered()[i]->called_computation_ids()) {
        const absl::StatusOr<size_t> called =
            Find(positions, id,
                 StrCat(prefix, "instruction ", QuoteForError(instruction.name),
                        ": a called computation"));
        if (!called.ok()) return called.status();
        instruction.called.emplace_back(*called);
        needs[c].push_back(*called);
      }
      // The proto has a loop's body before its condition.
      if (instruction.opcode == Opcode::kWhile && instruction.called.size() == 2) {
        std::swap(instruction.called[0], instruction.called[1]);
      }
    }
    computations.push_back(*std::move(computation));
  }
  for (size_t c = 0; c < needs.size(); ++c) {
    if (c != entry) needs[entry].push_back(c);  // the entry comes last
  }
  const DependencyOrder order = OrderByDependency(needs);
  if (!order.cycle.empty()) {
    return absl::InvalidArgumentError(StrCat("computation ",
                                             QuoteForError(computations[order.cycle[0]].name),
                                             " calls itself, or calls the entry computation"));
  }
  const std::vector<size_t> moved = NewPositions(order.order);
  module_.computations = Reordered(std::move(computations), order.order);
  module_.entry = ComputationId(moved[entry]);
  for (Computation& computation : module_.computations) {
    for (Instruction& instruction : computation.instructions) {
      for (ComputationId& called : instruction.called) {
        called = ComputationId(moved[called.index()]);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ModuleReader::ReadInterface() {
  for (const auto& entry : proto_.input_output_alias().entries()) {
    InputOutputAlias& alias = module_.input_output_alias.emplace_back();
    alias.output = FromList(entry.output_shape_index());
    alias.parameter = entry.parameter_number();
    alias.parameter_index = FromList(entry.parameter_shape_index());
    alias.must = entry.kind() == 2;
  }
  for (const auto& entry : proto_.buffer_donor().entries()) {
    module_.buffer_donors.emplace_back(entry.parameter_number(),
                                       FromList(entry.parameter_shape_index()));
  }
  if (!proto_.has_host_program_shape() || proto_.no_entry_layout()) return absl::OkStatus();
  const std::string_view prefix = "the entry computation's layout: ";
  for (const proto::ShapeProto& shape : proto_.host_program_shape().parameters()) {
    absl::StatusOr<Shape> parameter = ShapeFromProto(shape);
    if (!parameter.ok()) return Prefixed(prefix, parameter.status());
    module_.entry_parameter_layouts.push_back(*std::move(parameter));
  }
  absl::StatusOr<Shape> result = ShapeFromProto(proto_.host_program_shape().result());
  if (!result.ok()) return Prefixed(prefix, result.status());
  module_.entry_result_layout = *std::move(result);
  return absl::OkStatus();
}

void ModuleReader::ReadStackFrames() {
  const proto::StackFrameIndexProto& index = proto_.stack_frame_index();
  module_.file_names.assign(index.file_names().begin(), index.file_names().end());
  module_.function_names.assign(index.function_names().begin(), index.function_names().end());
  for (const auto& from : index.file_locations()) {
    FileLocation& to = module_.file_locations.emplace_back();
    to.file_name_id = from.file_name_id();
    to.function_name_id = from.function_name_id();
    to.line = from.line();
    to.end_line = from.end_line();
    to.column = from.column();
    to.end_column = from.end_column();
  }
  for (const auto& from : index.stack_frames()) {
    // XLA prints the parent's number plus one, so that 1 stands for "no parent".
    module_.stack_frames.push_back({from.file_location_id(), int64_t{from.parent_frame_id()} + 1});
  }
}

void ModuleReader::ReadOther() {
  for (const proto::TextAttribute& attribute : proto_.text_attributes()) {
    module_.other.emplace_back(attribute.name(), attribute.value());
  }
  const bool said = proto_.text_attributes_size() > 0;
  // What text says in its header stands in a compiled module's device assignment.
  const proto::DeviceAssignmentProto& devices = proto_.device_assignment();
  if (!said && devices.replica_count() > 1) {
    module_.other.emplace_back("replica_count", StrCat(devices.replica_count()));
  }
  if (!said && devices.computation_count() > 1) {
    module_.other.emplace_back("num_partitions", StrCat(devices.computation_count()));
  }
  if (said || proto_.frontend_attributes().map().empty()) return;
  module_.other.emplace_back(
      "frontend_attributes",
      FrontendAttributesText(SortedFrontendAttributes(proto_.frontend_attributes())));
}

}  // namespace

absl::StatusOr<Module> ParseHloProto(std::string_view bytes, std::string_view file_name) {
  const std::string prefix = StrCat(file_name, ": ");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError(StrCat(prefix, "larger than 2 GiB, the limit of protobuf"));
  }
  const int size = static_cast<int>(bytes.size());
  // A wrapper's first field holds the module, a module's its name: no name reads as a module that
  // has computations.
  proto::HloProto wrapper;
  proto::HloSnapshot snapshot;
  HloModuleProto plain;
  const HloModuleProto* proto = nullptr;
  if (wrapper.ParseFromArray(bytes.data(), size) && wrapper.hlo_module().computations_size() > 0) {
    proto = &wrapper.hlo_module();
  } else if (plain.ParseFromArray(bytes.data(), size) && plain.computations_size() > 0) {
    proto = &plain;
  } else if (snapshot.ParseFromArray(bytes.data(), size) &&
             snapshot.hlo().hlo_module().computations_size() > 0) {
    proto = &snapshot.hlo().hlo_module();
  } else {
    return absl::InvalidArgumentError(
        StrCat(prefix,
               "neither text nor a whole HloModuleProto or HloProto with computations, MLIR "
               "bytecode or file of jax.export (",
               bytes.size(), " bytes)"));
  }
  if (!proto->has_host_program_shape()) {
    return absl::InvalidArgumentError(
        StrCat(prefix,
               "lacks host_program_shape, which XLA writes behind the computations and "
               "reads no module without; is the file cut off? (",
               bytes.size(), " bytes)"));
  }
  absl::StatusOr<Module> module = ModuleReader(*proto).Read();
  if (!module.ok()) return Prefixed(prefix, module.status());
  if (const absl::Status status = ExpandScaledDots(*module); !status.ok()) {
    return Prefixed(prefix, status);
  }
  MW_RETURN_IF_ERROR(VerifyModule(*module, file_name));
  return module;
}

}  // namespace meshwright
