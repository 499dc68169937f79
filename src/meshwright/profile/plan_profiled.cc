#include "meshwright/profile/plan_profiled.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/profile/profiled_planner.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status CheckSupported(const ProgramRequest& request) {
  const auto refuse = [](absl::string_view with) {
    return absl::InvalidArgumentError(
        absl::StrCat("--db cannot be combined with ", with,
                     ": segments are measured as they are shardable, not as they are given"));
  };
  if (!request.fixes.empty()) return refuse("--fix and --fix-file");
  if (request.completion == Completion::kPropagate) return refuse("--rest xla");
  if (request.pipeline.wanted) {
    return absl::InvalidArgumentError(
        "--db cannot be combined with --pipeline: stages are not planned from measurements");
  }
  return absl::OkStatus();
}

absl::StatusOr<ProfiledPlan> PlanOnMesh(const ProgramRequest& request, const PlanningTask& task,
                                        const KnownProfiles& known, const Mesh& mesh,
                                        double seconds) {
  ProfiledPlannerOptions options;
  options.budget_bytes = task.budget_bytes;
  options.seconds = seconds;
  options.threads = request.threads;
  options.seed = request.seed;
  MW_ASSIGN_OR_RETURN(
      const std::unique_ptr<ProfiledPlanner> planner,
      ProfiledPlanner::Make(task.program.graph, *task.cost_model, mesh, known, options));
  return planner->Plan();
}

bool IsBetter(const IntraPlan& a, const IntraPlan& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step_seconds < b.step_seconds : a.smallest_budget < b.smallest_budget;
}

}  // namespace

absl::StatusOr<PlannedProgram> PlanProfiledProgram(const ProgramRequest& request) {
  MW_RETURN_IF_ERROR(CheckSupported(request));
  MW_ASSIGN_OR_RETURN(PlanningTask task, PreparePlanning(request));
  if (!task.cost_model->in_seconds) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--db needs a cost model in seconds, ", std::string(task.cost_model->name), " has none"));
  }
  MW_ASSIGN_OR_RETURN(const KnownProfiles known,
                      KnownProfiles::Read(request.database, task.cluster));
  std::optional<ProfiledPlan> best;
  Mesh best_mesh;
  std::vector<std::string> warnings = known.warnings();
  absl::Status last_error;
  for (size_t i = 0; i < task.meshes.size(); ++i) {
    const double used = std::chrono::duration<double>(Clock::now() - task.start).count();
    const double left = std::max(0.0, request.deadline_seconds - used);
    absl::StatusOr<ProfiledPlan> plan = PlanOnMesh(
        request, task, known, task.meshes[i], left / static_cast<double>(task.meshes.size() - i));
    if (!plan.ok()) {
      last_error = plan.status();
      if (task.meshes.size() > 1) {
        warnings.push_back(absl::StrCat("mesh ", ProfileMeshText(task.meshes[i]),
                                        " was left out: ", last_error.message()));
      }
      continue;
    }
    if (best.has_value() && !IsBetter(plan->intra, best->intra)) continue;
    best = *std::move(plan);
    best_mesh = task.meshes[i];
  }
  if (!best.has_value()) return last_error;
  for (std::string& warning : best->warnings) warnings.push_back(std::move(warning));
  MW_ASSIGN_OR_RETURN(PlannedProgram planned,
                      FinishPlanning(request, std::move(task), std::move(best_mesh),
                                     std::move(best->intra), std::move(warnings)));
  planned.plan.segments = std::move(best->segments);
  planned.plan.profile = std::move(best->profile);
  return planned;
}

}  // namespace meshwright
