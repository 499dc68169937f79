#ifndef MESHWRIGHT_INTER_SLICE_H_
#define MESHWRIGHT_INTER_SLICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/inter/batch.h"
#include "meshwright/inter/layers.h"

// A part of a program as a program of its own: some layers, some phases, for one micro-batch.

namespace meshwright {

struct SliceRequest {
  int32_t begin = 0, end = 0;  // layers [begin, end)
  bool forward = true, backward = true, update = true;
  // With backward and without forward: what the forward phase left is computed again from the
  // layers' inputs instead of being an input.
  bool recompute = false;
  int64_t micro_batches = 1;
};

// What an input or output of a slice is to the rest of the program.
enum class SliceRole : uint8_t {
  kState,       // entry parameter, or the output that replaces it
  kData,        // entry parameter: the micro-batch's part of it
  kActivation,  // crosses layers in the forward phase
  kGradient,    // crosses layers in the backward phase
  kSaved,       // left by the forward phase for the backward phase of the same layers
  kSum,         // to be added up over the micro-batches; input of the update phase: added up
  kShared,  // made from such sums over several stages (a clipping factor, the loss): of the update
  kResult,  // any other output of the program
};

struct SliceValue {
  SliceRole role = SliceRole::kState;
  std::string name;        // of entry parameters and outputs, see names.h; else of the producer
  ValueId value;           // in the whole program's graph
  int32_t parameter = -1;  // kState, kData: index into Graph::parameters
  int32_t output = -1;     // of outputs of the program: index into Graph::outputs
  // kState and kSum of a layer loop: which part of the first dimension, [first, first + count).
  int32_t first = 0, count = 0;
  int32_t dimension = -1;  // that runs over the batch, or -1
};

struct ProgramSlice {
  std::unique_ptr<const Module> module;  // one parameter and one root element for each:
  std::vector<SliceValue> inputs, outputs;
  Graph graph;               // of `module`
  std::vector<Phase> phase;  // by OpId of `graph`
  std::vector<OpId> origin;  // by OpId of `graph`: op of the whole program's graph it stands for,
                             // invalid for inputs, outputs and what the slicing added
};

// `graph` must come from a module without calls (hlo/inline_calls.h).
// Errors: micro-batches that do not divide; a constant with a batch dimension and the like that
// cannot be divided (names the op).
absl::StatusOr<ProgramSlice> SliceProgram(const Graph& graph, const BatchSplit& batch,
                                          const Layers& layers, const SliceRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_H_
