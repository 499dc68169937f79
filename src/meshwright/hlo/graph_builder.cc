#include "meshwright/hlo/graph_builder.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/hlo/dead_code.h"
#include "meshwright/hlo/inline_calls.h"

// The walk itself: names, views, the module's boundary, and instructions that only move values
// about. graph_control.cc translates those that call computations or run asynchronously.

namespace meshwright {
namespace {

// Leaves of all views together; bounds memory where few instructions have huge tuples.
constexpr size_t kMaxLeaves = size_t{1} << 26;

// Whether the graph inlines what instructions of this opcode call; other callees are attributes.
bool Inlines(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kAsyncStart:
      return true;
    default:
      return false;
  }
}

}  // namespace

const GraphBuilder::Translator GraphBuilder::kTranslators[] = {
    {Opcode::kParameter, &GraphBuilder::Argument},
    {Opcode::kTuple, &GraphBuilder::MakeTuple},
    {Opcode::kGetTupleElement, &GraphBuilder::Element},
    {Opcode::kOptimizationBarrier, &GraphBuilder::Forward},
    {Opcode::kAddDependency, &GraphBuilder::Forward},
    {Opcode::kDomain, &GraphBuilder::Forward},
    {Opcode::kAfterAll, &GraphBuilder::AfterAll},
    {Opcode::kCustomCall, &GraphBuilder::CustomCall},
    {Opcode::kCall, &GraphBuilder::Call},
    {Opcode::kFusion, &GraphBuilder::Call},
    {Opcode::kWhile, &GraphBuilder::While},
    {Opcode::kConditional, &GraphBuilder::Conditional},
    {Opcode::kAsyncStart, &GraphBuilder::AsyncStart},
    {Opcode::kAsyncUpdate, &GraphBuilder::Forward},
    {Opcode::kAsyncDone, &GraphBuilder::Done},
    {Opcode::kAllGatherStart, &GraphBuilder::StartOp},
    {Opcode::kAllGatherDone, &GraphBuilder::Done},
    {Opcode::kAllReduceStart, &GraphBuilder::AllReduceStart},
    {Opcode::kAllReduceDone, &GraphBuilder::Done},
    {Opcode::kCollectivePermuteStart, &GraphBuilder::StartOp},
    {Opcode::kCollectivePermuteDone, &GraphBuilder::Done},
    {Opcode::kCopyStart, &GraphBuilder::StartOp},
    {Opcode::kCopyDone, &GraphBuilder::Done},
    {Opcode::kRecvDone, &GraphBuilder::Done},
    {Opcode::kSendDone, &GraphBuilder::Done},
};

GraphBuilder::GraphBuilder(const Module& module)
    : module_(module),
      call_sites_(module.computations.size(), 0),
      active_(module.computations.size(), false),
      translator_of_(kOpcodeCount, -1) {
  for (size_t i = 0; i < std::size(kTranslators); ++i) {
    translator_of_[static_cast<size_t>(kTranslators[i].opcode)] = static_cast<int32_t>(i);
  }
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (!Inlines(instruction.opcode)) continue;
      for (ComputationId called : instruction.called) {
        if (called.valid() && called.index() < call_sites_.size()) ++call_sites_[called.index()];
      }
    }
  }
}

absl::StatusOr<Graph> GraphBuilder::Build() {
  graph_.name = module_.name;
  graph_.module = &module_;
  if (!module_.entry.valid() || module_.entry.index() >= module_.computations.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("module \"%s\" has no entry computation", module_.name));
  }
  Frame entry;
  entry.computation = &module_.entry_computation();
  entry.site = {entry.computation};
  active_[module_.entry.index()] = true;
  for (InstructionId id : entry.computation->parameters) {
    if (!id.valid() || id.index() >= entry.computation->instructions.size()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "computation \"%s\" lacks one of its parameters", entry.computation->name));
    }
  }
  AddEntryParameters(entry);
  MW_ASSIGN_OR_RETURN(const View root, Visit(entry));
  AddOutputs(*entry.computation, root);
  DropDeadCode(graph_);
  AddAliases();
  for (const Loop& loop : graph_.loops) {
    if (loop.trip_count_known) continue;
    graph_.warnings.push_back(absl::StrFormat(
        "trip count of loop \"%s\" cannot be derived; its body is counted once", loop.name));
  }
  if (const std::string bounded = FindBoundedSize(graph_); !bounded.empty()) {
    graph_.warnings.push_back(absl::StrCat(
        bounded, " has a size that is only bounded; it is taken to be always the bound"));
  }
  return std::move(graph_);
}

