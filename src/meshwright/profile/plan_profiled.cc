#include "meshwright/profile/plan_profiled.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/profile/known_profiles.h"
#include "meshwright/profile/profiled_planner.h"
#include "meshwright/profile/segment_space.h"
#include "meshwright/profile/whole_step.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

// Of a step composed of measured segments or measured as a whole: six steps, docs/accuracy.md.
constexpr double kProfiledError = 0.06;

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

// How much of a program was measured on a mesh. Plans of different ones do not compare: what is
// predicted is more expensive or cheaper by as much as predictions are off.
enum class Basis : uint8_t { kMeasured, kPartly, kPredicted };

// "mesh x=4", "meshes x=2,y=2; y=4".
std::string MeshesText(const std::vector<const Mesh*>& meshes) {
  return absl::StrCat(meshes.size() == 1 ? "mesh " : "meshes ",
                      absl::StrJoin(meshes, "; ", [](std::string* out, const Mesh* mesh) {
                        out->append(ProfileMeshText(*mesh));
                      }));
}

// Plans the meshes on which most was measured, and of them takes the best plan.
class MeshChoice {
 public:
  MeshChoice(const ProgramRequest& request, const PlanningTask& task)
      : request_(request), task_(task) {}

  absl::Status Run() {
    MW_RETURN_IF_ERROR(FindSegments());
    ProfilesWanted wanted;
    wanted.programs = segments_;
    wanted.programs.insert(StepProgram(task_.program.graph));
    for (const Mesh& mesh : task_.meshes) wanted.meshes.push_back(ProfileMeshText(mesh));
    wanted.environment = request_.database_environment;
    MW_ASSIGN_OR_RETURN(const KnownProfiles known,
                        KnownProfiles::Read(request_.database, task_.cluster, wanted));
    warnings_ = known.warnings();
    std::map<Basis, std::vector<const Mesh*>> by_basis;
    for (const Mesh& mesh : task_.meshes) by_basis[BasisOf(mesh, known)].push_back(&mesh);
    for (auto next = by_basis.begin(); next != by_basis.end();) {
      const std::vector<const Mesh*>& meshes = next->second;
      PlanMeshes(meshes, known);
      if (++next == by_basis.end()) break;
      if (!best_.has_value() || !best_->intra.fits) {
        warnings_.push_back(absl::StrCat("no plan fits into the memory on ", MeshesText(meshes),
                                         ", where most was measured"));
        continue;
      }
      std::vector<const Mesh*> others;
      for (; next != by_basis.end(); ++next)
        others.insert(others.end(), next->second.begin(), next->second.end());
      warnings_.push_back(
          absl::StrCat(MeshesText(others), others.size() == 1 ? " was" : " were",
                       " left out: less was measured there than on ", MeshesText(meshes),
                       ", and what is predicted does not compare with what is measured"));
    }
    return best_.has_value() ? absl::OkStatus() : last_error_;
  }

  ProfiledPlan& best() { return *best_; }
  const Mesh& best_mesh() const { return *best_mesh_; }
  // In the order in which they came up, those of the best plan last.
  std::vector<std::string> Warnings() const {
    std::vector<std::string> all = warnings_;
    all.insert(all.end(), best_->warnings.begin(), best_->warnings.end());
    return all;
  }

 private:
  // Their fingerprints, which are the same on all meshes.
  absl::Status FindSegments() {
    absl::Status error;
    for (const Mesh& mesh : task_.meshes) {
      const std::unique_ptr<CostModel> cost_model = task_.cost_model->make(mesh);
      const absl::StatusOr<std::unique_ptr<SegmentSpace>> space =
          SegmentSpace::Make(task_.program.graph, mesh, *cost_model, request_.threads);
      error = space.status();
      if (!space.ok()) continue;
      for (const Segment& segment : (*space)->segments()) {
        if (segment.has_program()) segments_.insert(segment.fingerprint);
      }
      break;
    }
    return error;
  }

