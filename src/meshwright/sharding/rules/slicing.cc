#include <vector>

#include "meshwright/sharding/rule_builders.h"

// Operators that take, put or move parts of dimensions. A dimension taken whole is parallel; one
// that is cut or shifted would need its neighbours' elements and stays whole.

namespace meshwright::rules {
namespace {

// Dimensions of operand 0 and the result that keep their size are parallel.
void ParallelWhereUncut(RuleBuilder& builder) {
  if (builder.operand(0).rank() != builder.result(0).rank()) return builder.Unsupported();
  for (int64_t d = 0; d < builder.result(0).rank(); ++d) {
    if (builder.OperandSize(0, d) == builder.ResultSize(0, d)) builder.Parallel({d}, {d});
  }
}

}  // namespace

void Slice(RuleBuilder& builder) { ParallelWhereUncut(builder); }

void DynamicSlice(RuleBuilder& builder) { ParallelWhereUncut(builder); }

// dynamic-update-slice(operand, update, starts...).
void DynamicUpdateSlice(RuleBuilder& builder) {
  if (builder.operand(0).rank() != builder.operand(1).rank()) return builder.Unsupported();
  for (int64_t d = 0; d < builder.operand(0).rank(); ++d) {
    if (builder.OperandSize(0, d) == builder.OperandSize(1, d)) builder.Parallel({d, d}, {d});
  }
}

void Pad(RuleBuilder& builder) {
  const std::vector<PaddingDimension>& padding = builder.instruction().padding;
  if (static_cast<int64_t>(padding.size()) != builder.result(0).rank())
    return builder.Unsupported();
  for (size_t i = 0; i < padding.size(); ++i) {
    int64_t d = static_cast<int64_t>(i);
    if (padding[i] == PaddingDimension()) builder.Parallel({d}, {d});
  }
}

void Concatenate(RuleBuilder& builder) {
  const std::vector<int64_t>& joined = builder.instruction().dimensions;
  if (joined.size() != 1) return builder.Unsupported();
  for (int64_t d = 0; d < builder.result(0).rank(); ++d) {
    if (d != joined[0]) builder.Parallel(std::vector<int64_t>(builder.operand_count(), d), {d});
  }
}

void Reverse(RuleBuilder& builder) {
  std::vector<bool> reversed(builder.result(0).dims.size(), false);
  for (int64_t d : builder.instruction().dimensions) {
    if (d < 0 || d >= builder.result(0).rank()) return builder.Unsupported();
    reversed[d] = true;
  }
  for (int64_t d = 0; d < builder.result(0).rank(); ++d) {
    if (!reversed[d]) builder.Parallel({d}, {d});
  }
}

// set-dimension-size(operand, size): the dimension named counts its valid elements from the front.
void SetDimensionSize(RuleBuilder& builder) {
  const std::vector<int64_t>& resized = builder.instruction().dimensions;
  if (resized.size() != 1) return builder.Unsupported();
  for (int64_t d = 0; d < builder.result(0).rank(); ++d) {
    if (d != resized[0]) builder.Parallel({d}, {d});
  }
}

}  // namespace meshwright::rules
