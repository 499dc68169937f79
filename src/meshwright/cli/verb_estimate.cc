#include <CLI/CLI.hpp>
#include <memory>

#include "absl/status/status.h"
#include "meshwright/cli/planning_command.h"
#include "meshwright/cli/verb.h"

namespace meshwright {

// Planning with most of the answer given. Memory is not limited by default: what a sharding would
// need is part of what the user asks.
Action AddEstimateVerb(CLI::App& app) {
  const std::shared_ptr<PlanningOptions> options = AddPlanningOptions(app);
  options->search.memory = "unlimited";
  app.add_option("--mesh", options->search.mesh, "logical mesh, 8, 2x4 or x=2,y=4")->required();
  app.add_option("--memory", options->search.memory,
                 "memory a device may use, like 60GiB; device: all it has; or unlimited")
      ->capture_default_str();
  options->search.completion = "xla";
  app.add_option(
         "--rest", options->search.completion,
         "shardings that are not given: xla (as its partitioner propagates those that are), "
         "or least-cost")
      ->check(CLI::IsMember({"xla", "least-cost"}))
      ->capture_default_str();
  return [options] { return RunPlanning(*options); };
}

}  // namespace meshwright