// ---- the module's boundary ----

void GraphBuilder::AddEntryParameters(Frame& entry) {
  for (size_t number = 0; number < entry.computation->parameters.size(); ++number) {
    const Instruction& parameter = (*entry.computation)[entry.computation->parameters[number]];
    std::vector<ValueId> leaves;
    ForEachLeaf(parameter.shape, [&](const std::vector<int64_t>& path, const Shape& leaf) {
      Op& op = AddOp(OpKind::kInstruction, entry, parameter,
                     absl::StrCat(parameter.name, LeafPathText(path)));
      op.parameter = static_cast<int64_t>(number);
      op.leaf = path;
      leaves.push_back(AddResult(op, leaf));
      graph_.parameters.push_back(OpId(graph_.ops.size() - 1));
    });
    entry.arguments.push_back(AddView(leaves));
  }
}

void GraphBuilder::AddOutputs(const Computation& entry, View root) {
  Frame frame;
  frame.computation = &entry;
  const Instruction& instruction = entry[entry.root];
  int32_t next = 0;
  ForEachLeaf(instruction.shape, [&](const std::vector<int64_t>& path, const Shape&) {
    if (next >= root.count) return;  // Visit has refused such roots
    Op& op = AddOp(OpKind::kOutput, frame, instruction, absl::StrCat("output", LeafPathText(path)));
    op.leaf = path;
    AddOperands(op, {root.begin + next++, 1});
    graph_.outputs.push_back(OpId(graph_.ops.size() - 1));
  });
}

void GraphBuilder::AddAliases() {
  graph_.output_alias.assign(graph_.outputs.size(), -1);
  absl::flat_hash_map<std::vector<int64_t>, size_t> outputs;
  for (size_t i = 0; i < graph_.outputs.size(); ++i) outputs[graph_[graph_.outputs[i]].leaf] = i;
  absl::flat_hash_map<std::pair<int64_t, std::vector<int64_t>>, int32_t> parameters;
  for (size_t i = 0; i < graph_.parameters.size(); ++i) {
    const Op& op = graph_[graph_.parameters[i]];
    parameters[{op.parameter, op.leaf}] = static_cast<int32_t>(i);
  }
  for (const InputOutputAlias& alias : module_.input_output_alias) {
    const auto output = outputs.find(alias.output);
    const auto parameter = parameters.find({alias.parameter, alias.parameter_index});
    if (output == outputs.end() || parameter == parameters.end()) {
      graph_.warnings.push_back(
          absl::StrFormat("input_output_alias of output {%s} and parameter %d is ignored: they are "
                          "not both arrays of the entry computation",
                          absl::StrJoin(alias.output, ","), alias.parameter));
      continue;
    }
    // XLA lets buffers of other dimensions be shared where their sizes are equal on every device,
    // which no sharding promises: such a pair is taken for two buffers.
    const ValueId written = graph_[graph_.outputs[output->second]].operands[0];
    const ValueId donated = graph_[graph_.parameters[parameter->second]].result();
    if (graph_[written].shape.dims != graph_[donated].shape.dims) continue;
    graph_.output_alias[output->second] = parameter->second;
  }
}

// ---- the walk ----

