#ifndef MESHWRIGHT_COST_LAYOUT_H_
#define MESHWRIGHT_COST_LAYOUT_H_

#include <vector>

#include "meshwright/hlo/graph.h"

namespace meshwright {

// Per op and operand: a kernel copies the operand into another order of dimensions in memory before
// the op can read it, as XLA's layout assignment decides on GPUs.
using LayoutCopies = std::vector<std::vector<bool>>;

// Follows the order of dimensions in memory from dot products, whose results are row-major, through
// transposes and reshapes, which leave memory as it is where they can. Copies are needed where
//  * a dot's batch dimensions do not lead or its free or contracted ones are scattered (a GEMM
//  library
//    takes each operand as batches of matrices, transposed or not),
//  * a reshape merges dimensions that do not lie together.
// Each copy is counted once, however many ops read it. Elementwise operators read operands in any
// order. `free` as FusionInfo::free. Linear in the size of the graph.
LayoutCopies FindLayoutCopies(const Graph& graph, const std::vector<bool>& free);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_LAYOUT_H_
