#ifndef MESHWRIGHT_INTER_SLICE_PARTIAL_SUMS_H_
#define MESHWRIGHT_INTER_SLICE_PARTIAL_SUMS_H_

#include <vector>

#include "meshwright/hlo/shape.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/slice/slice_context.h"

// Data parallelism within a stage reduces gradients once a step, not once a micro-batch: what each
// device has summed over its own samples stays apart until the update phase. A slice says so with
// ordinary operators. The product (or sum) that makes the gradient keeps the parts of the batch as
// a first dimension, which devices shard; what is added up over micro-batches has that dimension;
// the update phase begins with the sum over it, of which XLA makes an all-reduce or a
// reduce-scatter.

namespace meshwright {

struct PartialSums {
  std::vector<bool> made;  // by OpId: the op's result has the parts as its first dimension
  std::vector<bool> sums;  // by ValueId: of those, what the update phase takes
};

// What a slice with SliceRequest::sum_parts = `parts` makes in parts: sums over the batch that only
// the update phase of one layer takes, made by products and sums over the batch, and by
// operators that convert, reshape, transpose or add those for nobody else. Whole as ever are
// scalars, what loops and conditionals make, outputs of the program, and what convolutions and
// scatters make.
PartialSums FindPartialSums(const SliceContext& context, int64_t micro_batches, int64_t parts);

// `shape` with a first dimension of `parts`.
Shape WithParts(Shape shape, int64_t parts);

// `shape` with dimension `d` cut into `parts`, which become a dimension of their own before it.
Shape WithPartsAt(Shape shape, size_t d, int64_t parts);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_PARTIAL_SUMS_H_
