#ifndef MESHWRIGHT_INTER_LAYERS_OWN_MICRO_BATCHES_H_
#define MESHWRIGHT_INTER_LAYERS_OWN_MICRO_BATCHES_H_

#include <optional>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/batch.h"

namespace meshwright {

// Gradient accumulation that is written into the program: it takes its data apart, in a loop or one
// part after the other, and adds up what it computes of each. Or several steps: then a loop hands
// new weights on to the next part, for which they are as constant as the first ones.
struct OwnMicroBatches {
  // As FindBatch would say it of a part by itself. `data`: operators that take a part.
  BatchSplit batch;
  std::vector<bool> loops;     // by loop: goes round for every part, or is around such a loop
  std::vector<bool> constant;  // by ValueId: depends on no data, of whatever part
};

// The program's own micro-batches, whose batch FindBatch found to be `batch`; nullopt: it has none
// (its data is not taken apart, or in parts of different sizes or of one sample, or weights meet
// all of it). A part that is one entry of the batch's dimension has its own batch in the next one.
// `tied`: see TiedParameters.
std::optional<OwnMicroBatches> FindOwnMicroBatches(const Graph& graph, const BatchSplit& batch,
                                                   const std::vector<int32_t>& tied);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_OWN_MICRO_BATCHES_H_
