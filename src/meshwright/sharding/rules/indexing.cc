#include <algorithm>
#include <vector>

#include "meshwright/hlo/uniform.h"
#include "meshwright/sharding/rule_builders.h"
#include "meshwright/sharding/rules/dimension_lists.h"

// Gather and scatter. Both address their operand through an index array whose dimensions other than
// index_vector_dim are a batch of independent look-ups or updates.
//
// An operand dimension that is indexed one element at a time (the vocabulary of an embedding) can
// be sharded although any index may point anywhere: every device handles the indices that fall into
// its part. A gather then yields zeros for the others, so results add up over devices; a scatter
// drops the others, so each device ends with its part of the result.

namespace meshwright::rules {
namespace {

// Position of `value` in `list`, or kNoDim.
int64_t PositionIn(const std::vector<int64_t>& list, int64_t value) {
  auto found = std::find(list.begin(), list.end(), value);
  return found == list.end() ? kNoDim : found - list.begin();
}

// Dimensions 0..rank-1 without those in `excluded`.
std::vector<int64_t> Without(int64_t rank, const std::vector<int64_t>& excluded) {
  std::vector<int64_t> rest;
  for (int64_t d = 0; d < rank; ++d) {
    if (!Contains(excluded, d)) rest.push_back(d);
  }
  return rest;
}

// Whether applying `reduction` once a device to the same operand and combining the devices' results
// gives what applying it once does.
bool OperandMayRepeat(Reduction reduction, bool operand_is_zero) {
  switch (reduction) {
    case Reduction::kMax:
    case Reduction::kMin:
    case Reduction::kAnd:
    case Reduction::kOr:
      return true;
    case Reduction::kSum:
      return operand_is_zero;
    default:
      return false;
  }
}

}  // namespace

void Gather(RuleBuilder& builder) {
  const GatherDimensions& dims = builder.instruction().gather;
  const Shape& operand = builder.operand(0);
  const Shape& indices = builder.operand(1);
  const Shape& result = builder.result(0);
  std::vector<int64_t> batch = Without(indices.rank(), {dims.index_vector_dim});
  std::vector<int64_t> result_batch = Without(result.rank(), dims.offset_dims);
  if (batch.size() != result_batch.size() ||
      static_cast<int64_t>(dims.slice_sizes.size()) != operand.rank() ||
      dims.operand_batching_dims.size() != dims.start_indices_batching_dims.size()) {
    return builder.Unsupported();
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    int64_t paired = PositionIn(dims.start_indices_batching_dims, batch[i]);
    int64_t operand_dim = paired == kNoDim ? kNoDim : dims.operand_batching_dims[paired];
    builder.Parallel({operand_dim, batch[i]}, {result_batch[i]});
  }
  size_t offset = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Contains(dims.operand_batching_dims, d)) continue;
    int64_t result_dim = kNoDim;
    if (!Contains(dims.collapsed_slice_dims, d)) {
      if (offset == dims.offset_dims.size()) return builder.Unsupported();
      result_dim = dims.offset_dims[offset++];
    }
    if (dims.slice_sizes[d] == operand.dims[d]) {
      builder.Parallel({d}, {result_dim});
    } else if (dims.slice_sizes[d] == 1 && Contains(dims.start_index_map, d)) {
      builder.Reduce({d}, operand.type == ElementType::kPred ? Reduction::kOr : Reduction::kSum);
    }
  }
}

// scatter(operands..., indices, updates...).
void Scatter(RuleBuilder& builder) {
  const ScatterDimensions& dims = builder.instruction().scatter;
  size_t count = builder.result_count();
  if (count == 0 || builder.operand_count() != 2 * count + 1) return builder.Unsupported();
  const Shape& operand = builder.operand(0);
  const Shape& indices = builder.operand(count);
  const Shape& updates = builder.operand(count + 1);
  std::vector<int64_t> batch = Without(indices.rank(), {dims.index_vector_dim});
  std::vector<int64_t> update_batch = Without(updates.rank(), dims.update_window_dims);
  if (batch.size() != update_batch.size() ||
      dims.input_batching_dims.size() != dims.scatter_indices_batching_dims.size()) {
    return builder.Unsupported();
  }
  // One dimension each of all operands, the indices, all updates.
  auto spread = [&](int64_t operand_dim, int64_t indices_dim, int64_t update_dim) {
    std::vector<int64_t> list(count, operand_dim);
    list.push_back(indices_dim);
    list.insert(list.end(), count, update_dim);
    return list;
  };
  auto results = [&](int64_t dim) { return std::vector<int64_t>(count, dim); };

  Reduction reduction = builder.BodyReduction(0);
  // Updates of one element would overwrite each other, but for atomics.
  if (!dims.unique_indices && reduction != Reduction::kOther) {
    builder.Flops(static_cast<double>(count) * ElementCount(updates), KernelClass::kAtomic);
  }
  bool repeatable = OperandMayRepeat(reduction, IsZero(builder.graph(), builder.op().operands[0]));
  for (size_t i = 0; i < batch.size(); ++i) {
    int64_t paired = PositionIn(dims.scatter_indices_batching_dims, batch[i]);
    if (paired != kNoDim) {
      int64_t operand_dim = dims.input_batching_dims[paired];
      builder.Parallel(spread(operand_dim, batch[i], update_batch[i]), results(operand_dim));
    } else if (repeatable) {
      builder.Reduce(spread(kNoDim, batch[i], update_batch[i]), reduction);
    }
  }
  size_t window = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Contains(dims.input_batching_dims, d)) continue;
    bool single = Contains(dims.inserted_window_dims, d);
    int64_t update_dim = kNoDim;
    if (!single) {
      if (window == dims.update_window_dims.size()) return builder.Unsupported();
      update_dim = dims.update_window_dims[window++];
      single = builder.OperandSize(count + 1, update_dim) == 1;
    }
    if (update_dim != kNoDim && builder.OperandSize(count + 1, update_dim) == operand.dims[d]) {
      builder.Parallel(spread(d, kNoDim, update_dim), results(d));
    } else if (single && Contains(dims.scatter_dims_to_operand_dims, d)) {
      builder.Parallel(spread(d, kNoDim, kNoDim), results(d));
    }
  }
}

}  // namespace meshwright::rules
