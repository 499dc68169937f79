#include "meshwright/profile/profiled_planner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "meshwright/base/status.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/solve/problem.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

// How often the memory for segments is lowered when the whole plan needs more than they seemed to,
// and how often of these while they seem to need more than there is.
constexpr int kMostMemoryTries = 6, kMostTriesAbove = 2;
// The share of a mesh's time for looking at choices; the rest is for the plan.
constexpr double kCandidateShare = 0.5;
// Plans that are composed to take so many times the best are not worth measuring.
constexpr double kWorthMeasuring = 1.15;
// The relative rounding of sums of the same numbers in another order.
constexpr double kSumRounding = 1e-12;

}  // namespace

absl::StatusOr<std::unique_ptr<ProfiledPlanner>> ProfiledPlanner::Make(
    const Graph& graph, const CostModelRow& cost_model, const Mesh& mesh,
    const KnownProfiles& known, const ProfiledPlannerOptions& options) {
  std::unique_ptr<ProfiledPlanner> planner(
      new ProfiledPlanner(graph, cost_model, mesh, known, options));
  MW_ASSIGN_OR_RETURN(planner->space_,
                      SegmentSpace::Make(graph, mesh, *planner->cost_model_, options.threads));
  CandidateLimits limits;
  limits.seconds = kCandidateShare * options.seconds;
  limits.stop = options.stop;
  limits.only_fastest = options.budget_bytes == solve::kUnlimited;
  MW_ASSIGN_OR_RETURN(CandidateSpace candidates,
                      CandidateSpace::Make(*planner->space_, mesh, known, limits));
  planner->candidates_ = std::make_unique<CandidateSpace>(std::move(candidates));
  return planner;
}

ProfiledPlanner::ProfiledPlanner(const Graph& graph, const CostModelRow& cost_model,
                                 const Mesh& mesh, const KnownProfiles& known,
                                 const ProfiledPlannerOptions& options)
    : graph_(graph),
      row_(cost_model),
      mesh_(mesh),
      known_(known),
      options_(options),
      cost_model_(cost_model.make(mesh)),
      start_(Clock::now()) {}

absl::StatusOr<ProfiledPlan> ProfiledPlanner::Plan() {
  MW_ASSIGN_OR_RETURN(ProfiledPlan plan, PlanFromSegments());
  if (plan.profile.has_value()) {
    absl::StatusOr<ProfiledPlan> whole = PlanByCostModelInSegments();
    if (whole.ok() && whole->intra.fits && whole->intra.step_seconds < plan.intra.step_seconds)
      plan = *std::move(whole);
  }
  TakeMeasuredStep(&plan);
  return plan;
}

absl::StatusOr<std::vector<ProfiledPlan>> ProfiledPlanner::Finalists(int most) {
  std::vector<ProfiledPlan> finalists;
  const auto add = [&finalists](ProfiledPlan plan) {
    const bool known = std::any_of(
        finalists.begin(), finalists.end(),
        [&plan](const ProfiledPlan& other) { return other.step.plan == plan.step.plan; });
    if (plan.intra.fits && !known) finalists.push_back(std::move(plan));
  };
  MW_ASSIGN_OR_RETURN(ProfiledPlan first, PlanFromSegments());
  const double worth = kWorthMeasuring * first.intra.step_seconds;
  add(std::move(first));
  MW_ASSIGN_OR_RETURN(ProfiledPlan by_model, PlanByCostModel());
  add(std::move(by_model));
  // Choices that differ may come to the same plan.
  for (int tries = 0; tries < 2 * most && static_cast<int>(finalists.size()) < most; ++tries) {
    if (choice_.empty() || Used() > options_.seconds) break;
    LeaveOut(choice_);
    MW_ASSIGN_OR_RETURN(ProfiledPlan next, PlanFromSegments());
    if (next.step.segments.empty() || next.intra.step_seconds > worth) break;
    add(std::move(next));
  }
  if (static_cast<int>(finalists.size()) > most) finalists.resize(static_cast<size_t>(most));
  return finalists;
}

