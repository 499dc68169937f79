#ifndef MESHWRIGHT_INTER_STAGES_KIND_SLICES_H_
#define MESHWRIGHT_INTER_STAGES_KIND_SLICES_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/stages/layer_costs.h"

namespace meshwright {

// Layers [begin, end) in all phases, as they are planned: the update phase scaled.
// `sum_parts`: see SliceRequest.
absl::StatusOr<ProgramSlice> SliceToPlan(const Slicer& slicer, int32_t begin, int32_t end,
                                         int64_t micro_batches, int64_t sum_parts = 1);

// By Layers::kind: the slice that stands for the layers of the kind, what goes from one to the next
// where they follow each other, and how many there are. Errors: see Slicer::Slice.
absl::StatusOr<std::vector<LayerKind>> KindSlices(const Slicer& slicer, const Layers& layers,
                                                  int64_t micro_batches, int64_t sum_parts);

// The same for each of `sum_parts`, 1 among them, and without those that change nothing.
absl::StatusOr<KindsByParts> KindSlicesByParts(const Slicer& slicer, const Layers& layers,
                                               int64_t micro_batches,
                                               const std::set<int64_t>& sum_parts);

// Whether the slices have the same operators in the same order: a plan of one is one of the other.
bool AreAlike(const ProgramSlice& a, const ProgramSlice& b);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_KIND_SLICES_H_
