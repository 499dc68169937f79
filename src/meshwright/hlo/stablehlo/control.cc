#include <algorithm>
#include <iterator>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/known_branches.h"
#include "meshwright/hlo/stablehlo/lowering.h"

// Operations whose regions run: loops and conditionals, which HLO gives computations that see
// nothing but their parameters. What a region uses from outside becomes part of the parameter;
// constants are made anew inside.

namespace meshwright {

std::vector<MlirValue> StablehloLowering::Captures(
    const MlirOperation& operation, absl::Span<const MlirRegion* const> regions,
    const absl::flat_hash_map<MlirValue, MlirValue>& replaced) const {
  std::vector<MlirValue> captures;
  absl::flat_hash_set<MlirValue> seen;
  const auto use = [&](MlirValue value) {
    if (const auto found = replaced.find(value); found != replaced.end()) value = found->second;
    if (value >= operation.inner || !seen.insert(value).second) return;
    const std::optional<Known> known = FindKnown(value, state_->frames.size());
    if (known.has_value() && !known->constant()) captures.push_back(value);
  };
  // Inner regions are looked at before the operation that has them.
  struct Position {
    const MlirRegion* region;
    size_t operation, inner;
  };
  for (const MlirRegion* outer : regions) {
    std::vector<Position> stack = {{outer, 0, 0}};
    while (!stack.empty()) {
      Position& at = stack.back();
      if (at.operation == at.region->operations.size()) {
        stack.pop_back();
        continue;
      }
      const MlirOperation& user = at.region->operations[at.operation];
      if (at.inner < user.regions.size()) {
        const MlirRegion* const inner = &user.regions[at.inner++];
        stack.push_back({inner, 0, 0});
        continue;
      }
      for (const MlirValue value : user.operands) use(value);
      ++at.operation;
      at.inner = 0;
    }
  }
  return captures;
}

void StablehloLowering::PushRegion(absl::Span<const MlirValue> values,
                                   absl::Span<const MlirValue> names) {
  const bool annotatable = state_->frames.back().annotatable;
  Frame& frame = state_->frames.emplace_back();
  frame.annotatable = annotatable;
  if (values.size() == 1) {
    frame.captured.emplace(names[0], frame.builder.AddParameter(Type(values[0]), {}, ""));
    return;
  }
  Shape shape;
  shape.type = ElementType::kTuple;
  for (const MlirValue value : values) shape.tuple.push_back(Type(value));
  const InstructionId tuple = frame.builder.AddParameter(shape, {}, "");
  for (size_t i = 0; i < values.size(); ++i) {
    frame.captured.emplace(names[i], frame.builder.AddElement(tuple, static_cast<int64_t>(i), {}));
  }
}

absl::Status StablehloLowering::LowerWhile(const MlirOperation& operation) {
  const size_t count = operation.operands.size();
  MW_RETURN_IF_ERROR(Expect(operation, -1, static_cast<int64_t>(count), 2));
  const MlirRegion& condition = operation.regions[0];
  const MlirRegion& body = operation.regions[1];
  const MlirOperation& next = body.operations.back();
  if (condition.arguments.size() != count || body.arguments.size() != count ||
      next.operands.size() != count || condition.operations.back().operands.size() != 1) {
    return Error(operation, StrCat("carries ", count,
                                   " values; its regions must take as many, "
                                   "the first return a condition, the second the values"));
  }
  // What the body hands on unchanged is not carried but used from outside, as XLA has it.
  absl::flat_hash_map<MlirValue, MlirValue> replaced;
  std::vector<size_t> carried;
  for (size_t i = 0; i < count; ++i) {
    if (next.operands[i] != body.arguments[i]) {
      carried.push_back(i);
      continue;
    }
    replaced.emplace(body.arguments[i], operation.operands[i]);
    replaced.emplace(condition.arguments[i], operation.operands[i]);
    if (!state_->platform_index.contains(operation.operands[i])) continue;
    state_->platform_index.insert({body.arguments[i], condition.arguments[i]});
  }
  const std::vector<MlirValue> captures = Captures(operation, {&condition, &body}, replaced);

  std::vector<InstructionId> inits;
  std::vector<MlirValue> values;  // carried and captured, as the outside knows them
  values.reserve(carried.size() + captures.size());
  for (const size_t i : carried) values.push_back(operation.operands[i]);
  values.insert(values.end(), captures.begin(), captures.end());
  for (const MlirValue value : values) {
    MW_ASSIGN_OR_RETURN(inits.emplace_back(), Operand(operation, value));
  }

  Instruction loop;
  for (const MlirRegion* region : {&condition, &body}) {
    std::vector<MlirValue> inside;
    inside.reserve(carried.size() + captures.size());
    for (const size_t i : carried) inside.push_back(region->arguments[i]);
    inside.insert(inside.end(), captures.begin(), captures.end());
    const bool is_body = region == &body;
    PushRegion(values, inside);
    Frame& frame = state_->frames.back();
    for (size_t i = 0; i < count; ++i) {
      const auto outside = replaced.find(region->arguments[i]);
      if (outside == replaced.end()) continue;
      // Unused, a constant, or captured under the name it has outside.
      if (const auto found = frame.captured.find(outside->second); found != frame.captured.end()) {
        const InstructionId known = found->second;  // growing the map would move it away
        frame.captured.emplace(region->arguments[i], known);
        continue;
      }
      const std::optional<Known> known = FindKnown(outside->second, state_->frames.size() - 1);
      if (known.has_value() && known->constant()) {
        frame.captured.emplace(region->arguments[i],
                               known->builder->CopyConstant(known->instruction, frame.builder));
      }
    }
    MW_RETURN_IF_ERROR(LowerOperations(*region));
    std::vector<InstructionId> results;
    if (is_body) {
      for (const size_t i : carried) {
        MW_ASSIGN_OR_RETURN(results.emplace_back(), Operand(operation, next.operands[i]));
      }
      for (const MlirValue value : captures) {
        MW_ASSIGN_OR_RETURN(results.emplace_back(), Operand(operation, value));
      }
    } else {
      MW_ASSIGN_OR_RETURN(results.emplace_back(),
                          Operand(operation, region->operations.back().operands[0]));
    }
    const InstructionId root =
        results.size() == 1 ? results[0] : this->builder().AddTuple(results, {});
    MW_ASSIGN_OR_RETURN(loop.called.emplace_back(), FinishFrame(ComputationName("region"), root));
  }

  loop.opcode = Opcode::kWhile;
  loop.metadata = MetadataOf(operation);
  loop.place = operation.place;
  loop.operands = {inits.size() == 1 ? inits[0] : builder().AddTuple(inits, {})};
  loop.shape = builder()[loop.operands[0]].shape;
  const Metadata metadata = loop.metadata;
  const InstructionId id = builder().AddAsIs(std::move(loop));
  for (size_t i = 0; i < carried.size(); ++i) {
    Bind(operation.results[carried[i]],
         inits.size() == 1 ? id : builder().AddElement(id, static_cast<int64_t>(i), metadata));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!replaced.contains(body.arguments[i])) continue;
    MW_ASSIGN_OR_RETURN(const InstructionId same, Operand(operation, operation.operands[i]));
    Bind(operation.results[i], same);
  }
  return absl::OkStatus();
}

