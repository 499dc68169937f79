#ifndef MESHWRIGHT_INTER_STAGES_STAGE_SEARCH_H_
#define MESHWRIGHT_INTER_STAGES_STAGE_SEARCH_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

// Where a pipeline is cut and which devices run which part: dynamic programming over layers and
// submeshes. Knows nothing of programs.

namespace meshwright {

// Devices that a stage may get: `devices` of the devices of one type.
struct SubmeshChoice {
  int32_t type = 0;  // of device, see StageSearchInput::devices
  int64_t devices = 1;
};

// A variant of layers on a submesh.
struct StageOption {
  double seconds = 0;           // of one micro-batch, forward and backward, transfers included
  double backward_seconds = 0;  // of those: until the stage before may go on
  double once_seconds = 0;      // once a step: gradient synchronisation and optimizer
  int64_t fixed_bytes = 0;      // on one device
  int64_t bytes_in_flight = 0;  // on one device, for each micro-batch in flight
  double filled_seconds = 0;    // of `seconds`: done while the stage would wait for others anyway
};

struct StageSearchInput {
  int32_t layers = 0;
  std::vector<int64_t> devices;       // by type: all of them must be used
  std::vector<int64_t> memory_bytes;  // by type: of one device
  std::vector<SubmeshChoice> submeshes;
  int64_t micro_batches = 1;
  int32_t stages = 0;  // exactly so many; 0: any number
  // Options of layers [begin, end) on a submesh; empty: none.
  std::function<std::vector<StageOption>(int32_t begin, int32_t end, int32_t submesh)> options;
  // Micro-batches in flight in a stage that `after` stages follow, of `micro_batches`.
  // Must not fall with `after`.
  std::function<int64_t(int32_t after, int64_t micro_batches)> in_flight;
  double below = 0;  // only solutions that take less are of interest; 0: all
  // Asked often: once it says true, the best so far counts, and a bound below it. May be empty.
  std::function<bool()> stop;
  // The same after so many extensions of suffixes by a stage and comparisons of suffixes, which
  // are the same on every machine.
  int64_t max_steps = std::numeric_limits<int64_t>::max();
};

struct ChosenStage {
  int32_t begin = 0, end = 0;  // layers
  int32_t submesh = 0;
  int32_t option = 0;
};

struct StageSearchResult {
  double seconds = 0;               // of the objective below
  double bound = 0;                 // no way to cut takes less
  std::vector<ChosenStage> stages;  // empty: nothing fits, or takes less than `below`
  int64_t steps = 0;                // that were taken, see StageSearchInput::max_steps
};

// Minimises exactly, unless it is stopped or takes the most steps,
//
//   sum of stages, less filled_seconds + (micro_batches - 1) * slowest stage + tail,
//
// where the tail is what is left to do once a step when the last backward phase, that of the first
// stage, has ended: a stage i is done with its backward phases so much earlier as those of the
// stages before it take, so the tail is max over i of (once_i - sum over j < i of backward_j).
// Deterministic but for `stop`. stage_search.cc has the method.
StageSearchResult SearchStages(const StageSearchInput& input);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_STAGE_SEARCH_H_