  Basis BasisOf(const Mesh& mesh, const KnownProfiles& known) const {
    const std::string text = ProfileMeshText(mesh);
    const auto measured = std::count_if(
        segments_.begin(), segments_.end(),
        [&](const std::string& segment) { return known.Measured(segment, text) > 0; });
    if (measured == 0) return Basis::kPredicted;
    return measured == std::ssize(segments_) ? Basis::kMeasured : Basis::kPartly;
  }

  void PlanMeshes(const std::vector<const Mesh*>& meshes, const KnownProfiles& known) {
    std::vector<std::pair<ProfiledPlan, const Mesh*>> plans;
    if (best_.has_value()) plans.emplace_back(*std::move(best_), best_mesh_);
    best_.reset();
    for (size_t i = 0; i < meshes.size(); ++i) {
      const double used = std::chrono::duration<double>(Clock::now() - task_.start).count();
      const double left = std::max(0.0, request_.deadline_seconds - used);
      absl::StatusOr<ProfiledPlan> plan = PlanOnMesh(request_, task_, known, *meshes[i],
                                                     left / static_cast<double>(meshes.size() - i));
      if (plan.ok()) {
        plans.emplace_back(*std::move(plan), meshes[i]);
        continue;
      }
      last_error_ = plan.status();
      if (task_.meshes.size() > 1) {
        warnings_.push_back(absl::StrCat("mesh ", ProfileMeshText(*meshes[i]),
                                         " was left out: ", last_error_.message()));
      }
    }
    if (plans.empty()) return;
    const bool whole = std::all_of(plans.begin(), plans.end(), [](const auto& plan) {
      return plan.first.profile.has_value() && plan.first.profile->step.has_value();
    });
    auto& [plan, mesh] =
        *std::min_element(plans.begin(), plans.end(), [whole](const auto& a, const auto& b) {
          return Rank(a.first, whole) < Rank(b.first, whole);
        });
    best_ = std::move(plan);
    best_mesh_ = mesh;
  }

  // Less is better. `whole`: of all plans that are compared a whole step was measured; else what
  // they are composed to take is what they have in common.
  static std::tuple<bool, bool, double> Rank(const ProfiledPlan& plan, bool whole) {
    if (!plan.intra.fits) return {true, false, static_cast<double>(plan.intra.smallest_budget)};
    // One that had to do without measurements does not compare.
    if (!plan.profile.has_value()) return {false, true, plan.intra.step_seconds};
    const bool composed = plan.profile->step.has_value() && !whole && !plan.segments.empty();
    return {false, false,
            composed ? plan.profile->step->composed_seconds : plan.intra.step_seconds};
  }

  const ProgramRequest& request_;
  const PlanningTask& task_;
  std::set<std::string> segments_;
  std::optional<ProfiledPlan> best_;
  const Mesh* best_mesh_ = nullptr;
  std::vector<std::string> warnings_;
  absl::Status last_error_;
};

}  // namespace

absl::StatusOr<PlannedProgram> PlanProfiledProgram(const ProgramRequest& request) {
  MW_RETURN_IF_ERROR(CheckSupported(request));
  MW_ASSIGN_OR_RETURN(PlanningTask task, PreparePlanning(request));
  if (!task.cost_model->in_seconds) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--db needs a cost model in seconds, ", std::string(task.cost_model->name), " has none"));
  }
  ProfiledPlan best;
  Mesh mesh;
  std::vector<std::string> warnings;
  {
    MeshChoice choice(request, task);
    MW_RETURN_IF_ERROR(choice.Run());
    mesh = choice.best_mesh();
    warnings = choice.Warnings();
    best = std::move(choice.best());
  }
  MW_ASSIGN_OR_RETURN(PlannedProgram planned,
                      FinishPlanning(request, std::move(task), std::move(mesh),
                                     std::move(best.intra), std::move(warnings)));
  planned.plan.segments = std::move(best.segments);
  planned.plan.profile = std::move(best.profile);
  // Measurements do not tell its parts apart.
  if (planned.plan.profile.has_value()) {
    planned.plan.time_use.reset();
    planned.plan.time_classes.clear();
    planned.plan.time_error = kProfiledError;
  }
  return planned;
}

}  // namespace meshwright
