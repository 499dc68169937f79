#ifndef MESHWRIGHT_INTER_LAYERS_LAYER_STACKS_H_
#define MESHWRIGHT_INTER_LAYERS_LAYER_STACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/layers/program_structure.h"
#include "meshwright/sharding/sharding.h"

// Arrays that hold something of every layer of a loop over layers, in sequence: parameters that
// each iteration takes its part of, what it leaves for the backward loop, gradients, and what is
// computed from these for all layers at once (the optimizer). Part of the layers needs part of
// them.

namespace meshwright {

struct LayerStacks {
  // By ValueId: the dimension that runs over layers, and the first of Layers::loops whose layers
  // those are; -1: not a stack.
  std::vector<int32_t> dimension, loop;
  // By ValueId: of a stack that depends on no data and on parameters of fewer bytes than its own,
  // that its operator can make for all layers only (random keys that a loop of its own mixes, a
  // table): it is made whole wherever layers of it are needed.
  std::vector<bool> made_whole;
  std::vector<int32_t> layer_loop;  // by loop of the graph: index into Layers::loops, or -1
  // By OpId: the dimension in which a dynamic-slice or dynamic-update-slice takes or puts the part
  // of the iteration's layer; -1: none.
  std::vector<int32_t> index_dimension;
  // By index of the carry: value of a carried integer at the start of each iteration, and after the
  // last. Only of what follows from constants.
  absl::flat_hash_map<int32_t, std::vector<int64_t>> counts;
  // By index into Layers::loops: a carry of `counts` that only rises or only falls; -1: none.
  std::vector<int32_t> counter;
  // By OpId: how an op that combines the layers of stacks does it, if part of the layers gives a
  // part of the result: these combined in the same way are the whole. Else kNone.
  std::vector<Reduction> combines;
  std::vector<int32_t> combined_loop;  // by OpId: whose layers; as `loop`
  // Ops that need all layers of a stack at once, and why.
  absl::flat_hash_map<OpId, std::string> obstacles;
};

// Error: a layer loop inside another loop or conditional, or with another trip count.
absl::StatusOr<LayerStacks> FindStacks(const Graph& graph, const ProgramStructure& structure,
                                       const BatchSplit& batch, const Layers& layers);

// A constant of one repeated element or a broadcast of a scalar: can be had in any size.
bool IsFilled(const Graph& graph, ValueId value);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_LAYER_STACKS_H_
