#ifndef MESHWRIGHT_INTER_LAYERS_WHOLE_BATCH_H_
#define MESHWRIGHT_INTER_LAYERS_WHOLE_BATCH_H_

#include <optional>

#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/inter/layers/batch.h"

// Values combined over the batch that follow from the data inputs by cheap operators and that every
// sample needs: the number of tokens that count, by which a masked loss divides. Those of one
// micro-batch are not those of the batch, so that gradients added up over the micro-batches would
// not be the program's. They need no layer, though: whoever needs one can compute it from the whole
// batch.

namespace meshwright {

// The module of `graph`, which has no calls (hlo/inline_calls.h), in which such values are computed
// from parameters of their own, one more for each data input that they need, after all others: for
// FindBatch on the result they depend on no data. Computes the same if the new parameters are given
// what WholeBatchOf says; without such values it is the module as it was. `batch`: of `graph`.
Module WithWholeBatchValues(const Graph& graph, const BatchSplit& batch);

// Of an entry parameter that WithWholeBatchValues added: the position in Graph::parameters of the
// data input that it is all of, in every micro-batch.
std::optional<int32_t> WholeBatchOf(const Graph& graph, OpId parameter);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_WHOLE_BATCH_H_
