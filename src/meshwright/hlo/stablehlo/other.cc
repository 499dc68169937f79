#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/attribute_tables.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/hlo/partitioned.h"
#include "meshwright/hlo/scan_call.h"
#include "meshwright/hlo/stablehlo/lowering.h"
#include "meshwright/hlo/text/metadata.h"

// Reductions, sorts, random numbers, linear algebra, custom calls, and annotations.

namespace meshwright {

absl::Status LowerWithReducer(StablehloLowering& l, const MlirOperation& operation,
                              Instruction instruction) {
  MW_ASSIGN_OR_RETURN(instruction.called.emplace_back(), l.LowerReducer(operation, 0));
  return l.Emit(operation, std::move(instruction));
}

namespace {

absl::Status LowerReduce(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  const auto results = static_cast<int64_t>(operation.results.size());
  MW_RETURN_IF_ERROR(l.Expect(operation, 2 * results, results, 1));
  MW_ASSIGN_OR_RETURN(Instruction reduce, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(reduce.dimensions, l.RequiredIntegers(operation, {"dimensions"}, -1));
  return LowerWithReducer(l, operation, std::move(reduce));
}

absl::Status LowerMap(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, 1, 1));
  MW_ASSIGN_OR_RETURN(Instruction map, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(map.dimensions, l.RequiredIntegers(operation, {"dimensions"}, -1));
  return LowerWithReducer(l, operation, std::move(map));
}

absl::Status LowerSort(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  const auto count = static_cast<int64_t>(operation.operands.size());
  MW_RETURN_IF_ERROR(l.Expect(operation, count, count, 1));
  if (count == 0) return l.Error(operation, "has no operands");
  MW_ASSIGN_OR_RETURN(Instruction sort, l.Prepare(operation, opcode));
  int64_t dimension = l.IntegerOr(operation, "dimension", -1);
  if (dimension < 0) dimension += l.OperandType(operation, 0).rank();
  sort.dimensions = {dimension};
  if (l.IntegerOr(operation, "is_stable", 0) != 0) sort.other.emplace_back("is_stable", "true");
  return LowerWithReducer(l, operation, std::move(sort));
}

absl::Status LowerTopK(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 2, 0));
  const MlirAttribute* k = operation.Find("k");
  const MlirAttribute* const given = operation.Find("mhlo.attributes");
  if (given != nullptr) k = given->Find("k");
  if (k == nullptr || k->kind != MlirAttribute::Kind::kInteger) {
    return l.Error(operation, "lacks the attribute k, a number");
  }
  MW_ASSIGN_OR_RETURN(Instruction top, l.Prepare(operation, opcode));
  top.other.emplace_back("k", StrCat(k->integer));
  const MlirAttribute* const largest = given == nullptr ? nullptr : given->Find("largest");
  if (largest == nullptr || largest->integer != 0) top.other.emplace_back("largest", "true");
  return l.Emit(operation, std::move(top));
}

// HLO's name of what stands in `<WORD>`, by a table of pairs.
struct WordRow {
  std::string_view word, name;
};
template <size_t kRows>
std::string Translate(const WordRow (&rows)[kRows], std::string_view word) {
  for (const WordRow& row : rows) {
    if (row.word == word) return std::string(row.name);
  }
  return std::string(rows[0].name);
}
constexpr WordRow kRngAlgorithmWords[] = {
    {"DEFAULT", "rng_default"}, {"THREE_FRY", "rng_three_fry"}, {"PHILOX", "rng_philox"}};
constexpr WordRow kDistributionWords[] = {{"UNIFORM", "rng_uniform"}, {"NORMAL", "rng_normal"}};

absl::Status LowerRngBits(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 2, 0));
  MW_ASSIGN_OR_RETURN(Instruction rng, l.Prepare(operation, opcode));
  const std::string word = l.Word(l.Find(operation, {"algorithm", "rng_algorithm"}));
  rng.other.emplace_back("algorithm", Translate(kRngAlgorithmWords, word));
  return l.Emit(operation, std::move(rng));
}

