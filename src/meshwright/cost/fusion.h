#ifndef MESHWRIGHT_COST_FUSION_H_
#define MESHWRIGHT_COST_FUSION_H_

#include <vector>

#include "meshwright/hlo/graph.h"

namespace meshwright {

// What XLA's fusion makes of a graph, as far as cost and memory need it: which values never reach
// device memory, and how many bytes each operator really moves.
struct FusionInfo {
  // Per value: it is written to device memory. False for constants, iota and broadcasts of them,
  // and elementwise/broadcast/reshape/transpose/slice/convert values whose users all fuse them in.
  std::vector<bool> materialized;
  // Per value: it costs nothing to make again anywhere under any sharding: constants, iota, and
  // what is computed elementwise from such values only (rng excluded). Planning gives each user its
  // own copy.
  std::vector<bool> free;
  // Per op: it is the root of a kernel, under whose name its fused operands run.
  std::vector<bool> kernel;
  // Per op, unsharded: for each operand, how many bytes of it the op reads from memory *itself*
  // (0 if it is fused, free, or already read by the same fused kernel), and for each result the
  // bytes written. A value that fuses into several kernels has its inputs' reads charged once a
  // kernel, at the user.
  struct Traffic {
    std::vector<double> operand_bytes, result_bytes;
    // For each operand: bytes read and written by a kernel that puts it into another order in
    // memory before the op can read it (layout.h); 0 if none is needed.
    std::vector<double> copy_bytes;
    // Of a kernel's root: how often the kernel computes an element of an operator that it has
    // computed before, all operators together (an interleaved concatenation computes both halves).
    double repeated = 0;
  };
  std::vector<Traffic> traffic;  // by op
};

// What an element that a kernel computes again takes, in flops of units whose instructions count
// two: ten instructions, most of them for its index. (A level of an associative scan on an H200: 31
// of 1,024 rows of 2,048 x 16 x 8 in 0.86 ms, with some 350 elements computed for each.)
inline constexpr double kRepeatedFlops = 20;

// Bytes that a kernel could move in the time that its instructions for an element take: an H200
// goes over 128 to 512 MiB of bf16, two bytes read and two written for each element, at 0.84e12
// elements a second copying and 0.75e12 in a gelu, where sums of f32 move 4.3 TB/s.
inline constexpr double kWrittenBytes = 5.3;

// Follows XLA GPU's rules: elementwise, broadcast, slice, pad, concatenate, convert, dynamic-slice
// and gathers fuse into their users, duplicated into several kernels where recomputing moves
// no more bytes than storing; a reduce ends a fusion; dot, convolution, scatter, sort, custom
// calls, collectives, loop boundaries and outputs force their operands to memory. fusion.cc has the
// details. Linear in the size of the graph.
FusionInfo AnalyzeFusion(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_FUSION_H_
