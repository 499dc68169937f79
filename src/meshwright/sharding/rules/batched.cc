#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "meshwright/hlo/scan_call.h"
#include "meshwright/sharding/call_config.h"
#include "meshwright/sharding/rule_builders.h"

namespace meshwright::rules {
namespace {

// Dimensions [0, count) go through all operands of that rank and all results alike.
void ParallelLeading(RuleBuilder& builder, int64_t count) {
  for (int64_t d = 0; d < count; ++d) {
    builder.Parallel(std::vector<int64_t>(builder.operand_count(), d),
                     std::vector<int64_t>(builder.result_count(), d));
  }
}

double Cube(int64_t n) {
  double x = static_cast<double>(n);
  return x * x * x;
}

// The dimension that a scan runs over: HLO's attribute, or what is kept of chlo.scan's.
std::optional<int64_t> ScannedDimension(const RuleBuilder& builder) {
  const Instruction& scan = builder.instruction();
  if (scan.opcode == Opcode::kCustomCall)
    return CallConfigNumber(scan.backend_config, kScanDimension);
  if (scan.dimensions.size() != 1) return std::nullopt;
  return scan.dimensions[0];
}

bool HasElementwiseBody(const RuleBuilder& builder) {
  const Instruction& scan = builder.instruction();
  if (scan.opcode == Opcode::kCustomCall)
    return CallConfigFlag(scan.backend_config, kScanIsElementwise).value_or(false);
  const Module* const module = builder.graph().module;
  if (module == nullptr || scan.called.size() != 1) return false;
  const std::vector<Instruction>& body = (*module)[scan.called[0]].instructions;
  return std::all_of(body.begin(), body.end(), [](const Instruction& i) {
    return i.opcode == Opcode::kParameter || i.opcode == Opcode::kTuple ||
           i.opcode == Opcode::kGetTupleElement || IsElementwise(i.opcode);
  });
}

// Position of the feature dimension of a batch norm; -1 if it is not given.
int64_t FeatureIndex(const Instruction& instruction) {
  const std::string* text = FindAttribute(instruction, "feature_index");
  int64_t index = -1;
  return text != nullptr && absl::SimpleAtoi(*text, &index) ? index : -1;
}

// The feature dimension: of arrays the one given, of vectors their only one.
void ParallelFeature(RuleBuilder& builder) {
  int64_t feature = FeatureIndex(builder.instruction());
  int64_t rank = builder.operand(0).rank();
  std::vector<int64_t> operand_dims, result_dims;
  for (size_t i = 0; i < builder.operand_count(); ++i) {
    operand_dims.push_back(builder.operand(i).rank() == rank ? feature : 0);
  }
  for (size_t i = 0; i < builder.result_count(); ++i) {
    result_dims.push_back(builder.result(i).rank() == rank ? feature : 0);
  }
  builder.Parallel(operand_dims, result_dims, 'c');
}

}  // namespace

void Sort(RuleBuilder& builder) {
  const std::vector<int64_t>& sorted = builder.instruction().dimensions;
  if (sorted.size() != 1) return builder.Unsupported();
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    if (d == sorted[0]) continue;
    builder.Parallel(std::vector<int64_t>(builder.operand_count(), d),
                     std::vector<int64_t>(builder.result_count(), d));
  }
  builder.Flops(ElementCount(builder.operand(0)), KernelClass::kSort);
}

void TopK(RuleBuilder& builder) {
  ParallelLeading(builder, builder.operand(0).rank() - 1);
  builder.Flops(ElementCount(builder.operand(0)), KernelClass::kTopK);
}

