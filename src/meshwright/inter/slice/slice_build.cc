#include "meshwright/inter/slice/slice_build.h"

#include <string>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/computation_builder.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/inter/slice/slice_builder.h"
#include "meshwright/inter/slice/slice_shapes.h"

namespace meshwright {

absl::StatusOr<BuiltSlice> BuildSlice(const SliceContext& context, const SliceRequest& request,
                                      const SliceSelection& selection) {
  return SliceBuilder(context, request, selection).Run();
}

SliceBuilder::SliceBuilder(const SliceContext& context, const SliceRequest& request,
                           const SliceSelection& selection)
    : c_(context),
      graph_(context.graph),
      request_(request),
      selection_(selection),
      writer_(*context.graph.module),
      partial_(FindPartialSums(context, request.micro_batches, request.sum_parts)) {
  if (request.micro_batches == 1) return;
  const BatchSplit& batch = context.batch;
  statistics_.insert(batch.statistics.begin(), batch.statistics.end());
  numbered_.insert(batch.numbered.begin(), batch.numbered.end());
  whole_.insert(batch.whole.begin(), batch.whole.end());
  drawn_apart_.insert(batch.drawn_apart.begin(), batch.drawn_apart.end());
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!selection.op[i] || !context.numbered[i]) continue;
    for (int32_t l = graph_.ops[i].loop; l >= 0; l = graph_.loops[l].parent)
      numbered_loops_.insert(l);
  }
}

absl::StatusOr<BuiltSlice> SliceBuilder::Run() {
  ListRegions();
  for (const SliceValue& output : selection_.outputs) {
    if (output.combine != Reduction::kNone) combined_out_[output.value] = InstructionId();
  }
  CopyTables();
  const Computation& whole = graph_.module->entry_computation();
  Scope entry = writer_.Begin(whole);
  for (const SliceValue& input : selection_.inputs) AddParameter(entry, input);
  for (const SliceValue& input : selection_.inputs) {
    if (IsInParts(input)) SumUp(entry, input.value);
  }
  MW_RETURN_IF_ERROR(BuildRegion(entry, &whole));
  std::vector<InstructionId> results;
  for (const SliceValue& output : selection_.outputs) {
    MW_ASSIGN_OR_RETURN(const InstructionId result, Result(entry, output));
    results.push_back(result);
  }
  // The entry comes last.
  const ComputationId id = writer_.Finish(std::move(entry), results);
  writer_.module().entry = id;
  AddAliases();
  out_.module = std::move(writer_.module());
  return std::move(out_);
}

// ---- the module ----

void SliceBuilder::CopyTables() {
  const Module& from = *graph_.module;
  Module& to = writer_.module();
  to.name = from.name;
  for (const auto& attribute : from.other) {
    // One flag for every parameter or result.
    if (attribute.first.starts_with("allow_spmd_sharding_propagation")) continue;
    to.other.push_back(attribute);
  }
  to.file_names = from.file_names;
  to.function_names = from.function_names;
  to.file_locations = from.file_locations;
  to.stack_frames = from.stack_frames;
}

void SliceBuilder::AddAliases() {
  for (size_t o = 0; o < selection_.outputs.size(); ++o) {
    const SliceValue& output = selection_.outputs[o];
    if (output.role != SliceRole::kState) continue;
    for (size_t i = 0; i < selection_.inputs.size(); ++i) {
      if (selection_.inputs[i].parameter != c_.tied[output.output]) continue;
      InputOutputAlias alias;
      alias.output = {static_cast<int64_t>(o)};
      alias.parameter = static_cast<int64_t>(i);
      writer_.module().input_output_alias.push_back(alias);
    }
  }
}

void SliceBuilder::ListRegions() {
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    if (op.parameter >= 0) continue;
    bool here = selection_.op[i];
    if (op.kind == OpKind::kLoopParameter) {
      here = false;
    } else if (op.kind == OpKind::kLoopExit) {
      // A loop is built once, in the place of its first exit.
      const int32_t loop = graph_.carries[c_.structure.carry[i]].loop;
      here = c_.structure.first_exit[loop] == OpId(i) && !Carried(loop).empty();
    }
    if (here) regions_[c_.structure.region[i]].push_back(OpId(i));
  }
}

