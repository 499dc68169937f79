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
// (arXiv:2402.19427, section 2.4), lightning attention (arXiv:2401.04658), RWKV (arXiv:2305.13048,
// section 3.1), and LFM2's short convolutions as transformers' class has them.

namespace meshwright::transformer {

// What tensor parallelism cuts: heads, or channels where a head has all.
int64_t SplitOver(const Recurrence& recurrence);

// In the order of execution.
std::vector<WeightShape> RecurrenceParameters(const Recurrence& recurrence, int64_t hidden);

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
