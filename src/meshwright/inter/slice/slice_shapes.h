#ifndef MESHWRIGHT_INTER_SLICE_SLICE_SHAPES_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_SHAPES_H_

#include "absl/status/status.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/slice/slice_context.h"

namespace meshwright {

// What a value of the whole program comes to in a slice: the micro-batch's part of the batch, the
// slice's layers of a stack.
Shape SliceShape(const SliceContext& context, const SliceRequest& request, ValueId value);

// Adapts `instruction`, a copy of that of `op` with its result shape already that of the slice, to
// smaller operands: attributes that repeat sizes, constants. `taken`: shapes of its operands in the
// slice. Error: something that cannot be made smaller.
absl::Status ShrinkInstruction(const Graph& graph, const Op& op, const std::vector<Shape>& taken,
                               Instruction* instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_SHAPES_H_
