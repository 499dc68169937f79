#include "meshwright/profile/finalists.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/profile/known_profiles.h"
#include "meshwright/profile/measuring_claims.h"
#include "meshwright/profile/profiled_planner.h"
#include "meshwright/profile/worker_job.h"

namespace meshwright {
namespace {

// The share of the time for finding the finalists; the rest is for compiling and running them.
constexpr double kPlanningShare = 0.4;

// Whether what is known of a step is not to be measured again.
bool Suffices(const ProfileMeasurement& known, const FinalistOptions& options) {
  if (known.status == MeasurementStatus::kMeasured) return true;
  return !options.retry && (known.status != MeasurementStatus::kTimedOut ||
                            known.limit_seconds >= options.patience_seconds);
}

// All that the database has of whole steps by now, and the one that a plan would be taken of.
absl::Status CountSteps(const ProfileDatabase& database, const ProfileEnvironment& environment,
                        const std::vector<ProfiledPlan>& finalists, ProfiledPlanner* planner,
                        FinalistReport* report) {
  MW_ASSIGN_OR_RETURN(const KnownProfiles known, KnownProfiles::Of(database, environment));
  bool found = false;
  for (const auto& [choice, measured] : planner->MeasuredSteps(known)) {
    ++report->steps;
    if (found) continue;
    const auto planned = std::find_if(
        finalists.begin(), finalists.end(),
        [&plan = choice.plan](const ProfiledPlan& other) { return other.step.plan == plan; });
    double composed = 0;
    if (planned != finalists.end()) {
      composed = planned->intra.step_seconds;
    } else {
      const std::optional<ProfiledPlan> again = planner->PlanAgain(choice);
      if (!again.has_value()) continue;
      composed = again->intra.step_seconds;
    }
    found = true;
    report->best_seconds = measured->seconds;
    report->best_spread = measured->spread;
    report->best_composed = composed;
  }
  // There is no plan of any of them any more.
  if (!found) report->steps = 0;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FinalistReport> MeasureFinalists(const Graph& graph, const CostModelRow& cost_model,
                                                const Mesh& mesh,
                                                const ProfileEnvironment& environment,
                                                const FinalistOptions& options,
                                                MeasuringWorker* worker,
                                                ProfileDatabase* database) {
  FinalistReport report;
  MW_ASSIGN_OR_RETURN(const KnownProfiles known, KnownProfiles::Of(*database, environment));
  ProfiledPlannerOptions planning;
  planning.budget_bytes = options.budget_bytes;
  planning.seconds = kPlanningShare * options.seconds;
  planning.threads = options.threads;
  planning.stop = options.stop;
  if (options.progress) options.progress(report, "planning whole steps");
  const auto stopped = [&options] { return options.stop && options.stop(); };
  absl::StatusOr<std::unique_ptr<ProfiledPlanner>> made =
      ProfiledPlanner::Make(graph, cost_model, mesh, known, planning);
  // What was measured of segments counts all the same.
  const auto without_steps = [&](const absl::Status& why) {
    if (!stopped()) report.warning = absl::StrCat("no whole step was measured: ", why.message());
    return report;
  };
  if (!made.ok()) return without_steps(made.status());
  const std::unique_ptr<ProfiledPlanner> planner = *std::move(made);
  absl::StatusOr<std::vector<ProfiledPlan>> planned = planner->Finalists(options.most);
  if (!planned.ok()) return without_steps(planned.status());
  const std::vector<ProfiledPlan> finalists = *std::move(planned);
  std::vector<ProfileKey> keys;
  for (const ProfiledPlan& plan : finalists) keys.push_back(planner->StepKey(plan));
  MeasuringClaims claims(*database, environment);
  MW_ASSIGN_OR_RETURN(const std::vector<ClaimAnswer> answers,
                      claims.Claim(keys, [&options](const Profile& profile) {
                        return Suffices(profile.Pooled(), options);
                      }));
  std::vector<WorkerJob> jobs;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (answers[i].state != ClaimAnswer::State::kMine) continue;
    absl::StatusOr<WorkerJob> job = planner->StepJob(finalists[i]);
    if (!job.ok()) return without_steps(job.status());
    jobs.push_back(*std::move(job));
  }
  const auto batch = static_cast<size_t>(std::max(options.threads, 1));
  for (size_t begin = 0; begin < jobs.size() && !stopped(); begin += batch) {
    std::vector<const WorkerJob*> pointers;
    for (size_t j = begin; j < std::min(begin + batch, jobs.size()); ++j)
      pointers.push_back(&jobs[j]);
    MW_RETURN_IF_ERROR(worker->Measure(
        pointers,
        [&](size_t j, ProfileMeasurement measurement) -> absl::Status {
          const WorkerJob& job = jobs[begin + j];
          SummarizeSamples(&measurement);
          MW_RETURN_IF_ERROR(database->Store(environment, job.key, job.description, measurement));
          const bool failed = measurement.status != MeasurementStatus::kMeasured;
          ++(failed ? report.failed : report.measured);
          if (failed) {
            report.warning =
                absl::StrCat("a whole step could not be measured: ", measurement.error);
          }
          if (options.progress) options.progress(report, "whole step");
          return absl::OkStatus();
        },
        [&claims] { return claims.Renew(); }));
  }
  MW_RETURN_IF_ERROR(claims.Release());
  MW_RETURN_IF_ERROR(CountSteps(*database, environment, finalists, planner.get(), &report));
  return report;
}

}  // namespace meshwright
