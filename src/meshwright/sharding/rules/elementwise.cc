#include <vector>

#include "meshwright/sharding/rule_builders.h"

namespace meshwright::rules {

void Elementwise(RuleBuilder& builder) {
  int64_t rank = builder.result(0).rank();
  builder.Flops(ElementCount(builder.result(0)));
  for (size_t i = 0; i < builder.operand_count(); ++i) {
    int64_t operand_rank = builder.operand(i).rank();
    if (operand_rank != rank && operand_rank != 0) return builder.Unsupported();
  }
  std::vector<int64_t> dims(builder.operand_count(), RuleBuilder::kNoDim);
  for (int64_t d = 0; d < rank; ++d) {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (builder.operand(i).rank() == rank) dims[i] = d;
    }
    builder.Parallel(dims, {d});
  }
}

void LinearSum(RuleBuilder& builder) {
  Elementwise(builder);
  if (builder.result(0).type == ElementType::kPred) return;  // its sum is a logical or
  builder.Pending(Reduction::kSum, {0, 1}, 0);
}

void Forward(RuleBuilder& builder) {
  for (size_t i = 0; i < builder.result_count(); ++i) builder.Same(i, i);
}

}  // namespace meshwright::rules