// The last operand is the shape, which the type says as well.
absl::Status LowerRng(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 3, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction rng, l.Prepare(operation, opcode));
  rng.operands.pop_back();
  const std::string word = l.Word(l.Find(operation, {"distribution", "rng_distribution"}));
  rng.other.emplace_back("distribution", Translate(kDistributionWords, word));
  return l.Emit(operation, std::move(rng));
}

absl::Status LowerFft(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction fft, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> length,
                      l.RequiredIntegers(operation, {"length", "fft_length"}, -1));
  fft.other.emplace_back("fft_type", l.Word(l.Find(operation, {"type", "fft_type"})));
  fft.other.emplace_back("fft_length", StrCat("{", absl::StrJoin(length, ","), "}"));
  return l.Emit(operation, std::move(fft));
}

absl::Status LowerCholesky(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 1, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction cholesky, l.Prepare(operation, opcode));
  if (l.IntegerOr(operation, "lower", 0) != 0) cholesky.other.emplace_back("lower", "true");
  return l.Emit(operation, std::move(cholesky));
}

absl::Status LowerTriangularSolve(StablehloLowering& l, const MlirOperation& operation,
                                  Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction solve, l.Prepare(operation, opcode));
  for (const std::string_view flag : {"left_side", "lower", "unit_diagonal"}) {
    if (l.IntegerOr(operation, flag, 0) != 0) solve.other.emplace_back(flag, "true");
  }
  const std::string transpose = l.Word(operation.Find("transpose_a"));
  if (!transpose.empty()) solve.other.emplace_back("transpose_a", transpose);
  return l.Emit(operation, std::move(solve));
}

absl::Status LowerBatchNorm(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, OpcodeArity(opcode), -1, 0));
  MW_ASSIGN_OR_RETURN(Instruction norm, l.Prepare(operation, opcode));
  MW_ASSIGN_OR_RETURN(const int64_t feature, l.Integer(operation, {"feature_index"}));
  const MlirAttribute* const epsilon = operation.Find("epsilon");
  if (epsilon == nullptr) return l.Error(operation, "lacks the attribute epsilon");
  norm.other.emplace_back("epsilon", std::string(epsilon->text));
  norm.other.emplace_back("feature_index", StrCat(feature));
  return l.Emit(operation, std::move(norm));
}

absl::Status RefuseManualCall(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  return l.ErrorAt(operation.position, ManualMessage(operation.name));
}

// What ApproxTopKFallback of XLA's builder (xla/hlo/builder/lib/approx_topk.cc) makes of
// approx_max_k wherever there is no kernel for it, which is on all devices but TPUs: everything is
// sorted by the comparison that the call names, the first elements are the result. The operands
// after those that are sorted are what padding would be filled with.
absl::Status LowerApproxTopK(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  const auto results = static_cast<int64_t>(operation.results.size());
  MW_RETURN_IF_ERROR(l.Expect(operation, 2 * results, results, 0));
  const MlirAttribute* const callees = operation.Find("called_computations");
  const MlirAttribute* const config = l.Find(operation, {"mhlo.backend_config", "backend_config"});
  const MlirAttribute* const dimension =
      config == nullptr ? nullptr : config->Find("reduction_dim");
  if (callees == nullptr || callees->list.size() != 1 || dimension == nullptr || results == 0) {
    return l.Error(operation, "ApproxTopK lacks its comparison or its reduction_dim");
  }
  MW_ASSIGN_OR_RETURN(Instruction sort, l.Prepare(operation, opcode));
  sort.operands.resize(operation.results.size());
  sort.dimensions = {dimension->integer};
  const std::string sharding = std::exchange(sort.sharding, "");
  const std::vector<std::string_view> shardings = LeafShardings(sharding, results);
  MW_ASSIGN_OR_RETURN(sort.called.emplace_back(),
                      l.LowerFunction(operation, callees->list[0].string, {}));
  std::vector<Shape> sorted;
  for (const InstructionId operand : sort.operands) sorted.push_back(l.builder()[operand].shape);
  const Metadata metadata = sort.metadata;
  const SourcePlace place = sort.place;
  sort.shape = results == 1 ? sorted[0] : Shape::Tuple(sorted);
  const InstructionId all = l.builder().Add(std::move(sort));
  for (int64_t r = 0; r < results; ++r) {
    const MlirValue result = operation.results[static_cast<size_t>(r)];
    Instruction first;
    first.opcode = Opcode::kSlice;
    first.shape = l.Type(result);
    first.operands = {results == 1 ? all : l.builder().AddElement(all, r, metadata)};
    for (const int64_t size : first.shape.dims) first.slice.push_back({0, size, 1});
    first.metadata = metadata;
    first.place = place;
    if (!shardings.empty()) first.sharding = std::string(shardings[static_cast<size_t>(r)]);
    l.Bind(result, first.sharding.empty() ? l.builder().Add(std::move(first))
                                          : l.builder().AddAsIs(std::move(first)));
  }
  return absl::OkStatus();
}

