#ifndef MESHWRIGHT_PROFILE_PROFILED_PLANNER_H_
#define MESHWRIGHT_PROFILE_PROFILED_PLANNER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/plan_segments.h"
#include "meshwright/profile/known_profiles.h"
#include "meshwright/profile/segment_candidates.h"
#include "meshwright/profile/segment_search.h"
#include "meshwright/profile/segment_space.h"
#include "meshwright/profile/whole_step.h"
#include "meshwright/profile/worker_job.h"

namespace meshwright {

// A plan on one mesh with what it was composed from.
struct ProfiledPlan {
  IntraPlan intra;
  std::vector<PlanSegment> segments;  // empty: planned by the cost model without segments
  std::optional<PlanProfile> profile;
  StepChoice step;
  std::vector<std::string> warnings;
};

struct ProfiledPlannerOptions {
  int64_t budget_bytes = 0;  // of a device; solve::kUnlimited: all that is wanted
  double seconds = 30;       // for all calls together
  int threads = 2;
  uint64_t seed = 1;
  std::function<bool()> stop;  // asked often; once it says true all comes to an end
};

// Plans a program on one mesh with what is known of its segments and whole steps there.
class ProfiledPlanner {
 public:
  // All must outlive it. Errors: SegmentSpace::Make, CandidateSpace::Make; anything at all once
  // `options.stop` says true, as of all its functions.
  static absl::StatusOr<std::unique_ptr<ProfiledPlanner>> Make(
      const Graph& graph, const CostModelRow& cost_model, const Mesh& mesh,
      const KnownProfiles& known, const ProfiledPlannerOptions& options);

  // The fastest, composed from segments or measured as a whole (docs/profile.md). Errors:
  // PlanIntra.
  absl::StatusOr<ProfiledPlan> Plan();

  // Plans that are worth measuring as a whole, all different, at most so many: the best from
  // segments, what the cost model alone would choose, and the best without the choice that the
  // segment with most of the time made in the one before. Those that fit the memory only.
  absl::StatusOr<std::vector<ProfiledPlan>> Finalists(int most);

  // Whole steps of the program that are measured and fit the memory, the fastest first. Pointers
  // are into `known`.
  std::vector<std::pair<StepChoice, const ProfileMeasurement*>> MeasuredSteps(
      const KnownProfiles& known) const;
  // The plan that was measured as a whole; nullopt if the same choices now lead to another or none.
  std::optional<ProfiledPlan> PlanAgain(const StepChoice& choice);

  // Where a database keeps a whole step under `plan`, and how to measure it. Error: worker_job.h.
  ProfileKey StepKey(const ProfiledPlan& plan) const;
  absl::StatusOr<WorkerJob> StepJob(const ProfiledPlan& plan) const;

 private:
  ProfiledPlanner(const Graph& graph, const CostModelRow& cost_model, const Mesh& mesh,
                  const KnownProfiles& known, const ProfiledPlannerOptions& options);
  double Used() const;
  PlannerOptions Options() const;
  absl::StatusOr<ProfiledPlan> PlanFromSegments();
  void ProveSegments(double seconds, PlanProfile* profile) const;
  absl::StatusOr<ProfiledPlan> PlanByCostModel();
  absl::StatusOr<ProfiledPlan> PlanWithChoices(const std::vector<std::string>& keys);
  absl::StatusOr<ProfiledPlan> PlanByCostModelInSegments();
  using CandidatesByKey = std::map<std::pair<int32_t, std::string>, SegmentCandidate>;
  absl::StatusOr<std::vector<const SegmentCandidate*>> Named(const std::vector<std::string>& keys,
                                                             CandidatesByKey* made) const;
  void TakeMeasuredStep(ProfiledPlan* plan);
  CandidateProblem Problem(int64_t limit) const;
  void LeaveOut(const std::vector<int32_t>& choice);
  absl::StatusOr<int64_t> SegmentMemory();
  std::vector<const SegmentCandidate*> Chosen(const std::vector<int32_t>& choice) const;
  absl::StatusOr<IntraPlan> PlanWhole(const std::vector<const SegmentCandidate*>& chosen,
                                      PlannerOptions options);
  ProfiledPlan Compose(IntraPlan intra, const std::vector<const SegmentCandidate*>& chosen) const;
  PlanProfile EmptyProfile() const;
  std::optional<PlanEnvironment> WhereMeasured() const;
  double HostSeconds() const;
  double AddSegments(const std::vector<const SegmentCandidate*>& chosen,
                     std::vector<PlanSegment>* out) const;
  double AddMoves(const std::vector<const SegmentCandidate*>& chosen,
                  std::vector<PlanBorderMove>* out) const;

  const Graph& graph_;
  const CostModelRow& row_;
  const Mesh& mesh_;
  const KnownProfiles& known_;
  const ProfiledPlannerOptions options_;
  const std::unique_ptr<CostModel> cost_model_;
  const std::chrono::steady_clock::time_point start_;
  std::unique_ptr<SegmentSpace> space_;
  std::unique_ptr<CandidateSpace> candidates_;
  std::set<std::pair<int32_t, int32_t>> left_out_;  // by segment: candidates
  std::vector<int32_t> choice_;                     // of the last PlanFromSegments, by position
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PROFILED_PLANNER_H_
