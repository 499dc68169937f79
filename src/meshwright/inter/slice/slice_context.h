#ifndef MESHWRIGHT_INTER_SLICE_SLICE_CONTEXT_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_CONTEXT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/layers/layer_stacks.h"
#include "meshwright/inter/layers/program_structure.h"
#include "meshwright/inter/slice/slice.h"

// What slices of one program have in common.

namespace meshwright {

// Where an op belongs. Loops and conditionals that are no layer loop belong somewhere as a whole.
struct OpPlace {
  Phase phase = Phase::kForward;
  // Layers [begin, end): one of a plain op, all of a loop's layers for the loop and for what is
  // computed from its stacks; empty if `floating`.
  int32_t begin = 0, end = 0;
  bool floating = false;  // computed by whoever needs it
  bool by_layer = false;  // a slice of some of these layers has a part of it
};

struct SliceContext {
  const Graph& graph;
  const BatchSplit& batch;
  const Layers& layers;
  ProgramStructure structure;
  LayerStacks stacks;
  std::vector<OpPlace> place;  // by OpId
  std::vector<int32_t> tied;   // by output: see TiedParameters
  bool has_update = false;     // some op is of the update phase

  // By OpId: the op needs the number of the micro-batch, where there are several.
  std::vector<bool> numbered;
  // What stands for that number among values.
  ValueId number() const { return ValueId(graph.values.size()); }

  // The layer loop that the op is in or is the exit of; -1: none.
  int32_t LayerLoopOf(OpId op) const;
};

absl::StatusOr<SliceContext> MakeSliceContext(const Graph& graph, const BatchSplit& batch,
                                              const Layers& layers);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_CONTEXT_H_
