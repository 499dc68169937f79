#include "meshwright/inter/layers/batch.h"

namespace meshwright {

bool BatchSplit::Divides(const Graph& graph, int64_t micro_batches) const {
  if (micro_batches < 1 || size % micro_batches != 0) return false;
  if (micro_batches > 1 && !indivisible.empty()) return false;
  for (size_t i = 0; i < dimension.size(); ++i) {
    if (dimension[i] >= 0 && graph.values[i].shape.dims[dimension[i]] % micro_batches != 0)
      return false;
  }
  return true;
}

}  // namespace meshwright