// The carries of a loop that the slice has.
std::vector<int32_t> SliceBuilder::Carried(int32_t loop) const {
  std::vector<int32_t> carried;
  const int32_t first = c_.structure.first_carry[loop];
  for (int32_t c = first; c < first + c_.structure.carry_count[loop]; ++c) {
    if (selection_.carry[c]) carried.push_back(c);
  }
  return carried;
}

// `value <opcode> number`, elementwise, added for `op`.
absl::StatusOr<InstructionId> SliceBuilder::Combine(Scope& scope, Opcode opcode,
                                                    InstructionId value, int64_t number, OpId op) {
  const Shape shape = scope.ShapeOf(value);
  if (!IsFloating(shape.type) && !IsInteger(shape.type)) {
    return absl::InvalidArgumentError(StrCat("\"", graph_[op].name, "\" of type ",
                                             ElementTypeName(shape.type),
                                             " cannot be taken for one micro-batch"));
  }
  InstructionId other = writer_.AddNumber(scope, shape.type, number);
  if (shape.rank() > 0) other = writer_.AddBroadcast(scope, other, shape);
  Instruction combined;
  combined.name = std::string(OpcodeName(opcode));
  combined.opcode = opcode;
  combined.operands = {value, other};
  combined.shape = shape;
  return Added(scope, std::move(combined), op);
}

// Adds what the slicing made for `op`.
InstructionId SliceBuilder::Added(Scope& scope, Instruction instruction, OpId op) {
  instruction.metadata = graph_[op].instruction->metadata;
  const InstructionId id = writer_.Add(scope, std::move(instruction));
  out_.phase[scope.computation[id].name] = selection_.phase[op.index()];
  return id;
}

absl::StatusOr<InstructionId> SliceBuilder::Lookup(Scope& scope, ValueId v) {
  if (const auto found = scope.values.find(v); found != scope.values.end()) return found->second;
  Instruction named;
  named.name = "micro_batch";
  if (v != c_.number()) {
    const OpId op = graph_[v].producer;
    named = *graph_[op].instruction;
    if (graph_[op].kind == OpKind::kLoopExit) {
      const Carry& carry = graph_.carries[c_.structure.carry[op.index()]];
      if (carry.invariant) return Lookup(scope, carry.init);
    }
  }
  if (scope.outer == nullptr) {
    return absl::InternalError(
        StrCat("\"", named.name, "\" is missing in \"", scope.computation.name, "\""));
  }
  MW_ASSIGN_OR_RETURN(const InstructionId outside, Lookup(*scope.outer, v));
  const Shape shape = scope.outer->ShapeOf(outside);
  const InstructionId inside = writer_.AddElement(
      scope, InstructionId(0), static_cast<int64_t>(scope.captured.size()), shape, named);
  scope.captured.push_back(v);
  scope.values[v] = inside;
  return inside;
}

// `v` with dimensions `dims`: where they differ from its own, it must be a filled tensor.
absl::StatusOr<InstructionId> SliceBuilder::Resized(Scope& scope, ValueId v,
                                                    const std::vector<int64_t>& dims) {
  MW_ASSIGN_OR_RETURN(const InstructionId id, Lookup(scope, v));
  if (scope.ShapeOf(id).dims == dims || !IsFilled(graph_, v)) return id;
  const auto found = scope.resized.find({v, dims});
  if (found != scope.resized.end()) return found->second;
  Instruction copy = scope.computation[id];
  copy.shape.dims = dims;
  if (copy.opcode == Opcode::kConstant) {
    const size_t bytes = static_cast<size_t>(ElementBytes(copy.shape.type));
    copy.literal.data.resize(bytes);
    const std::string element = copy.literal.data;
    for (int64_t i = 1; i < copy.shape.elements(); ++i) copy.literal.data += element;
  } else if (copy.opcode != Opcode::kBroadcast) {
    return id;  // captured by a branch
  }
  const InstructionId resized = writer_.Add(scope, std::move(copy));
  scope.resized[{v, dims}] = resized;
  return resized;
}