ProfileKey ProfiledPlanner::StepKey(const ProfiledPlan& plan) const {
  return {StepProgram(graph_), ProfileMeshText(mesh_), plan.step.plan};
}

absl::StatusOr<WorkerJob> ProfiledPlanner::StepJob(const ProfiledPlan& plan) const {
  MW_ASSIGN_OR_RETURN(WorkerJob job,
                      WholeStepJob(space_->graph(), mesh_, plan.intra, StepKey(plan)));
  job.description = plan.step.Way();
  return job;
}

double ProfiledPlanner::Used() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

PlannerOptions ProfiledPlanner::Options() const {
  PlannerOptions options;
  options.budget_bytes = options_.budget_bytes;
  options.space = row_.space;
  options.solver.deadline_seconds = std::max(1.0, options_.seconds - Used());
  options.solver.threads = options_.threads;
  options.solver.stop = options_.stop;
  options.solver.seed = options_.seed;
  return options;
}

CandidateProblem ProfiledPlanner::Problem(int64_t limit) const {
  CandidateProblem problem = candidates_->Problem(limit);
  for (size_t r = 0; r < problem.runs.size(); ++r) {
    std::vector<SegmentOption>& options = problem.problem.options[r];
    std::vector<int32_t>& candidates = problem.candidates[r];
    for (size_t i = candidates.size(); i-- > 0;) {
      if (!left_out_.contains({problem.runs[r].first, candidates[i]})) continue;
      options.erase(options.begin() + static_cast<std::ptrdiff_t>(i));
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return problem;
}

// The choice of the segment that takes most of a step.
void ProfiledPlanner::LeaveOut(const std::vector<int32_t>& choice) {
  std::map<std::pair<int32_t, int32_t>, double> seconds;
  for (size_t p = 0; p < choice.size(); ++p) {
    const int32_t segment = space_->sequence()[p];
    seconds[{segment, choice[p]}] += candidates_->segments()[segment].list[choice[p]].seconds;
  }
  left_out_.insert(
      std::max_element(seconds.begin(), seconds.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first);
}

// How much choices of segments may seem to need: what there is, and as much more as the whole plan
// of the fastest choices needs less than these seem to. The estimate counts every segment's
// activations at every other one's peak.
absl::StatusOr<int64_t> ProfiledPlanner::SegmentMemory() {
  const int64_t budget = options_.budget_bytes;
  const CandidateProblem all = Problem(solve::kUnlimited);
  if (budget == solve::kUnlimited || std::any_of(all.candidates.begin(), all.candidates.end(),
                                                 [](const auto& of_run) { return of_run.empty(); }))
    return budget;
  const SegmentSearchResult fastest = SearchSegments(all.problem);
  const int64_t seems = fastest.kept_bytes + fastest.working_bytes;
  if (!fastest.possible || seems <= budget) return budget;
  PlannerOptions options = Options();
  options.budget_bytes = solve::kUnlimited;
  MW_ASSIGN_OR_RETURN(const IntraPlan whole,
                      PlanWhole(Chosen(all.Expand(fastest.choice)), options));
  return budget + std::max<int64_t>(0, seems - whole.peak.bytes);
}

absl::StatusOr<ProfiledPlan> ProfiledPlanner::PlanFromSegments() {
  choice_.clear();
  MW_ASSIGN_OR_RETURN(int64_t limit, SegmentMemory());
  for (int i = 0; i < kMostMemoryTries && limit > 0; ++i) {
    if (i >= kMostTriesAbove) limit = std::min(limit, options_.budget_bytes);
    const CandidateProblem problem = Problem(limit);
    if (std::any_of(problem.candidates.begin(), problem.candidates.end(),
                    [](const auto& of_run) { return of_run.empty(); }))
      break;
    const SegmentSearchResult result = SearchSegments(problem.problem);
    if (!result.possible || !result.fits) break;
    const std::vector<int32_t> choice = problem.Expand(result.choice);
    const std::vector<const SegmentCandidate*> chosen = Chosen(choice);
    MW_ASSIGN_OR_RETURN(IntraPlan intra, PlanWhole(chosen, Options()));
    if (intra.fits) {
      choice_ = choice;
      ProfiledPlan plan = Compose(std::move(intra), chosen);
      ProveSegments(result.seconds, &*plan.profile);
      return plan;
    }
    // The least that the whole plan was found to need, beyond what the segments seemed to.
    const int64_t over = intra.smallest_budget - options_.budget_bytes;
    limit = std::min(limit, result.kept_bytes + result.working_bytes) - std::max<int64_t>(over, 1);
  }
  MW_ASSIGN_OR_RETURN(ProfiledPlan plan, PlanByCostModel());
  plan.warnings.push_back(
      "no choices of segments fit into the memory: planned without measurements");
  return plan;
}

// What segments need together is an estimate from above: choices that seem not to fit may, and only
// what holds of all choices is certain.
void ProfiledPlanner::ProveSegments(double seconds, PlanProfile* profile) const {
  const CandidateProblem all = candidates_->Problem(solve::kUnlimited);
  const SegmentSearchResult fastest = SearchSegments(all.problem);
  // Sums of the same parts in another order.
  profile->bound_seconds = std::min({fastest.bound, seconds, profile->segment_seconds});
  profile->exact = fastest.exact && seconds <= fastest.bound * (1 + kSumRounding);
}

// The candidates that are meant, by position.
std::vector<const SegmentCandidate*> ProfiledPlanner::Chosen(
    const std::vector<int32_t>& choice) const {
  std::vector<const SegmentCandidate*> chosen;
  for (size_t p = 0; p < choice.size(); ++p)
    chosen.push_back(&candidates_->segments()[space_->sequence()[p]].list[choice[p]]);
  return chosen;
}

absl::StatusOr<IntraPlan> ProfiledPlanner::PlanWhole(
    const std::vector<const SegmentCandidate*>& chosen, PlannerOptions options) {
  std::vector<SegmentChoice> choices;
  choices.reserve(chosen.size());
  for (const SegmentCandidate* candidate : chosen) choices.push_back(candidate->predicted.choice);
  MW_RETURN_IF_ERROR(space_->GiveChoices(choices, &options));
  return PlanIntra(graph_, *cost_model_, options);
}

absl::StatusOr<ProfiledPlan> ProfiledPlanner::PlanByCostModel() {
  ProfiledPlan plan;
  MW_ASSIGN_OR_RETURN(plan.intra, PlanIntra(graph_, *cost_model_, Options()));
  plan.step.plan = PlanDigest(graph_, mesh_, plan.intra);
  return plan;
}

// What the planner without segments finds, told as their choices: it knows what overlaps across
// borders, which no sum over segments does.
absl::StatusOr<ProfiledPlan> ProfiledPlanner::PlanByCostModelInSegments() {
  MW_ASSIGN_OR_RETURN(ProfiledPlan by_model, PlanByCostModel());
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> keys, space_->KeysOf(by_model.intra));
  for (size_t p = 0; p < keys.size(); ++p) {
    const ProfileMeasurement* const measured = known_.Find(
        {space_->segments()[space_->sequence()[p]].fingerprint, ProfileMeshText(mesh_), keys[p]});
    if (measured != nullptr && measured->status != MeasurementStatus::kMeasured)
      return absl::NotFoundError("a choice was measured to fail");
  }
  CandidatesByKey made;
  MW_ASSIGN_OR_RETURN(const std::vector<const SegmentCandidate*> chosen, Named(keys, &made));
  ProfiledPlan plan = Compose(std::move(by_model.intra), chosen);
  plan.step.segments.clear();
  ProveSegments(plan.profile->segment_seconds, &*plan.profile);
  return plan;
}

std::optional<ProfiledPlan> ProfiledPlanner::PlanAgain(const StepChoice& choice) {
  absl::StatusOr<ProfiledPlan> again =
      choice.segments.empty() ? PlanByCostModel() : PlanWithChoices(choice.segments);
  if (!again.ok() || !again->intra.fits || again->step.plan != choice.plan) return std::nullopt;
  return *std::move(again);
}

absl::StatusOr<ProfiledPlan> ProfiledPlanner::PlanWithChoices(
    const std::vector<std::string>& keys) {
  if (keys.size() != space_->sequence().size())
    return absl::InvalidArgumentError("choices of another sequence");
  CandidatesByKey made;
  MW_ASSIGN_OR_RETURN(const std::vector<const SegmentCandidate*> chosen, Named(keys, &made));
  MW_ASSIGN_OR_RETURN(IntraPlan intra, PlanWhole(chosen, Options()));
  return Compose(std::move(intra), chosen);
}

// The candidates with these keys, by position; they live in `made`.
absl::StatusOr<std::vector<const SegmentCandidate*>> ProfiledPlanner::Named(
    const std::vector<std::string>& keys, CandidatesByKey* made) const {
  std::vector<const SegmentCandidate*> named;
  named.reserve(keys.size());
  for (size_t p = 0; p < keys.size(); ++p) {
    const int32_t segment = space_->sequence()[p];
    const auto [entry, is_new] = made->try_emplace({segment, keys[p]});
    if (is_new) {
      MW_ASSIGN_OR_RETURN(entry->second, candidates_->Candidate(segment, keys[p]));
    }
    named.push_back(&entry->second);
  }
  return named;
}

std::vector<std::pair<StepChoice, const ProfileMeasurement*>> ProfiledPlanner::MeasuredSteps(
    const KnownProfiles& known) const {
  std::vector<std::pair<StepChoice, const ProfileMeasurement*>> steps;
  const std::string program = StepProgram(graph_), mesh = ProfileMeshText(mesh_);
  for (const auto& [digits, measurement] : known.Of(program, mesh)) {
    absl::StatusOr<StepChoice> choice =
        StepChoice::Parse(digits, known.DescriptionOf({program, mesh, digits}));
    if (!choice.ok() || measurement->status != MeasurementStatus::kMeasured) continue;
    if (options_.budget_bytes != solve::kUnlimited &&
        measurement->peak_bytes > options_.budget_bytes)
      continue;
    steps.emplace_back(*std::move(choice), measurement);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    return a.second->seconds < b.second->seconds;
  });
  return steps;
}

// Replaces `plan` where another was measured to be faster as a whole than `plan` is composed to be,
// if that is off as far as the other's composition was; and takes what was measured for what was
// composed.
void ProfiledPlanner::TakeMeasuredStep(ProfiledPlan* plan) {
  const auto steps = MeasuredSteps(known_);
  const auto is_plan = [plan](const auto& step) { return step.first.plan == plan->step.plan; };
  const bool known = std::any_of(steps.begin(), steps.end(), is_plan);
  for (const auto& [choice, measured] : steps) {
    if (choice.plan != plan->step.plan) {
      std::optional<ProfiledPlan> other = PlanAgain(choice);
      if (!other.has_value()) continue;
      // Without segments there is nothing measured in what it was expected to take.
      const double off = other->profile.has_value() && plan->profile.has_value()
                             ? measured->seconds / other->intra.step_seconds
                             : 1;
      if (!known && plan->intra.fits && plan->intra.step_seconds * off < measured->seconds) return;
      *plan = *std::move(other);
    }
    if (!plan->profile.has_value()) plan->profile = EmptyProfile();
    plan->profile->step = PlanMeasuredStep{.seconds = measured->seconds,
                                           .spread = measured->spread,
                                           .samples = measured->samples,
                                           .composed_seconds = plan->intra.step_seconds,
                                           .peak_bytes = measured->peak_bytes};
    plan->profile->environment = WhereMeasured();
    plan->intra.step_seconds = measured->seconds;
    return;
  }
}

PlanProfile ProfiledPlanner::EmptyProfile() const {
  PlanProfile profile;
  for (const SegmentCandidates& all : candidates_->segments())
    profile.choices += static_cast<int64_t>(all.list.size());
  return profile;
}

std::optional<PlanEnvironment> ProfiledPlanner::WhereMeasured() const {
  const std::optional<ProfileEnvironment>& e = known_.environment();
  if (!e.has_value()) return std::nullopt;
  return PlanEnvironment{e->device, e->device_type, e->driver, e->libraries, e->hosts};
}

ProfiledPlan ProfiledPlanner::Compose(IntraPlan intra,
                                      const std::vector<const SegmentCandidate*>& chosen) const {
  ProfiledPlan plan;
  PlanProfile& profile = plan.profile.emplace(EmptyProfile());
  double by_model = AddSegments(chosen, &plan.segments);
  by_model += AddMoves(chosen, &profile.moves);
  for (const PlanSegment& segment : plan.segments)
    profile.segment_seconds += segment.seconds * static_cast<double>(segment.occurrences);
  for (const PlanBorderMove& move : profile.moves)
    profile.segment_seconds += move.seconds * static_cast<double>(move.occurrences);
  profile.other_seconds = intra.step_seconds - by_model;
  // A measured segment ran by itself: it has in it whatever XLA overlaps there, and the launch
  // overhead of a step is left out of it. What the cost model expects the whole to save on top
  // of its own segments is nothing that was measured.
  const auto is_measured = [](const auto& part) { return part.basis == PlanBasis::kMeasured; };
  const bool any_segment = std::any_of(plan.segments.begin(), plan.segments.end(), is_measured);
  if (any_segment) profile.other_seconds = std::max(profile.other_seconds, HostSeconds());
  if (any_segment || std::any_of(profile.moves.begin(), profile.moves.end(), is_measured))
    profile.environment = WhereMeasured();
  intra.step_seconds = std::max(0.0, profile.segment_seconds + profile.other_seconds);
  plan.step.plan = PlanDigest(graph_, mesh_, intra);
  for (const SegmentCandidate* candidate : chosen)
    plan.step.segments.push_back(candidate->predicted.key);
  plan.intra = std::move(intra);
  return plan;
}

double ProfiledPlanner::HostSeconds() const {
  const std::optional<Overlap> overlap = cost_model_->overlap();
  const Overlap usual{0, kUsualStepSeconds, kUsualArraySeconds};
  return overlap.value_or(usual).LaunchSeconds(graph_, mesh_.cluster);
}

// Returns what the cost model says of all of them.
double ProfiledPlanner::AddSegments(const std::vector<const SegmentCandidate*>& chosen,
                                    std::vector<PlanSegment>* out) const {
  std::map<std::pair<int32_t, std::string>, size_t> known;
  double by_model = 0;
  for (size_t p = 0; p < chosen.size(); ++p) {
    const int32_t segment = space_->sequence()[p];
    const SegmentCandidate& c = *chosen[p];
    by_model += c.predicted.seconds;
    if (!space_->segments()[segment].has_program()) continue;
    const auto [entry, is_new] = known.try_emplace({segment, c.predicted.key}, out->size());
    if (!is_new) {
      ++(*out)[entry->second].occurrences;
      continue;
    }
    const bool measured = c.measured.has_value();
    out->push_back({.fingerprint = space_->segments()[segment].fingerprint,
                    .choice = c.predicted.key,
                    .basis = measured ? PlanBasis::kMeasured : PlanBasis::kPredicted,
                    .seconds = c.seconds,
                    .spread = measured ? c.measured->spread : 0,
                    .samples = measured ? c.measured->samples : 0,
                    .model_seconds = c.predicted.seconds,
                    .peak_bytes = c.peak_bytes(),
                    .known_choices = candidates_->segments()[segment].measured});
  }
  return by_model;
}

double ProfiledPlanner::AddMoves(const std::vector<const SegmentCandidate*>& chosen,
                                 std::vector<PlanBorderMove>* out) const {
  std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
  double by_model = 0;
  for (size_t p = 0; p + 1 < chosen.size(); ++p) {
    const int32_t segment = space_->sequence()[p];
    const std::string& from = chosen[p]->predicted.choice.exit;
    const std::string& to = chosen[p + 1]->predicted.choice.entry;
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
                    .basis = move.samples > 0 ? PlanBasis::kMeasured : PlanBasis::kPredicted,
                    .seconds = move.seconds,
                    .spread = move.spread,
                    .samples = move.samples});
  }
  return by_model;
}

}  // namespace meshwright
