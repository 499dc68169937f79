#ifndef MESHWRIGHT_INTER_LAYERS_LOOP_INTEGERS_H_
#define MESHWRIGHT_INTER_LAYERS_LOOP_INTEGERS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/program_structure.h"

// Integers that a loop computes from constants alone, iteration by iteration: its counters and the
// indices it makes of them.

namespace meshwright {

// The values of carried integer scalars that follow from constants, by index of the carry: at the
// start of each of `trips` iterations, and after the last.
absl::flat_hash_map<int32_t, std::vector<int64_t>> LoopIntegers(const Graph& graph,
                                                                const ProgramStructure& structure,
                                                                int32_t loop, int64_t trips);

// Values of integer scalars in the loop's body, one a trip; empty for what depends on more than
// constants and `carried` (from LoopIntegers).
std::vector<std::vector<int64_t>> LoopValues(
    const Graph& graph, const ProgramStructure& structure, int32_t loop, int64_t trips,
    const absl::flat_hash_map<int32_t, std::vector<int64_t>>& carried,
    const std::vector<ValueId>& values);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_LOOP_INTEGERS_H_
