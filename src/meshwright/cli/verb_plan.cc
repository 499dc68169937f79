#include <CLI/CLI.hpp>
#include <memory>

#include "meshwright/cli/planning_command.h"
#include "meshwright/cli/verb.h"

namespace meshwright {

Action AddPlanVerb(CLI::App& app) {
  const std::shared_ptr<PlanningOptions> options = AddPlanningOptions(app);
  options->search.memory = "device";
  app.add_option("--mesh", options->search.mesh,
                 "logical mesh, 8, 2x4 or x=2,y=4; auto tries those that suit the cluster")
      ->capture_default_str();
  app.add_option("--memory", options->search.memory,
                 "memory a device may use, like 60GiB; device: all it has; or unlimited")
      ->capture_default_str();
  return [options] { return RunPlanning(*options); };
}

}  // namespace meshwright
