#include "meshwright/inter/slice_build.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/computation_builder.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/unique_names.h"
#include "meshwright/inter/slice_members.h"
#include "meshwright/inter/slice_shapes.h"

// Computations are built from operators, region by region (ProgramStructure::region): a loop's body
// and condition see what the loop carries; a branch takes what it reads from outside as elements of
// its parameter.

namespace meshwright {
namespace {

// A computation under construction.
struct Scope {
  Computation computation;
  absl::flat_hash_map<ValueId, InstructionId> values;
  std::map<std::pair<ValueId, std::vector<int64_t>>, InstructionId> resized;  // see Resized
  Scope* outer = nullptr;         // of branches: where captured values come from
  std::vector<ValueId> captured;  // by element of the parameter
};

class Builder {
 public:
  Builder(const SliceContext& context, const SliceRequest& request, const SliceSelection& selection)
      : c_(context),
        graph_(context.graph),
        request_(request),
        selection_(selection),
        functions_(context.graph.module->computations.size()) {
    if (request.micro_batches > 1) {
      statistics_.insert(context.batch.statistics.begin(), context.batch.statistics.end());
    }
  }

  absl::StatusOr<BuiltSlice> Run() {
    ListRegions();
    for (const SliceValue& output : selection_.outputs) {
      if (output.combine != Reduction::kNone) combined_out_[output.value] = InstructionId();
    }
    Module& module = out_.module;
    CopyTables();
    const Computation& whole = graph_.module->entry_computation();
    Scope entry = Begin(whole);
    for (const SliceValue& input : selection_.inputs) AddParameter(entry, input);
    MW_RETURN_IF_ERROR(BuildRegion(entry, &whole));
    std::vector<InstructionId> results;
    for (const SliceValue& output : selection_.outputs) {
      MW_ASSIGN_OR_RETURN(const InstructionId result, Result(entry, output));
      results.push_back(result);
    }
    const ComputationId id = Finish(std::move(entry), results);
    module.entry = id;
    AddAliases();
    return std::move(out_);
  }

 private:
  // ---- the module ----

