#include "meshwright/profile/plan_profiled.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/profile/known_profiles.h"
#include "meshwright/profile/segment_candidates.h"
#include "meshwright/profile/segment_search.h"
#include "meshwright/profile/segment_space.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

// How often the memory for segments is lowered when the whole plan needs more than they seemed to.
constexpr int kMostMemoryTries = 4;
// Of a mesh's time, for looking at choices; the rest is for the plan.
constexpr double kCandidateShare = 0.5;

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

// A plan on one mesh with what it was composed from.
struct ProfiledPlan {
  IntraPlan intra;
  std::vector<PlanSegment> segments;
  std::optional<PlanProfile> profile;
  std::vector<std::string> warnings;
};

// Plans one mesh.
class ProfiledPlanner {
 public:
  ProfiledPlanner(const ProgramRequest& request, const PlanningTask& task,
                  const KnownProfiles& known, const Mesh& mesh, double seconds)
      : request_(request),
        task_(task),
        known_(known),
        mesh_(mesh),
        cost_model_(task.cost_model->make(mesh)),
        start_(Clock::now()),
        seconds_(seconds) {}

  absl::StatusOr<ProfiledPlan> Plan() {
    MW_ASSIGN_OR_RETURN(
        space_, SegmentSpace::Make(task_.program.graph, mesh_, *cost_model_, request_.threads));
    CandidateLimits limits;
    limits.seconds = kCandidateShare * seconds_;
    limits.only_fastest = task_.budget_bytes == solve::kUnlimited;
    MW_ASSIGN_OR_RETURN(CandidateSpace candidates,
                        CandidateSpace::Make(*space_, mesh_, known_, limits));
    candidates_ = std::make_unique<CandidateSpace>(std::move(candidates));
    int64_t limit = task_.budget_bytes;
    for (int i = 0; i < kMostMemoryTries && limit > 0; ++i) {
      const CandidateProblem problem = candidates_->Problem(limit);
      const SegmentSearchResult result = SearchSegments(problem.problem);
      if (!result.possible || !result.fits) break;
      const std::vector<int32_t> choice = problem.Expand(result.choice);
      MW_ASSIGN_OR_RETURN(IntraPlan intra, PlanWhole(choice));
      if (intra.fits) return Compose(std::move(intra), result, choice);
      // The least that the whole plan was found to need, beyond what the segments seemed to.
      const int64_t over = intra.smallest_budget - task_.budget_bytes;
      limit =
          std::min(limit, result.kept_bytes + result.working_bytes) - std::max<int64_t>(over, 1);
    }
    return PlanWithoutSegments();
  }

 private:
  double Used() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  PlannerOptions Options() const {
    PlannerOptions options;
    options.budget_bytes = task_.budget_bytes;
    options.space = task_.cost_model->space;
    options.solver.deadline_seconds = std::max(1.0, seconds_ - Used());
    options.solver.threads = request_.threads;
    options.solver.seed = request_.seed;
    return options;
  }

  const SegmentCandidate& CandidateAt(size_t position, const std::vector<int32_t>& choice) const {
    return candidates_->segments()[space_->sequence()[position]].list[choice[position]];
  }

  absl::StatusOr<IntraPlan> PlanWhole(const std::vector<int32_t>& choice) {
    PlannerOptions options = Options();
    std::vector<SegmentChoice> choices;
    for (size_t p = 0; p < choice.size(); ++p)
      choices.push_back(CandidateAt(p, choice).predicted.choice);
    MW_RETURN_IF_ERROR(space_->GiveChoices(choices, &options));
    return PlanIntra(task_.program.graph, *cost_model_, options);
  }

  absl::StatusOr<ProfiledPlan> PlanWithoutSegments() {
    ProfiledPlan plan;
    MW_ASSIGN_OR_RETURN(plan.intra, PlanIntra(task_.program.graph, *cost_model_, Options()));
    plan.warnings.push_back(
        "no choices of segments fit into the memory: planned without measurements");
    return plan;
  }

