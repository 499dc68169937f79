#ifndef MESHWRIGHT_CLI_MODEL_PLANNING_H_
#define MESHWRIGHT_CLI_MODEL_PLANNING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "meshwright/cli/mixed_planning.h"
#include "meshwright/cli/planning_command.h"

namespace CLI {
class App;
}

namespace meshwright {

// What `plan` takes for models only.
struct ModelPlanningOptions {
  int64_t global_batch = 0, sequence = 0, top = 10;
  std::string dtype = "bf16", objective = "time", tensor = "1d";
  std::string gradients = "f32", moments = "f32";
  bool fused_loss = false;
  bool launchable = false;
  std::string launch_targets;  // "megatron,nemo"; empty: any
  std::string mtbf, checkpoint_bandwidth = "1GB/s", restart = "10min";  // mtbf empty: no failures
  std::string sweep, csv_path;                                          // empty: not wanted
  bool weak = false;
  MixedPlanningOptions mixed;  // over groups of nodes
};

// Registers them with `app`.
std::shared_ptr<ModelPlanningOptions> AddModelPlanningOptions(CLI::App& app);

// Whether the command is about a model: the argument is a model known by name, a folder, YAML, a
// file that begins as a JSON object, or a name that is no file beside an option for models.
bool IsModel(const std::string& argument, const CLI::App& app);

// Plans a model. Options that `app` was given for programs only are refused.
absl::Status RunModelPlanning(const PlanningOptions& options, const ModelPlanningOptions& model,
                              const CLI::App& app);

// The error where `app` was given an option for models although there is a program.
absl::Status CheckNoModelOptions(const CLI::App& app);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MODEL_PLANNING_H_
