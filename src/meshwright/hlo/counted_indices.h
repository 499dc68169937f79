#ifndef MESHWRIGHT_HLO_COUNTED_INDICES_H_
#define MESHWRIGHT_HLO_COUNTED_INDICES_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"

// Gathers and scatters that take every row by its own number, as `logits[arange(n), labels]` does.

namespace meshwright {

// A component of the index vectors of a gather or scatter that is the position along a dimension of
// the index array: its rows are those of a dimension of the operand of the same size, in order.
struct CountedIndex {
  int64_t component = 0;          // of the index vectors
  int64_t operand_dimension = 0;  // that it addresses, one element at a time
  int64_t indices_dimension = 0;  // along which it counts
  friend bool operator==(const CountedIndex&, const CountedIndex&) = default;
};

// Those of `op`; empty for other operators. At least one component of the index vectors is none.
std::vector<CountedIndex> CountedIndices(const Graph& graph, const Op& op);

// The module of `graph`, which has no calls (hlo/inline_calls.h), with batching dimensions in the
// place of counted indices: such operators work on a part of the rows as they do on all. Computes
// the same; all other instructions keep their names and order.
Module WithBatchedIndices(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_COUNTED_INDICES_H_
