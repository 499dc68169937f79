#ifndef MESHWRIGHT_INTER_SLICE_SLICE_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/sharding/sharding.h"

// A part of a program as a program of its own: some layers, some phases, for one micro-batch.

namespace meshwright {

// Where update phases exchange kShared values, one stage's can only run in two parts.
enum class UpdatePart : uint8_t {
  kWhole,         // as one program, shared values in and out
  kBeforeShared,  // outputs that need no shared value: those that others wait for
  kAfterShared,   // all other outputs
};

struct SliceRequest {
  int32_t begin = 0, end = 0;  // layers [begin, end)
  bool forward = true, backward = true, update = true;
  // What the backward phase needs of the forward phase of the same layers is computed again from
  // the layers' inputs: with backward and without forward it is no input, with forward and without
  // backward no output.
  bool recompute = false;
  int64_t micro_batches = 1;
  // With several micro-batches: sums over the batch that only the update phase takes are made in so
  // many parts, each over its part of the micro-batch's samples, and summed up in the update phase
  // (partial_sums.h). A kSum value has the parts as its first dimension, before its own.
  int64_t sum_parts = 1;
  UpdatePart part = UpdatePart::kWhole;  // of the update phase
};

// What an input or output of a slice is to the rest of the program.
enum class SliceRole : uint8_t {
  kState,       // entry parameter, or the output that replaces it
  kData,        // entry parameter: the micro-batch's part of it
  kActivation,  // crosses layers in the forward phase
  kGradient,    // crosses layers in the backward phase
  kSaved,       // left by the forward phase for the backward phase of the same layers
  kSum,         // to be added up over the micro-batches; input of the update phase: added up
  kShared,      // from one stage's update phase to another's (a part of the gradients' norm)
  kResult,      // any other output of the program
  kNumber,      // of the micro-batch, from 0: a scalar s32
};

// Inputs and outputs of slices are matched by `value`, `layer` and [first, first + count). An
// output has the role in which layers of other stages take it, if any do; a slice of the same
// layers may take it in another one.

struct SliceValue {
  SliceRole role = SliceRole::kState;
  std::string name;        // of entry parameters and outputs, see names.h; else of the producer
  ValueId value;           // in the whole program's graph; of kNumber one past its last
  int32_t parameter = -1;  // kState, kData: index into Graph::parameters
  int32_t output = -1;     // of outputs of the program: index into Graph::outputs
  // For arrays that hold something of every layer of a loop: the dimension that runs over layers,
  // and which of its entries these are, [first, first + count). -1: no such array.
  int32_t layer_dimension = -1;
  int32_t first = 0, count = 0;
  // kShared combined over layers of a stack (the sum of a norm): how. An output is of the slice's
  // layers, an input of all `count` layers of the loop: the outputs of all stages, combined.
  Reduction combine = Reduction::kNone;
  // What a layer loop carries from layer to layer (`value` is then the carry's parameter): the
  // layer that takes it in. Else -1.
  int32_t layer = -1;
  int32_t dimension = -1;  // that runs over the batch, or -1
  bool operator==(const SliceValue&) const = default;
};

// The module that slices are cut out of: without calls (hlo/inline_calls.h), without starts that
// loops share (hlo/loop_starts.h), without indices that only count (hlo/counted_indices.h), and
// with what data inputs say of the whole batch computed from parameters of its own
// (layers/whole_batch.h). `data`, `rng`: as for FindBatch. Errors: those of InlineCalls and
// BuildGraph.
absl::StatusOr<Module> ModuleToSlice(const Module& module, const std::vector<std::string>& data,
                                     MicroBatchRng rng = MicroBatchRng::kExact);

struct SliceContext;  // what all slices have in common: slice_context.h

struct ProgramSlice {
  std::unique_ptr<const Module> module;  // one parameter and one root element for each:
  std::vector<SliceValue> inputs, outputs;
  Graph graph;               // of `module`
  std::vector<Phase> phase;  // by OpId of `graph`
  std::vector<OpId> origin;  // by OpId of `graph`: op of the whole program's graph it stands for,
                             // invalid for inputs, outputs and what the slicing added
};

// The value of `slice.graph` that its `i`-th input or output is.
inline ValueId InputOf(const ProgramSlice& slice, size_t i) {
  return slice.graph[slice.graph.parameters[i]].result();
}
inline ValueId OutputOf(const ProgramSlice& slice, size_t i) {
  return slice.graph[slice.graph.outputs[i]].operands[0];
}

// Cuts slices out of one program. `graph` must come from a module as ModuleToSlice makes them; it,
// `batch` and `layers` must outlive the slicer.
//
// What depends on no data (masks, casts of weights, the step's number) is computed by every slice
// that needs it, and so is what the update phase makes of scalars (a clipping factor from the norms
// of all gradients, bias corrections, the mean loss): only what they are made of is kShared or
// kSum. An output of the program made in that way comes from the first layers and from every slice
// that has the state it replaces.
//
// Where samples are told apart by their numbers, or take part of what is made for all (see
// BatchSplit), slices of several micro-batches have an input of role kNumber.
//
// With backward and update in one slice, gradients go straight into the update, as if the sum over
// micro-batches had been made. Statistics over the batch are those of the micro-batch times
// `micro_batches`; where the update phase needs one, the kSum output is divided by it again.
class Slicer {
 public:
  // Linear in the graph; slices take time in the size of the slice but for one sweep over marks.
  // Errors: layer loops that are not as Layers says; asynchronous operations.
  static absl::StatusOr<std::unique_ptr<const Slicer>> Make(const Graph& graph,
                                                            const BatchSplit& batch,
                                                            const Layers& layers);
  ~Slicer();

  // Errors: layers that do not exist; micro-batches that do not divide; an operator that cannot be
  // divided or mixes layers of a loop (names it).
  absl::StatusOr<ProgramSlice> Slice(const SliceRequest& request) const;

 private:
  explicit Slicer(std::unique_ptr<const SliceContext> context);
  std::unique_ptr<const SliceContext> context_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_H_