  void CopyTables() {
    const Module& from = *graph_.module;
    Module& to = out_.module;
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

  void AddAliases() {
    for (size_t o = 0; o < selection_.outputs.size(); ++o) {
      const SliceValue& output = selection_.outputs[o];
      if (output.role != SliceRole::kState) continue;
      for (size_t i = 0; i < selection_.inputs.size(); ++i) {
        if (selection_.inputs[i].parameter != c_.tied[output.output]) continue;
        InputOutputAlias alias;
        alias.output = {static_cast<int64_t>(o)};
        alias.parameter = static_cast<int64_t>(i);
        out_.module.input_output_alias.push_back(alias);
      }
    }
  }

  void ListRegions() {
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
  std::vector<int32_t> Carried(int32_t loop) const {
    std::vector<int32_t> carried;
    const int32_t first = c_.structure.first_carry[loop];
    for (int32_t c = first; c < first + c_.structure.carry_count[loop]; ++c) {
      if (selection_.carry[c]) carried.push_back(c);
    }
    return carried;
  }

  Scope Begin(const Computation& like) {
    Scope scope;
    scope.computation.name = computation_names_.Take(like.name);
    scope.computation.execution_thread = like.execution_thread;
    return scope;
  }

  // Closes a computation that results in a tuple.
  ComputationId Finish(Scope scope, const std::vector<InstructionId>& results) {
    return FinishAt(std::move(scope), [&](Scope& s) { return AddTuple(s, results); });
  }
  template <typename MakeRoot>
  ComputationId FinishAt(Scope scope, const MakeRoot& make_root) {
    const InstructionId root = make_root(scope);
    scope.computation[root].is_root = true;
    scope.computation.root = root;
    out_.module.computations.push_back(std::move(scope.computation));
    return ComputationId(out_.module.computations.size() - 1);
  }

  // A function of scalars, as it is.
  ComputationId Function(ComputationId id) {
    if (functions_[id.index()].valid()) return functions_[id.index()];
    Computation copy = (*graph_.module)[id];
    copy.name = computation_names_.Take(copy.name);
    for (Instruction& i : copy.instructions) {
      i.name = names_.Take(i.name);
      for (ComputationId& called : i.called) called = Function(called);
    }
    out_.module.computations.push_back(std::move(copy));
    return functions_[id.index()] = ComputationId(out_.module.computations.size() - 1);
  }

  // ---- pieces ----

  InstructionId Add(Scope& scope, Instruction instruction) {
    instruction.name = names_.Take(instruction.name);
    scope.computation.instructions.push_back(std::move(instruction));
    return InstructionId(scope.computation.instructions.size() - 1);
  }
  const Shape& ShapeOf(const Scope& scope, InstructionId id) const {
    return scope.computation[id].shape;
  }

  InstructionId AddTuple(Scope& scope, const std::vector<InstructionId>& elements) {
    Instruction tuple;
    tuple.name = "tuple";
    tuple.opcode = Opcode::kTuple;
    tuple.operands = elements;
    std::vector<Shape> shapes;
    for (InstructionId id : elements) shapes.push_back(ShapeOf(scope, id));
    tuple.shape = Shape::Tuple(std::move(shapes));
    return Add(scope, std::move(tuple));
  }

  InstructionId AddElement(Scope& scope, InstructionId tuple, int64_t index, const Shape& shape,
                           const Instruction& of) {
    Instruction element;
    element.name = of.name;
    element.opcode = Opcode::kGetTupleElement;
    element.operands = {tuple};
    element.tuple_index = index;
    element.shape = shape;
    element.metadata = of.metadata;
    return Add(scope, std::move(element));
  }

  InstructionId AddNumber(Scope& scope, ElementType type, int64_t number) {
    Instruction constant;
    constant.name = "constant";
    constant.opcode = Opcode::kConstant;
    constant.shape = Shape::Array(type, {});
    constant.shape.has_layout = true;
    AppendElement(type, StrCat(number), constant.literal.data);
    return Add(scope, std::move(constant));
  }

  InstructionId AddBroadcast(Scope& scope, InstructionId scalar, const Shape& shape) {
    Instruction broadcast;
    broadcast.name = "broadcast";
    broadcast.opcode = Opcode::kBroadcast;
    broadcast.operands = {scalar};
    broadcast.shape = shape;
    return Add(scope, std::move(broadcast));
  }

  // `value <opcode> number`, elementwise, added for `op`.
  absl::StatusOr<InstructionId> Combine(Scope& scope, Opcode opcode, InstructionId value,
                                        int64_t number, OpId op) {
    const Shape shape = ShapeOf(scope, value);
    if (!IsFloating(shape.type) && !IsInteger(shape.type)) {
      return absl::InvalidArgumentError(StrCat("\"", graph_[op].name, "\" of type ",
                                               ElementTypeName(shape.type),
                                               " cannot be taken for one micro-batch"));
    }
    InstructionId other = AddNumber(scope, shape.type, number);
    if (shape.rank() > 0) other = AddBroadcast(scope, other, shape);
    Instruction combined;
    combined.name = std::string(OpcodeName(opcode));
    combined.opcode = opcode;
    combined.operands = {value, other};
    combined.shape = shape;
    return Added(scope, std::move(combined), op);
  }

  // Adds what the slicing made for `op`.
  InstructionId Added(Scope& scope, Instruction instruction, OpId op) {
    instruction.metadata = graph_[op].instruction->metadata;
    const InstructionId id = Add(scope, std::move(instruction));
    out_.phase[scope.computation[id].name] = selection_.phase[op.index()];
    return id;
  }

  absl::StatusOr<InstructionId> Lookup(Scope& scope, ValueId v) {
    if (const auto found = scope.values.find(v); found != scope.values.end()) return found->second;
    const OpId op = graph_[v].producer;
    if (graph_[op].kind == OpKind::kLoopExit) {
      const Carry& carry = graph_.carries[c_.structure.carry[op.index()]];
      if (carry.invariant) return Lookup(scope, carry.init);
    }
    if (scope.outer == nullptr) {
      return absl::InternalError(
          StrCat("\"", graph_[op].name, "\" is missing in \"", scope.computation.name, "\""));
    }
    MW_ASSIGN_OR_RETURN(const InstructionId outside, Lookup(*scope.outer, v));
    const Shape shape = ShapeOf(*scope.outer, outside);
    const InstructionId inside =
        AddElement(scope, InstructionId(0), static_cast<int64_t>(scope.captured.size()), shape,
                   *graph_[op].instruction);
    scope.captured.push_back(v);
    scope.values[v] = inside;
    return inside;
  }

  // `v` with dimensions `dims`: where they differ from its own, it must be a filled tensor.
  absl::StatusOr<InstructionId> Resized(Scope& scope, ValueId v, const std::vector<int64_t>& dims) {
    MW_ASSIGN_OR_RETURN(const InstructionId id, Lookup(scope, v));
    if (ShapeOf(scope, id).dims == dims || !IsFilled(graph_, v)) return id;
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
    const InstructionId resized = Add(scope, std::move(copy));
    scope.resized[{v, dims}] = resized;
    return resized;
  }

  void AddParameter(Scope& scope, const SliceValue& input) {
    const OpId op = graph_[input.value].producer;
    Instruction parameter;
    parameter.opcode = Opcode::kParameter;
    parameter.shape = SliceShape(c_, request_, input.value);
    parameter.sharding = graph_[input.value].sharding;
    parameter.parameter_number = static_cast<int64_t>(scope.computation.parameters.size());
    parameter.metadata = graph_[op].instruction->metadata;
    parameter.metadata.op_name = input.name;
    parameter.name = NameTable::Valid(graph_[op].name);
    const InstructionId id = Add(scope, std::move(parameter));
    scope.computation.parameters.push_back(id);
    if (input.layer >= 0) {
      border_in_[c_.structure.carry[op.index()]] = id;
    } else {
      scope.values[input.value] = id;
    }
  }

  absl::StatusOr<InstructionId> Result(Scope& scope, const SliceValue& output) {
    if (output.layer >= 0) {
      return border_out_.at(c_.structure.carry[graph_[output.value].producer.index()]);
    }
    if (output.combine != Reduction::kNone) return combined_out_.at(output.value);
    MW_ASSIGN_OR_RETURN(const InstructionId id, Lookup(scope, output.value));
    const bool mean = output.role == SliceRole::kSum && request_.micro_batches > 1 &&
                      c_.batch.roles[output.value.index()] == BatchRole::kStatistic;
    if (!mean) return id;
    return Combine(scope, Opcode::kDivide, id, request_.micro_batches,
                   graph_[output.value].producer);
  }

  // ---- operators ----

  absl::Status BuildRegion(Scope& scope, const Computation* region) {
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

  // Whether the slice has only some iterations of the layer loop that `op` is in.
  bool InPartOfLoop(const Op& op) const {
    if (op.loop < 0 || c_.stacks.layer_loop[op.loop] < 0) return false;
    return !PartOfLoop(op.loop).whole();
  }
  LoopPart PartOfLoop(int32_t loop) const {
    return PartOf(c_.layers.loops[c_.stacks.layer_loop[loop]], request_.begin, request_.end);
  }

  absl::Status BuildInstruction(Scope& scope, OpId id) {
    const Op& op = graph_[id];
    Instruction copy = *op.instruction;
    copy.operands.clear();
    copy.control_predecessors.clear();
    copy.is_root = false;
    for (ComputationId& called : copy.called) called = Function(called);
    const std::string name = copy.name;
    std::vector<Shape> results;
    for (ValueId v : op.results) results.push_back(SliceShape(c_, request_, v));
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
      taken.push_back(ShapeOf(scope, operand));
    }
    if (const int32_t d = c_.stacks.index_dimension[id.index()]; d >= 0 && InPartOfLoop(op)) {
      MW_RETURN_IF_ERROR(MoveIndex(scope, id, d, leaves));
    }
    size_t next = 0;
    for (InstructionId operand : op.instruction->operands) {
      copy.operands.push_back(Gathered(scope, (*op.computation)[operand].shape, leaves, &next));
    }
    next = 0;
    copy.shape = WithLeaves(copy.shape, results, &next);
    if (op.results.size() == 1 && copy.sharding.empty()) {
      copy.sharding = graph_[op.results[0]].sharding;
    }
    MW_RETURN_IF_ERROR(ShrinkInstruction(graph_, op, taken, &copy));
    const InstructionId built = Add(scope, std::move(copy));
    out_.origin[scope.computation[built].name] = {id};
    std::vector<InstructionId> values;
    Scatter(scope, built, ShapeOf(scope, built), &values);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (statistics_.contains(id)) {
        MW_ASSIGN_OR_RETURN(
            values[i], Combine(scope, Opcode::kMultiply, values[i], request_.micro_batches, id));
      }
      if (IsStackIota(op)) {
        MW_ASSIGN_OR_RETURN(values[i], Combine(scope, Opcode::kAdd, values[i], FirstOf(op), id));
      }
      // What reads a value combined over layers reads that of all layers, which may be an input.
      scope.values.try_emplace(op.results[i], values[i]);
      const auto combined = combined_out_.find(op.results[i]);
      if (combined != combined_out_.end()) combined->second = values[i];
    }
    return absl::OkStatus();
  }

  // The numbers of a loop's layers, of which the slice has a part that does not begin at 0.
  bool IsStackIota(const Op& op) const {
    return op.instruction->opcode == Opcode::kIota &&
           c_.stacks.dimension[op.results[0].index()] == op.instruction->iota_dimension &&
           FirstOf(op) > 0;
  }
  int64_t FirstOf(const Op& op) const {
    const LayerLoop& loop = c_.layers.loops[c_.stacks.loop[op.results[0].index()]];
    const Shape& shape = graph_[op.results[0]].shape;
    return shape.dims[op.instruction->iota_dimension] / loop.count *
           PartOf(loop, request_.begin, request_.end).low;
  }

  // A stack of part of the layers begins at the first of these.
  absl::Status MoveIndex(Scope& scope, OpId id, int32_t dimension,
                         std::vector<InstructionId>& leaves) {
    const Op& op = graph_[id];
    if (c_.stacks.dimension[op.operands[0].index()] != dimension) return absl::OkStatus();
    const int32_t low = PartOfLoop(op.loop).low;
    if (low == 0) return absl::OkStatus();
    const size_t first = op.instruction->opcode == Opcode::kDynamicSlice ? 1 : 2;
    InstructionId& index = leaves[first + static_cast<size_t>(dimension)];
    MW_ASSIGN_OR_RETURN(index, Combine(scope, Opcode::kSubtract, index, low, id));
    return absl::OkStatus();
  }

  // An operand of the shape of `like`, of leaves from `next` on.
  InstructionId Gathered(Scope& scope, const Shape& like, const std::vector<InstructionId>& leaves,
                         size_t* next) {
    if (!like.is_tuple()) return leaves[(*next)++];
    std::vector<InstructionId> elements;
    for (const Shape& element : like.tuple) {
      elements.push_back(Gathered(scope, element, leaves, next));
    }
    return AddTuple(scope, elements);
  }
  static Shape WithLeaves(const Shape& like, const std::vector<Shape>& leaves, size_t* next) {
    if (!like.is_tuple()) return leaves[(*next)++];
    Shape shape = like;
    for (Shape& element : shape.tuple) element = WithLeaves(element, leaves, next);
    return shape;
  }
  void Scatter(Scope& scope, InstructionId id, Shape shape, std::vector<InstructionId>* leaves) {
    if (!shape.is_tuple()) return leaves->push_back(id);
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      const Instruction of = scope.computation[id];
      Scatter(scope, AddElement(scope, id, static_cast<int64_t>(i), shape.tuple[i], of),
              shape.tuple[i], leaves);
    }
  }