  ProfiledPlan Compose(IntraPlan intra, const SegmentSearchResult& result,
                       const std::vector<int32_t>& choice) const {
    ProfiledPlan plan;
    PlanProfile& profile = plan.profile.emplace();
    if (const std::optional<ProfileEnvironment>& e = known_.environment()) {
      profile.environment =
          PlanEnvironment{e->device, e->device_type, e->driver, e->libraries, e->hosts};
    }
    for (const SegmentCandidates& all : candidates_->segments())
      profile.choices += static_cast<int64_t>(all.list.size());
    profile.segment_seconds = result.seconds;
    profile.bound_seconds = result.bound;
    profile.exact = result.exact;
    double by_model = AddSegments(choice, &plan.segments);
    by_model += AddMoves(choice, &profile.moves);
    profile.other_seconds = intra.step_seconds - by_model;
    // A measured segment ran by itself: it has in it whatever XLA runs side by side there, and the
    // host's share of a step is left out of it. What the cost model expects the whole to save on
    // top of its own segments is nothing that was measured.
    if (std::any_of(plan.segments.begin(), plan.segments.end(),
                    [](const PlanSegment& segment) { return segment.basis == "measured"; }))
      profile.other_seconds = std::max(profile.other_seconds, HostSeconds());
    intra.step_seconds = std::max(0.0, result.seconds + profile.other_seconds);
    plan.intra = std::move(intra);
    return plan;
  }

  double HostSeconds() const {
    const std::optional<Overlap> overlap = cost_model_->overlap();
    return overlap.has_value() ? overlap->step_seconds : kUsualStepSeconds;
  }

  // Returns what the cost model says of all of them.
  double AddSegments(const std::vector<int32_t>& choice, std::vector<PlanSegment>* out) const {
    std::map<std::pair<int32_t, int32_t>, size_t> known;
    double by_model = 0;
    for (size_t p = 0; p < choice.size(); ++p) {
      const int32_t segment = space_->sequence()[p];
      const SegmentCandidate& c = CandidateAt(p, choice);
      by_model += c.predicted.seconds;
      const auto [entry, is_new] = known.try_emplace({segment, choice[p]}, out->size());
      if (!is_new) {
        ++(*out)[entry->second].occurrences;
        continue;
      }
      const bool measured = c.measured.has_value();
      out->push_back({.fingerprint = space_->segments()[segment].fingerprint,
                      .choice = c.predicted.key,
                      .basis = measured ? "measured" : "predicted",
                      .seconds = c.seconds,
                      .spread = measured ? c.measured->spread : 0,
                      .samples = measured ? c.measured->samples : 0,
                      .model_seconds = c.predicted.seconds,
                      .peak_bytes = c.peak_bytes(),
                      .known_choices = candidates_->segments()[segment].measured});
    }
    return by_model;
  }

  double AddMoves(const std::vector<int32_t>& choice, std::vector<PlanBorderMove>* out) const {
    std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
    const KnownProfiles nothing;
    double by_model = 0;
    for (size_t p = 0; p + 1 < choice.size(); ++p) {
      const int32_t segment = space_->sequence()[p];
      const std::string& from = CandidateAt(p, choice).predicted.choice.exit;
      const std::string& to = CandidateAt(p + 1, choice).predicted.choice.entry;
      if (from == to) continue;
      by_model += candidates_->PredictedMove(segment, from, to);
      const std::string& shape = space_->segments()[segment].exit_shape;
      const auto [entry, is_new] = known.try_emplace({shape, from, to}, out->size());
      if (!is_new) {
        ++(*out)[entry->second].occurrences;
        continue;
      }
      const BorderMove move = candidates_->Move(segment, from, to);
      out->push_back({.shape = shape,
                      .from = from,
                      .to = to,
                      .basis = move.samples > 0 ? "measured" : "predicted",
                      .seconds = move.seconds,
                      .spread = move.spread,
                      .samples = move.samples});
    }
    return by_model;
  }

  const ProgramRequest& request_;
  const PlanningTask& task_;
  const KnownProfiles& known_;
  const Mesh& mesh_;
  const std::unique_ptr<CostModel> cost_model_;
  const Clock::time_point start_;
  const double seconds_;
  std::unique_ptr<SegmentSpace> space_;
  std::unique_ptr<CandidateSpace> candidates_;
};

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
    absl::StatusOr<ProfiledPlan> plan =
        ProfiledPlanner(request, task, known, task.meshes[i],
                        left / static_cast<double>(task.meshes.size() - i))
            .Plan();
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
