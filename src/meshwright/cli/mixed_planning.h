#ifndef MESHWRIGHT_CLI_MIXED_PLANNING_H_
#define MESHWRIGHT_CLI_MIXED_PLANNING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/cli/planning_command.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/model/model.h"
#include "meshwright/plan/document/plan.h"

namespace CLI {
class App;
}

namespace meshwright {

// What `plan` takes for models on groups of nodes, and for their costs in dollars.
struct MixedPlanningOptions {
  std::string max_time, tokens, profile, plot_path;  // empty: not given
  double max_cost = 0;                               // 0: not given
  int64_t steps = 0;                                 // 0: not given
  bool pareto = false;
  int64_t point = 0;  // of the front, that is written
};

// The options by name.
const std::vector<const char*>& MixedOptionNames();

// Registers them with `app`.
void AddMixedPlanningOptions(CLI::App& app, MixedPlanningOptions& options);

// A model that was read, and what else the command line says of it.
struct MixedModelRequest {
  transformer::Model model;
  std::string description;  // text that it was read from
  std::vector<InputFile> inputs;
  transformer::Workload workload;
  transformer::Precision precision = transformer::Precision::kBf16;
  std::string objective, csv_path;
  std::string launch_targets;  // "megatron,nemo"; empty: any
};

// Plans a model over the groups of nodes of `options.search.cluster`.
absl::Status RunMixedPlanning(const PlanningOptions& options, const MixedPlanningOptions& mixed,
                              MixedModelRequest model);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MIXED_PLANNING_H_