  // ---- loops ----

  absl::Status BuildLoop(Scope& scope, int32_t loop) {
    const OpId exit = c_.structure.first_exit[loop];
    const Instruction& original = *graph_[exit].instruction;
    const Module& from = *graph_.module;
    const std::vector<int32_t> carried = Carried(loop);
    const bool layers = c_.stacks.layer_loop[loop] >= 0;
    const LoopPart part = layers ? PartOfLoop(loop) : kWholeLoop;

    std::vector<InstructionId> init;
    std::vector<Shape> shapes;
    for (int32_t c : carried) {
      MW_ASSIGN_OR_RETURN(const InstructionId id, Init(scope, c, part));
      init.push_back(id);
      shapes.push_back(ShapeOf(scope, id));
    }
    const Shape shape = Shape::Tuple(shapes);
    Scope body = Begin(from[original.called[1]]);
    Enter(body, shape, carried);
    MW_RETURN_IF_ERROR(BuildRegion(body, &from[original.called[1]]));
    std::vector<InstructionId> next;
    for (size_t i = 0; i < carried.size(); ++i) {
      MW_ASSIGN_OR_RETURN(const InstructionId id,
                          Resized(body, graph_.carries[carried[i]].next, shapes[i].dims));
      next.push_back(id);
    }
    Scope condition = Begin(from[original.called[0]]);
    Enter(condition, shape, carried);
    InstructionId go_on;
    if (part.whole()) {
      MW_RETURN_IF_ERROR(BuildRegion(condition, &from[original.called[0]]));
      MW_ASSIGN_OR_RETURN(go_on, Lookup(condition, c_.structure.condition[loop]));
    } else {
      MW_ASSIGN_OR_RETURN(go_on, CountTo(condition, loop, part));
    }

    Instruction copy = original;
    copy.control_predecessors.clear();
    copy.is_root = false;
    copy.shape = shape;
    copy.sharding.clear();
    if (!part.whole()) copy.backend_config.clear();  // says how often it runs
    copy.operands = {AddTuple(scope, init)};
    const ComputationId condition_id =
        FinishAt(std::move(condition), [&](Scope&) { return go_on; });
    copy.called = {condition_id, Finish(std::move(body), next)};
    const InstructionId built = Add(scope, std::move(copy));
    std::vector<OpId>& origin = out_.origin[scope.computation[built].name];
    out_.phase[scope.computation[built].name] = selection_.phase[exit.index()];
    for (size_t i = 0; i < carried.size(); ++i) {
      const Carry& carry = graph_.carries[carried[i]];
      origin.push_back(graph_[carry.exit].producer);
      const InstructionId value =
          AddElement(scope, built, static_cast<int64_t>(i), shapes[i], original);
      border_out_[carried[i]] = value;
      const bool ends = part.has_last || KindOfCarry(c_, carried[i]) == CarryKind::kStack;
      if (ends) scope.values[carry.exit] = value;
    }
    return absl::OkStatus();
  }

