#ifndef MESHWRIGHT_TESTS_INTER_PIPELINE_RUN_H_
#define MESHWRIGHT_TESTS_INTER_PIPELINE_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/inter/slice/slice.h"
#include "tests/sharding/interpreter.h"

namespace meshwright {

// A program with all that slicing it needs.
struct SlicedProgram {
  std::unique_ptr<Module> module;  // without calls
  Graph graph;
  BatchSplit batch;
  Layers layers;
  std::unique_ptr<const Slicer> slicer;
};
absl::StatusOr<std::unique_ptr<SlicedProgram>> PrepareProgram(const Module& module,
                                                              int32_t layer_count = 0);

// How a step is run in stages.
struct PipelineRun {
  std::vector<int32_t> cuts;  // first layers of all stages but the first
  int64_t micro_batches = 1;
  int64_t sum_parts = 1;
  bool forward_with_backward = false;  // as one slice (the last stage of 1F1B)
  bool recompute = false;
  bool update_in_parts = false;
};

// The program's outputs, computed by slices that exchange nothing but what they say they do.
absl::StatusOr<std::vector<Tensor>> RunInStages(const SlicedProgram& program,
                                                const PipelineRun& run,
                                                const std::vector<Tensor>& parameters);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_INTER_PIPELINE_RUN_H_