void SliceBuilder::AddParameter(Scope& scope, const SliceValue& input) {
  Instruction parameter;
  parameter.opcode = Opcode::kParameter;
  parameter.parameter_number = static_cast<int64_t>(scope.computation.parameters.size());
  OpId op;
  if (input.role == SliceRole::kNumber) {
    parameter.shape = Shape::Array(ElementType::kS32, {});
    parameter.shape.has_layout = true;
    parameter.name = input.name;
  } else {
    op = graph_[input.value].producer;
    parameter.shape = SliceShape(c_, request_, input.value);
    if (IsInParts(input)) parameter.shape = WithParts(parameter.shape, request_.sum_parts);
    parameter.sharding = graph_[input.value].sharding;
    parameter.metadata = graph_[op].instruction->metadata;
    parameter.name = NameTable::Valid(graph_[op].name);
  }
  parameter.metadata.op_name = input.name;
  const InstructionId id = writer_.Add(scope, std::move(parameter));
  scope.computation.parameters.push_back(id);
  if (input.layer >= 0) {
    border_in_[c_.structure.carry[op.index()]] = id;
  } else {
    scope.values[input.value] = id;
  }
}

absl::StatusOr<InstructionId> SliceBuilder::Result(Scope& scope, const SliceValue& output) {
  if (output.layer >= 0) {
    return border_out_.at(c_.structure.carry[graph_[output.value].producer.index()]);
  }
  if (output.combine != Reduction::kNone) return combined_out_.at(output.value);
  MW_ASSIGN_OR_RETURN(const InstructionId id, Lookup(scope, output.value));
  const bool mean = output.role == SliceRole::kSum && request_.micro_batches > 1 &&
                    c_.batch.roles[output.value.index()] == BatchRole::kStatistic;
  if (!mean) return id;
  return Combine(scope, Opcode::kDivide, id, request_.micro_batches, graph_[output.value].producer);
}

// ---- operators ----

absl::Status SliceBuilder::BuildRegion(Scope& scope, const Computation* region) {
  const auto ops = regions_.find(region);
  if (ops == regions_.end()) return absl::OkStatus();
  for (OpId op : ops->second) {
    switch (graph_[op].kind) {
      case OpKind::kInstruction:
        MW_RETURN_IF_ERROR(BuildInstruction(scope, op));
        break;
      case OpKind::kLoopExit:
        MW_RETURN_IF_ERROR(BuildLoop(scope, graph_.carries[c_.structure.carry[op.index()]].loop));
        break;
      case OpKind::kSelectBranch:
        if (!scope.values.contains(graph_[op].results[0])) {
          MW_RETURN_IF_ERROR(BuildConditional(scope, op));
        }
        break;
      default:
        break;
    }
  }
  return absl::OkStatus();
}