// scan(inputs..., initial values...) -> (outputs..., last values...) over one dimension, which
// initial and last values lack. Where the body works element by element, other dimensions are a
// batch.
void Scan(RuleBuilder& builder) {
  const std::optional<int64_t> scanned = ScannedDimension(builder);
  if (!scanned.has_value() || !HasElementwiseBody(builder)) return builder.Unsupported();
  const int64_t rank = builder.operand(0).rank();
  if (*scanned < 0 || *scanned >= rank) return builder.Unsupported();
  const auto dims = [&](size_t count, auto shape_of, int64_t d) {
    std::vector<int64_t> list;
    for (size_t i = 0; i < count; ++i) {
      const bool is_slice = shape_of(i).rank() == rank - 1;
      list.push_back(is_slice && d > *scanned ? d - 1 : d);
    }
    return list;
  };
  for (int64_t d = 0; d < rank; ++d) {
    if (d == *scanned) continue;
    builder.Parallel(dims(
                         builder.operand_count(), [&](size_t i) { return builder.operand(i); }, d),
                     dims(
                         builder.result_count(), [&](size_t i) { return builder.result(i); }, d));
  }
  builder.Flops(ElementCount(builder.operand(0)), KernelClass::kScan);
}

void Cholesky(RuleBuilder& builder) {
  int64_t rank = builder.operand(0).rank();
  if (rank < 2) return builder.Unsupported();
  ParallelLeading(builder, rank - 2);
  int64_t n = builder.OperandSize(0, rank - 1);
  double matrices = n == 0 ? 0 : ElementCount(builder.operand(0)) / (static_cast<double>(n) * n);
  builder.Flops(matrices * Cube(n) / 3);
}

// triangular-solve(a, b): a x = b or x a = b; the columns (rows) of b are independent.
void TriangularSolve(RuleBuilder& builder) {
  int64_t rank = builder.operand(0).rank();
  if (rank < 2) return builder.Unsupported();
  ParallelLeading(builder, rank - 2);
  const std::string* left = FindAttribute(builder.instruction(), "left_side");
  if (left != nullptr) {
    int64_t free = *left == "true" ? rank - 1 : rank - 2;
    builder.Parallel({RuleBuilder::kNoDim, free}, {free});
  }
  builder.Flops(ElementCount(builder.operand(1)) *
                static_cast<double>(builder.OperandSize(0, rank - 1)));
}

// Dimensions before the transformed ones are independent. XLA's partitioner does not cut along
// them; what is run does (python/meshwright/_by_shard.py). cuFFT transforms a dimension of up to
// 4,096 in one kernel, and a longer one in kernels for each of its factors and one that rearranges;
// several dimensions one after the other.
void Fft(RuleBuilder& builder) {
  constexpr int64_t kOneKernel = 4096;
  builder.Flops(5 * ElementCount(builder.operand(0)));
  const std::optional<std::vector<int64_t>> lengths =
      FindIntegers(builder.instruction(), "fft_length");
  if (!lengths.has_value()) return;
  ParallelLeading(builder, builder.operand(0).rank() - static_cast<int64_t>(lengths->size()));
  double passes = 0;
  for (const int64_t length : *lengths) {
    double factors = 1;
    for (int64_t left = length; left > kOneKernel; left = (left + kOneKernel - 1) / kOneKernel)
      ++factors;
    passes += factors > 1 ? factors + 1 : 1;
  }
  if (passes < 2) return;
  builder.Bytes(passes *
                static_cast<double>(builder.operand(0).bytes() + builder.result(0).bytes()));
}

void BatchNormTraining(RuleBuilder& builder) {
  ParallelFeature(builder);
  builder.Flops(8 * ElementCount(builder.operand(0)));
}

// With the statistics given every element is by itself.
void BatchNormInference(RuleBuilder& builder) {
  ParallelFeature(builder);
  int64_t feature = FeatureIndex(builder.instruction());
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    if (d != feature) builder.Parallel({d}, {d});
  }
  builder.Flops(4 * ElementCount(builder.operand(0)));
}

void BatchNormGrad(RuleBuilder& builder) {
  ParallelFeature(builder);
  builder.Flops(10 * ElementCount(builder.operand(0)));
}

}  // namespace meshwright::rules