std::optional<size_t> StablehloLowering::KnownBranch(const MlirOperation& operation) const {
  if (operation.operands.size() != 1 || operation.Find("sdy.sharding") != nullptr ||
      operation.Find("mhlo.sharding") != nullptr) {
    return std::nullopt;
  }
  const std::optional<Known> known = FindKnown(operation.operands[0], state_->frames.size());
  const std::optional<std::string> element =
      known.has_value() ? known->builder->FilledWith(known->instruction) : std::nullopt;
  const Shape& type = OperandType(operation, 0);
  if (!element.has_value() || type.rank() != 0) return std::nullopt;
  return ChosenBranch(type.type, *element, operation.regions.size());
}

absl::Status StablehloLowering::LowerBranches(const MlirOperation& operation) {
  MW_RETURN_IF_ERROR(Expect(operation, 1, -1, -1));
  if (operation.regions.empty()) return Error(operation, "has no branches");
  if (const std::optional<size_t> branch = KnownBranch(operation)) {
    if (operation.regions[*branch].arguments.empty()) {
      return LowerInPlace(operation, operation.regions[*branch]);
    }
  }
  Instruction instruction;
  MW_ASSIGN_OR_RETURN(instruction, Prepare(operation, Opcode::kConditional));
  for (const MlirRegion& region : operation.regions) {
    if (!region.arguments.empty()) {
      return Error(operation, "has a branch with arguments; branches take none");
    }
    const std::vector<MlirValue> captures = Captures(operation, {&region}, {});
    std::vector<InstructionId> arguments;
    for (const MlirValue value : captures) {
      MW_ASSIGN_OR_RETURN(arguments.emplace_back(), Operand(operation, value));
    }
    instruction.operands.push_back(arguments.size() == 1 ? arguments[0]
                                                         : builder().AddTuple(arguments, {}));
    PushRegion(captures, captures);
    MW_RETURN_IF_ERROR(LowerOperations(region));
    MW_ASSIGN_OR_RETURN(const InstructionId root, Root(region.operations.back()));
    MW_ASSIGN_OR_RETURN(instruction.called.emplace_back(),
                        FinishFrame(ComputationName("region"), root));
  }
  return Emit(operation, std::move(instruction));
}