absl::Status SliceBuilder::BuildInstruction(Scope& scope, OpId id) {
  if (partial_.made[id.index()]) return BuildInParts(scope, id);
  const Op& op = graph_[id];
  Instruction copy = *op.instruction;
  copy.operands.clear();
  copy.control_predecessors.clear();
  copy.is_root = false;
  for (ComputationId& called : copy.called) called = writer_.Function(called);
  const std::string name = copy.name;
  std::vector<Shape> results;
  SliceRequest made = request_;
  if (whole_.contains(id)) made.micro_batches = 1;
  for (ValueId v : op.results) results.push_back(MadeShape(made, v));
  std::vector<InstructionId> leaves;
  std::vector<Shape> taken;
  for (ValueId v : op.operands) {
    InstructionId operand;
    const bool same_dims = IsElementwise(copy.opcode) && !results.empty() &&
                           graph_[v].shape.dims == graph_[op.results[0]].shape.dims;
    if (same_dims) {
      MW_ASSIGN_OR_RETURN(operand, Resized(scope, v, results[0].dims));
    } else {
      MW_ASSIGN_OR_RETURN(operand, Lookup(scope, v));
    }
    leaves.push_back(operand);
    taken.push_back(scope.ShapeOf(operand));
  }
  if (drawn_apart_.contains(id)) {
    MW_ASSIGN_OR_RETURN(leaves[0], OwnKey(scope, leaves[0], id));
  }
  if (const int32_t d = c_.stacks.index_dimension[id.index()]; d >= 0 && InPartOfLoop(op)) {
    MW_RETURN_IF_ERROR(MoveIndex(scope, id, d, leaves));
  }
  size_t next = 0;
  for (InstructionId operand : op.instruction->operands) {
    copy.operands.push_back(writer_.Join(scope, (*op.computation)[operand].shape, leaves, &next));
  }
  next = 0;
  copy.shape = WithLeaves(copy.shape, results, &next);
  if (op.results.size() == 1 && copy.sharding.empty()) {
    copy.sharding = graph_[op.results[0]].sharding;
  }
  MW_RETURN_IF_ERROR(ShrinkInstruction(graph_, op, taken, &copy));
  const InstructionId built = writer_.Add(scope, std::move(copy));
  out_.origin[scope.computation[built].name] = {id};
  std::vector<InstructionId> values = writer_.Split(scope, built);
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (statistics_.contains(id)) {
      MW_ASSIGN_OR_RETURN(values[i],
                          Combine(scope, Opcode::kMultiply, values[i], request_.micro_batches, id));
    }
    if (numbered_.contains(id)) {
      MW_ASSIGN_OR_RETURN(values[i], Numbered(scope, values[i], id));
    }
    if (whole_.contains(id) && c_.batch.dimension[op.results[i].index()] >= 0) {
      MW_ASSIGN_OR_RETURN(values[i], PartOfWhole(scope, values[i], op.results[i]));
    }
    if (IsStackIota(op)) {
      MW_ASSIGN_OR_RETURN(values[i], Combine(scope, Opcode::kAdd, values[i], FirstOf(op), id));
    }
    values[i] = LayersOfWhole(scope, values[i], op.results[i]);
    // What reads a value combined over layers reads that of all layers, which may be an input.
    scope.values.try_emplace(op.results[i], values[i]);
    const auto combined = combined_out_.find(op.results[i]);
    if (combined != combined_out_.end()) combined->second = values[i];
  }
  return absl::OkStatus();
}

// What the operator of `value` makes of it: the slice's layers, or all where it cannot do less.
Shape SliceBuilder::MadeShape(const SliceRequest& request, ValueId value) const {
  return c_.stacks.made_whole[value.index()] ? graph_[value].shape : SliceShape(c_, request, value);
}

// The slice's layers of `value`, of which `made` has all if it is a stack that is made whole.
InstructionId SliceBuilder::LayersOfWhole(Scope& scope, InstructionId made, ValueId value) {
  if (!c_.stacks.made_whole[value.index()]) return made;
  const LayerLoop& loop = c_.layers.loops[c_.stacks.loop[value.index()]];
  const LoopPart part = PartOf(loop, request_.begin, request_.end);
  const auto d = static_cast<size_t>(c_.stacks.dimension[value.index()]);
  Instruction layers;
  layers.opcode = Opcode::kSlice;
  layers.name = StrCat(graph_[graph_[value].producer].instruction->name, ".layers");
  layers.operands = {made};
  layers.shape = SliceShape(c_, request_, value);
  const int64_t size = graph_[value].shape.dims[d] / loop.count;  // of one layer
  for (const int64_t dim : layers.shape.dims) layers.slice.push_back({0, dim, 1});
  layers.slice[d] = {size * part.entry, size * (part.entry + part.high - part.low), 1};
  return Added(scope, std::move(layers), graph_[value].producer);
}

// The numbers of a loop's layers, of which the slice has a part that does not begin at 0.
bool SliceBuilder::IsStackIota(const Op& op) const {
  return op.instruction->opcode == Opcode::kIota &&
         c_.stacks.dimension[op.results[0].index()] == op.instruction->iota_dimension &&
         FirstOf(op) > 0;
}
int64_t SliceBuilder::FirstOf(const Op& op) const {
  const LayerLoop& loop = c_.layers.loops[c_.stacks.loop[op.results[0].index()]];
  const Shape& shape = graph_[op.results[0]].shape;
  return shape.dims[op.instruction->iota_dimension] / loop.count *
         PartOf(loop, request_.begin, request_.end).entry;
}

}  // namespace meshwright
