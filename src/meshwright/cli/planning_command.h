#ifndef MESHWRIGHT_CLI_PLANNING_COMMAND_H_
#define MESHWRIGHT_CLI_PLANNING_COMMAND_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "meshwright/plan/make/request_options.h"

namespace CLI {
class App;
}

namespace meshwright {

// What `plan` and `estimate` have in common: a program, what is asked for, and what becomes of the
// plan.
struct PlanningOptions {
  std::string program;
  RequestOptions search;
  std::string plan_path, emit_path;  // empty: not wanted
  bool json = false, explain = false, progress = false, quiet = false;
};

// Registers all of them but --mesh and --memory, whose defaults and meaning differ, with `app`. The
// options are filled when `app` parses.
std::shared_ptr<PlanningOptions> AddPlanningOptions(CLI::App& app);

// Plans and writes what is asked for: the plan file, the annotated program, and a table or the plan
// on standard output. Nothing is written if there is any error, or if nothing fits (resource
// exhausted; the message says what would).
absl::Status RunPlanning(const PlanningOptions& options);

// A plan on standard output as asked for: `json`, which is its document, words, or a table.
absl::Status PrintPlan(const PlanningOptions& options, const Plan& plan, const std::string& json);

// The same for a pipeline; --emit names a folder, which receives the stages' programs.
absl::Status RunPipelinePlanning(const PlanningOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_PLANNING_COMMAND_H_
