#include <algorithm>
#include <vector>

#include "meshwright/sharding/rule_builders.h"

namespace meshwright::rules {
namespace {

// The window leaves this dimension as it is.
bool IsIdentity(const WindowDimension& window) {
  return window.size == 1 && window.stride == 1 && window.padding_low == 0 &&
         window.padding_high == 0 && window.base_dilation == 1;
}

double WindowElements(const std::vector<WindowDimension>& window) {
  double count = 1;
  for (const WindowDimension& dim : window) count *= static_cast<double>(dim.size);
  return count;
}

// `count` operands starting at the first, and every result, at dimension `d`.
void ParallelAlong(RuleBuilder& builder, size_t count, int64_t operand_dim, int64_t result_dim) {
  builder.Parallel(std::vector<int64_t>(count, operand_dim),
                   std::vector<int64_t>(builder.result_count(), result_dim));
}

// Whether every window takes in all elements of one dimension up to its own place, by one operator.
bool IsCumulative(RuleBuilder& builder) {
  if (builder.BodyReduction(0) == Reduction::kOther) return false;
  const std::vector<WindowDimension>& window = builder.instruction().window;
  int64_t scanned = 0;
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t size = builder.OperandSize(0, static_cast<int64_t>(d));
    if (IsIdentity(window[d])) continue;
    const int64_t padding = window[d].padding_low + window[d].padding_high;
    const bool all = window[d].size == size && padding == size - 1 && window[d].stride == 1 &&
                     window[d].window_dilation == 1 && window[d].base_dilation == 1 &&
                     (window[d].padding_low == 0 || window[d].padding_high == 0);
    if (!all) return false;
    ++scanned;
  }
  return scanned == 1;
}

}  // namespace

// reduce(inputs..., inits...). A sharded reduced dimension leaves partial results; the initial
// value then enters on one device only (XLA gives the others the identity).
void Reduce(RuleBuilder& builder) {
  size_t inputs = builder.operand_count() / 2;
  if (inputs == 0 || inputs != builder.result_count()) return builder.Unsupported();
  const std::vector<int64_t>& reduced = builder.instruction().dimensions;
  Reduction reduction = builder.BodyReduction(0);
  int64_t out = 0;
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) {
      ParallelAlong(builder, inputs, d, out++);
    } else {
      builder.Reduce(std::vector<int64_t>(inputs, d), reduction);
    }
  }
  if (out != builder.result(0).rank()) builder.Unsupported();
  builder.Flops(static_cast<double>(inputs) * ElementCount(builder.operand(0)));
}

void ReduceWindow(RuleBuilder& builder) {
  size_t inputs = builder.operand_count() / 2;
  const std::vector<WindowDimension>& window = builder.instruction().window;
  if (inputs == 0 || inputs != builder.result_count() ||
      static_cast<int64_t>(window.size()) != builder.operand(0).rank()) {
    return builder.Unsupported();
  }
  for (size_t d = 0; d < window.size(); ++d) {
    if (IsIdentity(window[d])) {
      ParallelAlong(builder, inputs, static_cast<int64_t>(d), static_cast<int64_t>(d));
    }
  }
  const double results = static_cast<double>(inputs) * ElementCount(builder.result(0));
  // XLA makes scans of windows that reach from an element to the first or the last.
  if (IsCumulative(builder)) return builder.Flops(results, KernelClass::kScan);
  builder.Flops(results * WindowElements(window));
}

// select-and-scatter(operand, source, init).
void SelectAndScatter(RuleBuilder& builder) {
  const std::vector<WindowDimension>& window = builder.instruction().window;
  if (static_cast<int64_t>(window.size()) != builder.operand(0).rank())
    return builder.Unsupported();
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t d = static_cast<int64_t>(i);
    if (IsIdentity(window[i])) builder.Parallel({d, d}, {d});
  }
  builder.Flops(ElementCount(builder.operand(1)) * WindowElements(window));
}

}  // namespace meshwright::rules