absl::Status StablehloLowering::LowerInPlace(const MlirOperation& operation,
                                             const MlirRegion& region) {
  MW_RETURN_IF_ERROR(LowerOperations(region));
  const MlirOperation& terminator = region.operations.back();
  const auto type = [this](MlirValue value) -> const Shape& { return Type(value); };
  if (!std::equal(terminator.operands.begin(), terminator.operands.end(), operation.results.begin(),
                  operation.results.end(), [&](MlirValue returned, MlirValue result) {
                    return type(returned) == type(result);
                  })) {
    return Error(operation, "has a region that returns other types than its results have");
  }
  for (size_t i = 0; i < operation.results.size(); ++i) {
    MW_ASSIGN_OR_RETURN(const InstructionId value, Operand(terminator, terminator.operands[i]));
    Bind(operation.results[i], value);
    if (state_->platform_index.contains(terminator.operands[i])) {
      state_->platform_index.insert(operation.results[i]);
    }
  }
  return absl::OkStatus();
}

// ---- the table ----

namespace {

absl::Status LowerWhileRow(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  return l.LowerWhile(operation);
}

absl::Status LowerBranchesRow(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  return l.LowerBranches(operation);
}

// `func.call @f(...)`, `stablehlo.composite "name" ... {decomposition = @f}`
absl::Status LowerCall(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  const MlirAttribute* callee = l.Find(operation, {"callee", "decomposition"});
  if (callee == nullptr && !operation.unnamed.empty()) callee = &operation.unnamed[0];
  if (callee == nullptr || callee->kind != MlirAttribute::Kind::kSymbol) {
    return l.Error(operation, "names no function; it needs one, @f");
  }
  MW_ASSIGN_OR_RETURN(Instruction call, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(call.called.emplace_back(),
                      l.LowerFunction(operation, callee->string, operation.operands));
  return l.Emit(operation, std::move(call));
}

// Operations of chlo that are composites in portable artifacts, which know no chlo. XLA makes the
// operations of these anew and lets others call their decompositions.
constexpr std::string_view kChloComposites[] = {
    "chlo.acos", "chlo.acosh", "chlo.asin", "chlo.asinh", "chlo.atanh",
    "chlo.cosh", "chlo.erf",   "chlo.sinh", "chlo.top_k",
};

absl::Status LowerComposite(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  const MlirAttribute* name = operation.Find("name");
  if (name == nullptr && !operation.unnamed.empty()) name = &operation.unnamed[0];
  const MlirAttribute* const version = operation.Find("version");
  const auto* const chlo = name == nullptr
                               ? std::end(kChloComposites)
                               : std::find(std::begin(kChloComposites), std::end(kChloComposites),
                                           std::string_view(name->string));
  if (chlo == std::end(kChloComposites) || version == nullptr || version->integer != 1) {
    return LowerCall(l, operation, opcode);
  }
  MlirOperation composed = operation;
  composed.name = *chlo;
  composed.unnamed.clear();
  if (const MlirAttribute* const attributes = operation.Find("composite_attributes")) {
    composed.attributes.insert(composed.attributes.end(), attributes->entries.begin(),
                               attributes->entries.end());
  }
  const StablehloOperation* const row = FindStablehloOperation(composed.name);
  return row->lower(l, composed, row->opcode);
}

// HLO's barrier takes and gives one value: a tuple for several.
absl::Status LowerBarrier(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  const auto count = static_cast<int64_t>(operation.operands.size());
  MW_RETURN_IF_ERROR(l.Expect(operation, count, count, 0));
  MW_ASSIGN_OR_RETURN(Instruction barrier, l.Prepare(operation, opcode));
  if (count != 1) barrier.operands = {l.builder().AddTuple(barrier.operands, barrier.metadata)};
  return l.Emit(operation, std::move(barrier));
}

absl::Status LowerTuple(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, 1, 0));
  return LowerPlain(l, operation, opcode);
}

absl::Status LowerElement(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  const MlirAttribute* index = operation.Find("index");
  MW_ASSIGN_OR_RETURN(Instruction element, l.Prepare(operation, opcode));
  if (index != nullptr && index->kind == MlirAttribute::Kind::kInteger) {
    element.tuple_index = index->integer;
  } else if (!operation.unnamed.empty() && operation.unnamed[0].integers.size() == 1) {
    element.tuple_index = operation.unnamed[0].integers[0];
  } else {
    return l.Error(operation, "lacks the number of the element, [0]");
  }
  return l.Emit(operation, std::move(element));
}

constexpr StablehloOperation kControlOperations[] = {
    {"stablehlo.while", Opcode::kWhile, LowerWhileRow},
    {"stablehlo.case", Opcode::kConditional, LowerBranchesRow},
    {"stablehlo.if", Opcode::kConditional, LowerBranchesRow},
    {"func.call", Opcode::kCall, LowerCall},
    {"stablehlo.composite", Opcode::kCall, LowerComposite},
    {"stablehlo.optimization_barrier", Opcode::kOptimizationBarrier, LowerBarrier},
    {"stablehlo.tuple", Opcode::kTuple, LowerTuple},
    {"stablehlo.get_tuple_element", Opcode::kGetTupleElement, LowerElement},
};

}  // namespace

absl::Span<const StablehloOperation> StablehloControlOperations() { return kControlOperations; }

}  // namespace meshwright