  // What the carry has at the start of the slice's first iteration.
  absl::StatusOr<InstructionId> Init(Scope& scope, int32_t c, const LoopPart& part) {
    const Carry& carry = graph_.carries[c];
    if (!part.whole()) {
      const CarryKind kind = KindOfCarry(c_, c);
      if (kind == CarryKind::kCount) {
        return AddNumber(scope, graph_[carry.parameter].shape.type,
                         c_.stacks.counts.at(c)[static_cast<size_t>(part.start)]);
      }
      if (kind == CarryKind::kPlain && !part.has_first) return border_in_.at(c);
    }
    return Resized(scope, carry.init, SliceShape(c_, request_, carry.parameter).dims);
  }

  void Enter(Scope& scope, const Shape& shape, const std::vector<int32_t>& carried) {
    Instruction parameter;
    parameter.name = "arg_tuple";
    parameter.opcode = Opcode::kParameter;
    parameter.shape = shape;
    parameter.parameter_number = 0;
    const InstructionId tuple = Add(scope, std::move(parameter));
    scope.computation.parameters = {tuple};
    Instruction of;
    of.name = "carry";
    for (size_t i = 0; i < carried.size(); ++i) {
      scope.values[graph_.carries[carried[i]].parameter] =
          AddElement(scope, tuple, static_cast<int64_t>(i), shape.tuple[i], of);
    }
  }