absl::StatusOr<GraphBuilder::View> GraphBuilder::Enter(const Frame& caller, const Instruction& call,
                                                       ComputationId called,
                                                       std::vector<View> arguments,
                                                       double multiplicity, int32_t loop,
                                                       int32_t branch) {
  if (!called.valid() || called.index() >= module_.computations.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" calls a computation that does not exist", call.name));
  }
  const Computation& callee = module_[called];
  if (active_[called.index()]) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" calls computation \"%s\" recursively", call.name, callee.name));
  }
  if (depth_ >= kMaxCallDepth) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "\"%s\": computations call each other more than %d deep", call.name, kMaxCallDepth));
  }
  if (arguments.size() != callee.parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" gives %d arguments to computation \"%s\", which takes %d",
                        call.name, arguments.size(), callee.name, callee.parameters.size()));
  }
  Frame frame;
  frame.computation = &callee;
  frame.site = {&callee};
  if (call.opcode == Opcode::kCall || call.opcode == Opcode::kFusion) {
    frame.site = {&callee, &call, &caller.site};
  }
  frame.prefix =
      call_sites_[called.index()] > 1 ? absl::StrCat(caller.prefix, call.name, "/") : caller.prefix;
  frame.multiplicity = multiplicity;
  frame.loop = loop;
  frame.branch = branch;
  frame.arguments = std::move(arguments);
  active_[called.index()] = true;
  ++depth_;
  absl::StatusOr<View> root = Visit(frame);
  --depth_;
  active_[called.index()] = false;
  return root;
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::Visit(Frame& frame) {
  const Computation& computation = *frame.computation;
  frame.views.resize(computation.instructions.size());
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    if (++inlined_ > kMaxInlinedInstructions || leaves_.size() > kMaxLeaves) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "module \"%s\" has more than %d instructions once calls are inlined (at \"%s\")",
          module_.name, kMaxInlinedInstructions, instruction.name));
    }
    for (size_t o = 0; o < instruction.operands.size(); ++o) {
      if (OperandView(frame, instruction, o).valid()) continue;
      return absl::InvalidArgumentError(
          absl::StrFormat("operand %d of \"%s\" does not come before it", o, instruction.name));
    }
    const int arity = OpcodeArity(instruction.opcode);
    if (arity >= 0 && instruction.operands.size() != static_cast<size_t>(arity)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("\"%s\" has %d operands; %s takes %d", instruction.name,
                          instruction.operands.size(), OpcodeName(instruction.opcode), arity));
    }
    MW_ASSIGN_OR_RETURN(const View view, Translate(frame, instruction));
    if (view.count != LeafCount(instruction.shape)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("\"%s\" has shape %s, but its value has %d leaves", instruction.name,
                          instruction.shape.ToString(/*with_layout=*/false), view.count));
    }
    if (!StandsForResults(frame, instruction)) ApplySharding(instruction, view);
    frame.views[i] = view;
  }
  if (!computation.root.valid() || computation.root.index() >= frame.views.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("computation \"%s\" has no root", computation.name));
  }
  return frame.views[computation.root.index()];
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::Translate(const Frame& frame,
                                                           const Instruction& instruction) {
  if (const int operand = IdentityOperand(module_, frame.site, instruction); operand >= 0) {
    return OperandView(frame, instruction, static_cast<size_t>(operand));
  }
  const int32_t translator = translator_of_[static_cast<size_t>(instruction.opcode)];
  if (translator < 0) return MakeOp(frame, instruction);
  return (this->*kTranslators[translator].translate)(frame, instruction);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::MakeOp(const Frame& frame,
                                                        const Instruction& instruction) {
  Op& op =
      AddOp(OpKind::kInstruction, frame, instruction, absl::StrCat(frame.prefix, instruction.name));
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    AddOperands(op, OperandView(frame, instruction, i));
  }
  ForEachLeaf(instruction.shape,
              [&](const std::vector<int64_t>&, const Shape& leaf) { AddResult(op, leaf); });
  return AddView(op.results);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::Argument(const Frame& frame,
                                                          const Instruction& instruction) {
  const int64_t number = instruction.parameter_number;
  if (number < 0 || number >= static_cast<int64_t>(frame.arguments.size())) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" is parameter %d of a computation with %d parameters",
                        instruction.name, number, frame.arguments.size()));
  }
  return frame.arguments[static_cast<size_t>(number)];
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::MakeTuple(const Frame& frame,
                                                           const Instruction& instruction) {
  View view{static_cast<int32_t>(leaves_.size()), 0};
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const View operand = OperandView(frame, instruction, i);
    for (int32_t leaf = 0; leaf < operand.count; ++leaf) {
      leaves_.push_back(leaves_[static_cast<size_t>(operand.begin) + static_cast<size_t>(leaf)]);
    }
    view.count += operand.count;
  }
  return view;
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::Element(const Frame& frame,
                                                         const Instruction& instruction) {
  const Shape& tuple = (*frame.computation)[instruction.operands[0]].shape;
  const int64_t index = instruction.tuple_index;
  if (!tuple.is_tuple() || index < 0 || index >= static_cast<int64_t>(tuple.tuple.size())) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" takes element %d of a value of shape %s", instruction.name, index,
                        tuple.ToString(/*with_layout=*/false)));
  }
  return ElementView(tuple, OperandView(frame, instruction, 0), index);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::Forward(const Frame& frame,
                                                         const Instruction& instruction) {
  return OperandView(frame, instruction, 0);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::AfterAll(const Frame& frame,
                                                          const Instruction& instruction) {
  if (instruction.operands.size() == 1) return Forward(frame, instruction);
  return MakeOp(frame, instruction);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::CustomCall(const Frame& frame,
                                                            const Instruction& instruction) {
  if (instruction.operands.size() != 1) return MakeOp(frame, instruction);
  // Shardy's mark of a result; its sharding stands on the root.
  if (instruction.custom_call_target == "xla.sdy.FuncResultSharding") {
    return Forward(frame, instruction);
  }
  if (instruction.custom_call_target != "Sharding") return MakeOp(frame, instruction);
  const View operand = OperandView(frame, instruction, 0);
  if (operand.count != LeafCount(instruction.shape)) return MakeOp(frame, instruction);
  const std::vector<std::string_view> wanted = LeafShardings(instruction.sharding, operand.count);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string& present = graph_[Leaves(operand)[i]].sharding;
    if (!present.empty() && present != wanted[i]) return MakeOp(frame, instruction);
  }
  return operand;
}

// ---- pieces of the graph ----

Op& GraphBuilder::AddOp(OpKind kind, const Frame& frame, const Instruction& instruction,
                        std::string name) {
  Op& op = graph_.ops.emplace_back();
  op.kind = kind;
  op.instruction = &instruction;
  op.computation = frame.computation;
  op.name = UniqueName(std::move(name));
  op.multiplicity = frame.multiplicity;
  op.loop = frame.loop;
  op.branch = frame.branch;
  return op;
}

void GraphBuilder::AddOperands(Op& op, View view) {
  const OpId id(static_cast<size_t>(&op - graph_.ops.data()));
  for (ValueId value : Leaves(view)) {
    op.operands.push_back(value);
    std::vector<OpId>& users = graph_[value].users;
    if (users.empty() || users.back() != id) users.push_back(id);
  }
}

ValueId GraphBuilder::AddResult(Op& op, const Shape& shape) {
  const ValueId id(graph_.values.size());
  Value& value = graph_.values.emplace_back();
  value.shape = shape;
  value.producer = OpId(static_cast<size_t>(&op - graph_.ops.data()));
  value.result = static_cast<int32_t>(op.results.size());
  op.results.push_back(id);
  return id;
}

GraphBuilder::View GraphBuilder::AddView(absl::Span<const ValueId> leaves) {
  const View view{static_cast<int32_t>(leaves_.size()), static_cast<int32_t>(leaves.size())};
  leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
  return view;
}

absl::Span<const ValueId> GraphBuilder::Leaves(View view) const {
  if (view.count == 0) return {};
  return absl::MakeConstSpan(leaves_).subspan(static_cast<size_t>(view.begin),
                                              static_cast<size_t>(view.count));
}

GraphBuilder::View GraphBuilder::OperandView(const Frame& frame, const Instruction& instruction,
                                             size_t i) const {
  const InstructionId operand = instruction.operands[i];
  if (!operand.valid() || operand.index() >= frame.views.size()) return {};
  return frame.views[operand.index()];
}

GraphBuilder::View GraphBuilder::ElementView(const Shape& tuple, View view, int64_t index) {
  const LeafOffsets::Range range = offsets_.Element(tuple, index);
  return {view.begin + range.begin, range.count};
}

// Whether the sharding of `instruction` is that of the program's results only, not of the values
// that it returns.
bool GraphBuilder::StandsForResults(const Frame& frame, const Instruction& instruction) const {
  if (instruction.custom_call_target == "xla.sdy.FuncResultSharding") return true;
  const bool entry = frame.computation == &module_.entry_computation();
  return entry && instruction.is_root &&
         (instruction.opcode == Opcode::kTuple || instruction.opcode == Opcode::kGetTupleElement);
}

void GraphBuilder::ApplySharding(const Instruction& instruction, View view) {
  const std::vector<std::string_view> shardings = LeafShardings(instruction.sharding, view.count);
  for (size_t i = 0; i < shardings.size(); ++i) {
    std::string& sharding = graph_[Leaves(view)[i]].sharding;
    if (sharding.empty()) sharding = std::string(shardings[i]);
  }
}

std::string GraphBuilder::UniqueName(std::string name) {
  if (names_.insert(name).second) return name;
  // Names are only unique in their computation; two computations may have used the same one.
  std::string candidate;
  do {
    candidate = absl::StrCat(name, "~", ++next_suffix_[name] + 1);
  } while (!names_.insert(candidate).second);
  return candidate;
}

}  // namespace meshwright