struct TargetRow {
  std::string_view target;
  Opcode opcode;
  absl::Status (*lower)(StablehloLowering&, const MlirOperation&, Opcode);
};
// Custom calls that stand for an operation.
constexpr TargetRow kTargets[] = {
    {"SPMDFullToShardShape", Opcode::kCustomCall, RefuseManualCall},
    {"SPMDShardToFullShape", Opcode::kCustomCall, RefuseManualCall},
    {"ApproxTopK", Opcode::kSort, LowerApproxTopK},
    {"mhlo.topk", Opcode::kTopK, LowerTopK},
    {"mhlo.erf", Opcode::kErf, LowerPlain},
    {"mhlo.asin", Opcode::kAsin, LowerPlain},
    {"mhlo.acos", Opcode::kAcos, LowerPlain},
    {"mhlo.sinh", Opcode::kSinh, LowerPlain},
    {"mhlo.cosh", Opcode::kCosh, LowerPlain},
    {"mhlo.asinh", Opcode::kAsinh, LowerPlain},
    {"mhlo.acosh", Opcode::kAcosh, LowerPlain},
    {"mhlo.atanh", Opcode::kAtanh, LowerPlain},
};

// The rule that comes with a call, as HLO keeps it: the attribute `sdy.sharding_rule`, or, in what
// was HLO before, an entry of `mhlo.frontend_attributes`.
absl::Status LowerShardingRule(StablehloLowering& l, const MlirOperation& operation,
                               Instruction* call) {
  std::string text;
  if (const MlirAttribute* const rule = operation.Find("sdy.sharding_rule")) {
    MW_ASSIGN_OR_RETURN(const OpShardingRule read, l.ShardingRule(*rule));
    text = OpShardingRuleText(read);
  } else if (const MlirAttribute* const frontend = operation.Find("mhlo.frontend_attributes")) {
    const MlirAttribute* const entry = frontend->Find(kShardingRuleAttribute);
    if (entry != nullptr) text = entry->string;
  }
  if (!text.empty()) call->frontend_attributes.emplace_back(kShardingRuleAttribute, text);
  return absl::OkStatus();
}

absl::Status LowerCustomCall(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, -1, 0));
  const MlirAttribute* target = operation.Find("call_target_name");
  if (target == nullptr && !operation.unnamed.empty()) target = &operation.unnamed[0];
  if (target == nullptr || target->string.empty()) {
    return l.Error(operation, "lacks the name of what it calls, @target");
  }
  for (const TargetRow& row : kTargets) {
    if (row.target == target->string) return row.lower(l, operation, row.opcode);
  }
  MW_ASSIGN_OR_RETURN(Instruction call, l.Prepare(operation, opcode));
  call.custom_call_target = target->string;
  if (l.IntegerOr(operation, "has_side_effect", 0) != 0) {
    call.other.emplace_back("custom_call_has_side_effect", "true");
  }
  const auto version = static_cast<size_t>(l.IntegerOr(operation, "api_version", 0));
  if (version < std::size(kApiVersions) && !kApiVersions[version].empty()) {
    call.other.emplace_back("api_version", kApiVersions[version]);
  }
  const MlirAttribute* const config = operation.Find("backend_config");
  if (config != nullptr && !config->string.empty()) {
    call.backend_config = QuotedText(config->string);
  } else if (const MlirAttribute* const typed =
                 l.Find(operation, {"backend_config", "mhlo.backend_config"});
             typed != nullptr && typed->kind == MlirAttribute::Kind::kDictionary) {
    call.backend_config = QuotedText(typed->text);
  }
  MW_RETURN_IF_ERROR(LowerShardingRule(l, operation, &call));
  if (const MlirAttribute* const callees = operation.Find("called_computations")) {
    for (const MlirAttribute& callee : callees->list) {
      MW_ASSIGN_OR_RETURN(call.called.emplace_back(),
                          l.LowerFunction(operation, callee.string, {}));
    }
  }
  return l.Emit(operation, std::move(call));
}

