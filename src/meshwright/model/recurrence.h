#ifndef MESHWRIGHT_MODEL_RECURRENCE_H_
#define MESHWRIGHT_MODEL_RECURRENCE_H_

#include <cstdint>
#include <vector>

#include "meshwright/model/matmuls.h"
#include "meshwright/model/model.h"
#include "meshwright/model/tensors.h"

// The parameters, matmuls and memory traffic of recurrences, by kind. Sources: Mamba
// (arXiv:2312.00752, section 3), Mamba-2 (arXiv:2405.21060, sections 6 and 8), Gated DeltaNet
// (arXiv:2412.06464, section 3) with its parallel form (arXiv:2406.06484, section 3), RG-LRU
// (arXiv:2402.19427, section 2.4), and LFM2's short convolutions as transformers' class has them.

namespace meshwright::transformer {

// A weight, and whether a bias with as many elements as its first extent comes with it.
struct RecurrenceParameter {
  Part part = Part::kRecurrenceInput;
  std::vector<int64_t> shape;  // [out, in] of a matrix that tokens are multiplied with
  bool bias = false;
  bool matrix = false;  // it is such a matrix; of one with three extents, a block for each head
};

// What tensor parallelism cuts: heads, or channels where a head has all.
int64_t SplitOver(const Recurrence& recurrence);

// In the order of execution.
std::vector<RecurrenceParameter> RecurrenceParameters(const Recurrence& recurrence, int64_t hidden);

// The matmuls of one sequence's scan whose operands both are activations: of kind kScan, `batch`
// times. Of those kinds that scan in chunks; others have none.
std::vector<Matmul> ScanMatmuls(const Recurrence& recurrence, int64_t tokens);

// Elements of a token that kernels between the matmuls read and write: the convolution's, the
// scan's, and of the gate behind it. States stay in registers, and where they are scanned in
// turn, what is done with them takes no longer than this traffic (Mamba, section 3.3.2).
double RecurrenceTraffic(const Recurrence& recurrence);

// Elements of a token that the backward phase needs, beside the layer's own input: what the
// projection gives, before and behind the convolution, and what the scan gives. States are
// recomputed from those at the ends of chunks.
double RecurrenceKept(const Recurrence& recurrence);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_RECURRENCE_H_