  // Whether the slice's last iteration is still to come.
  absl::StatusOr<InstructionId> CountTo(Scope& scope, int32_t loop, const LoopPart& part) {
    const int32_t counter = c_.stacks.counter[c_.stacks.layer_loop[loop]];
    const std::vector<int64_t>& counts = c_.stacks.counts.at(counter);
    const int64_t end = counts[static_cast<size_t>(part.start + part.high - part.low)];
    MW_ASSIGN_OR_RETURN(const InstructionId count,
                        Lookup(scope, graph_.carries[counter].parameter));
    Instruction compare;
    compare.name = "compare";
    compare.opcode = Opcode::kCompare;
    compare.operands = {count, AddNumber(scope, ShapeOf(scope, count).type, end)};
    compare.direction = counts.front() < counts.back() ? "LT" : "GT";
    compare.shape = Shape::Array(ElementType::kPred, {});
    compare.shape.has_layout = true;
    return Added(scope, std::move(compare), c_.structure.first_exit[loop]);
  }

  // ---- conditionals ----

  absl::Status BuildConditional(Scope& scope, OpId first) {
    const Instruction& original = *graph_[first].instruction;
    std::vector<OpId> leaves;
    for (size_t i = first.index(); i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.kind != OpKind::kSelectBranch || op.instruction != &original) break;
      if (selection_.op[i]) leaves.emplace_back(i);
    }
    Instruction copy = original;
    copy.control_predecessors.clear();
    copy.is_root = false;
    copy.sharding.clear();
    std::vector<Shape> shapes;
    for (OpId leaf : leaves) {
      shapes.push_back(SliceShape(c_, request_, graph_[leaf].results[0]));
    }
    copy.shape = Shape::Tuple(shapes);
    MW_ASSIGN_OR_RETURN(const InstructionId which,
                        Lookup(scope, c_.structure.predicate[first.index()]));
    copy.operands = {which};
    for (size_t b = 0; b < original.called.size(); ++b) {
      const Computation& from = (*graph_.module)[original.called[b]];
      Scope branch = Begin(from);
      branch.outer = &scope;
      Instruction parameter;
      parameter.name = "arg_tuple";
      parameter.opcode = Opcode::kParameter;
      parameter.parameter_number = 0;
      branch.computation.parameters = {Add(branch, std::move(parameter))};
      MW_RETURN_IF_ERROR(BuildRegion(branch, &from));
      std::vector<InstructionId> results;
      for (size_t i = 0; i < leaves.size(); ++i) {
        MW_ASSIGN_OR_RETURN(const InstructionId result,
                            Resized(branch, graph_[leaves[i]].operands[b], shapes[i].dims));
        results.push_back(result);
      }
      std::vector<InstructionId> captured;
      for (ValueId v : branch.captured) {
        MW_ASSIGN_OR_RETURN(const InstructionId outside, Lookup(scope, v));
        captured.push_back(outside);
      }
      copy.operands.push_back(AddTuple(scope, captured));
      branch.computation.instructions[0].shape = ShapeOf(scope, copy.operands.back());
      copy.called[b] = Finish(std::move(branch), results);
    }
    const InstructionId built = Add(scope, std::move(copy));
    out_.origin[scope.computation[built].name] = leaves;
    for (size_t i = 0; i < leaves.size(); ++i) {
      scope.values[graph_[leaves[i]].results[0]] =
          AddElement(scope, built, static_cast<int64_t>(i), shapes[i], original);
    }
    return absl::OkStatus();
  }

  const SliceContext& c_;
  const Graph& graph_;
  const SliceRequest& request_;
  const SliceSelection& selection_;
  BuiltSlice out_;
  UniqueNames names_, computation_names_;
  std::vector<ComputationId> functions_;  // by computation of the whole module
  absl::flat_hash_map<const Computation*, std::vector<OpId>> regions_;
  absl::flat_hash_map<int32_t, InstructionId> border_in_, border_out_;  // by carry; in the entry
  // By value: what the slice's layers give of it, see SliceValue::combine.
  absl::flat_hash_map<ValueId, InstructionId> combined_out_;
  absl::flat_hash_set<OpId> statistics_;
};

}  // namespace

absl::StatusOr<BuiltSlice> BuildSlice(const SliceContext& context, const SliceRequest& request,
                                      const SliceSelection& selection) {
  return Builder(context, request, selection).Run();
}

}  // namespace meshwright