// What has no counterpart in HLO, or one whose results nest differently: a call by the operation's
// name. Whatever talks to other devices or to the host stays where it is.
absl::Status LowerNamedCall(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  return l.LowerAsCall(operation);
}

bool IsElementwiseBody(const MlirRegion& body) {
  return std::all_of(
      body.operations.begin(), body.operations.end(), [&](const MlirOperation& operation) {
        if (&operation == &body.operations.back()) return true;  // its terminator
        const StablehloOperation* row = FindStablehloOperation(operation.name);
        return row != nullptr && operation.regions.empty() && IsElementwise(row->opcode);
      });
}

absl::Status LowerScan(StablehloLowering& l, const MlirOperation& operation, Opcode) {
  const bool elementwise = operation.regions.size() == 1 && IsElementwiseBody(operation.regions[0]);
  return l.LowerAsCall(
      operation,
      StrCat("{", kScanDimension, " = ", l.IntegerOr(operation, kScanDimension, -1), " : i64, ",
             kScanIsElementwise, " = ", elementwise ? "true" : "false", "}"));
}

absl::Status LowerToken(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, 1, 0));
  return LowerPlain(l, operation, opcode);
}

constexpr StablehloOperation kOtherOperations[] = {
    {"stablehlo.reduce", Opcode::kReduce, LowerReduce},
    {"stablehlo.map", Opcode::kMap, LowerMap},
    {"stablehlo.sort", Opcode::kSort, LowerSort},
    {"chlo.top_k", Opcode::kTopK, LowerTopK},
    {kScanCall, Opcode::kCustomCall, LowerScan},
    {"stablehlo.infeed", Opcode::kCustomCall, LowerNamedCall},
    {"stablehlo.outfeed", Opcode::kCustomCall, LowerNamedCall},
    {"stablehlo.recv", Opcode::kCustomCall, LowerNamedCall},
    {"stablehlo.send", Opcode::kCustomCall, LowerNamedCall},
    {"stablehlo.rng_bit_generator", Opcode::kRngBitGenerator, LowerRngBits},
    {"stablehlo.rng", Opcode::kRng, LowerRng},
    {"stablehlo.fft", Opcode::kFft, LowerFft},
    {"stablehlo.cholesky", Opcode::kCholesky, LowerCholesky},
    {"stablehlo.triangular_solve", Opcode::kTriangularSolve, LowerTriangularSolve},
    {"stablehlo.batch_norm_grad", Opcode::kBatchNormGrad, LowerBatchNorm},
    {"stablehlo.batch_norm_inference", Opcode::kBatchNormInference, LowerBatchNorm},
    {"stablehlo.batch_norm_training", Opcode::kBatchNormTraining, LowerBatchNorm},
    {"stablehlo.custom_call", Opcode::kCustomCall, LowerCustomCall},
    {"stablehlo.after_all", Opcode::kAfterAll, LowerToken},
    {"stablehlo.create_token", Opcode::kAfterAll, LowerToken},
    {"stablehlo.partition_id", Opcode::kPartitionId, LowerPlain},
    {"stablehlo.replica_id", Opcode::kReplicaId, LowerPlain},
};

}  // namespace

absl::Span<const StablehloOperation> StablehloOtherOperations() { return kOtherOperations; }

}  // namespace meshwright
