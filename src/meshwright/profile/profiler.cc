#include "meshwright/profile/profiler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/profile/choice_queue.h"
#include "meshwright/profile/measuring_claims.h"
#include "meshwright/profile/segment_space.h"
#include "meshwright/profile/worker_job.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

// The share of the budget that looking at choices may take before the first is measured, and those
// after which the reshardings are measured that occur by then.
constexpr double kFirstShare = 0.1;
constexpr double kReshardingTimes[] = {0.5, 0.93};

// How long to look at choices before listening to the worker again.
constexpr double kLookAheadSeconds = 0.5;

// How long to wait before looking again at what others measure.
constexpr std::chrono::milliseconds kOthersPause{500};

using SegmentAndChoice = std::pair<int32_t, PredictedChoice>;
using KeyText = std::tuple<std::string, std::string, std::string>;
KeyText TextOf(const ProfileKey& key) { return {key.program, key.mesh, key.choice}; }

class Profiler {
 public:
  Profiler(const Mesh& mesh, const ProfileEnvironment& environment, const ProfileOptions& options,
           MeasuringWorker& worker, ProfileDatabase& database, SegmentSpace& space)
      : mesh_(mesh),
        environment_(environment),
        options_(options),
        worker_(worker),
        database_(database),
        space_(space),
        start_(Clock::now()),
        queue_(space, mesh.cluster.device.memory_bytes),
        claims_(database, environment) {}

  absl::StatusOr<ProfileReport> Run() {
    MW_RETURN_IF_ERROR(ReadKnown());
    deadline_ = options_.budget_seconds;
    MW_RETURN_IF_ERROR(queue_.CountKnown(KnownChoices(), [this] { return MustStop(); }));
    deadline_ = Seconds() + (options_.budget_seconds - Seconds()) * kFirstShare;
    MW_RETURN_IF_ERROR(queue_.LookAtFirst([this] { return MustStop(); }));
    for (double share : kReshardingTimes) {
      deadline_ = options_.budget_seconds * share;
      MW_RETURN_IF_ERROR(MeasureSegments());
      deadline_ = options_.budget_seconds;
      MW_RETURN_IF_ERROR(MeasureReshardings());
    }
    // What others are at when there is nothing else to do: it is measured in the end, or free.
    for (bool first = true; !MustStop() && (!taken_.empty() || reshardings_taken_ > 0);
         first = false) {
      if (first) Show("waiting for what another profiler measures");
      std::this_thread::sleep_for(kOthersPause);
      queue_.GiveBack(std::exchange(taken_, {}));
      MW_RETURN_IF_ERROR(MeasureSegments());
      MW_RETURN_IF_ERROR(MeasureReshardings());
    }
    MW_RETURN_IF_ERROR(claims_.Release());
    MW_RETURN_IF_ERROR(database_.CheckInPlace());
    return Report();
  }

 private:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool MustStop() const { return (options_.stop && options_.stop()) || Seconds() > deadline_; }

  absl::Status ReadKnown() {
    MW_ASSIGN_OR_RETURN(const std::optional<int64_t> number, database_.NumberOf(environment_));
    if (!number.has_value()) return absl::OkStatus();
    ProfileFilter filter;
    filter.environment = *number;
    filter.mesh = ProfileMeshText(mesh_);
    MW_ASSIGN_OR_RETURN(const std::vector<Profile> profiles, database_.Find(filter));
    for (const Profile& profile : profiles) {
      if (options_.retry) runs_before_[TextOf(profile.key)] = profile.runs.size();
      if (Suffices(profile)) known_[TextOf(profile.key)] = profile.Pooled();
    }
    return absl::OkStatus();
  }

  // Whether what is known is not to be measured again.
  bool Suffices(const Profile& profile) const {
    const ProfileMeasurement pooled = profile.Pooled();
    if (pooled.status == MeasurementStatus::kMeasured) return true;
    const auto before = runs_before_.find(TextOf(profile.key));
    if (before != runs_before_.end() && profile.runs.size() <= before->second) return false;
    return pooled.status != MeasurementStatus::kTimedOut ||
           pooled.limit_seconds >= options_.patience_seconds;
  }

  absl::StatusOr<std::vector<ClaimAnswer>> Claim(const std::vector<ProfileKey>& keys) {
    return claims_.Claim(keys, [this](const Profile& profile) { return Suffices(profile); });
  }

  // By segment.
  std::vector<std::map<std::string, ProfileMeasurement>> KnownChoices() const {
    std::vector<std::map<std::string, ProfileMeasurement>> choices;
    for (const Segment& segment : space_.segments()) {
      auto& of_segment = choices.emplace_back();
      for (const auto& [key, measurement] : known_) {
        if (std::get<0>(key) == segment.fingerprint) of_segment[std::get<2>(key)] = measurement;
      }
    }
    return choices;
  }

  const ProfileMeasurement* FindKnown(const ProfileKey& key) const {
    const auto found = known_.find(TextOf(key));
    return found == known_.end() ? nullptr : &found->second;
  }

  ProfileKey KeyOf(int32_t segment, const std::string& choice) const {
    return {space_.segments()[segment].fingerprint, ProfileMeshText(mesh_), choice};
  }

  // As many as are compiled at a time; fewer when there are no more, or it is time to stop.
  absl::StatusOr<std::vector<SegmentAndChoice>> NextChoices() {
    std::vector<SegmentAndChoice> chosen;
    while (static_cast<int>(chosen.size()) < options_.batch && !MustStop()) {
      MW_ASSIGN_OR_RETURN(auto next, queue_.Next([this] { return MustStop(); }));
      if (!next.has_value()) break;
      chosen.push_back(*std::move(next));
    }
    return chosen;
  }

  absl::Status MeasureSegments() {
    while (!MustStop()) {
      MW_ASSIGN_OR_RETURN(std::vector<SegmentAndChoice> wanted, NextChoices());
      if (wanted.empty()) break;
      std::vector<ProfileKey> keys;
      for (const auto& [segment, choice] : wanted) keys.push_back(KeyOf(segment, choice.key));
      MW_ASSIGN_OR_RETURN(const std::vector<ClaimAnswer> answers, Claim(keys));
      std::vector<SegmentAndChoice> chosen;
      std::vector<WorkerJob> jobs;
      for (size_t i = 0; i < wanted.size(); ++i) {
        const auto& [segment, choice] = wanted[i];
        if (answers[i].state == ClaimAnswer::State::kKnown) {
          queue_.Count(segment, choice, answers[i].known);
          ++by_others_;
          continue;
        }
        if (answers[i].state == ClaimAnswer::State::kTaken) {
          taken_.push_back(std::move(wanted[i]));
          continue;
        }
        MW_ASSIGN_OR_RETURN(const IntraPlan plan, space_.Plan(segment, choice.choice));
        MW_ASSIGN_OR_RETURN(WorkerJob job, SegmentJob(space_.segments()[segment].slice, mesh_, plan,
                                                      std::move(keys[i])));
        job.description = absl::StrCat("segment ", segment, " of ", space_.segments().size());
        jobs.push_back(std::move(job));
        chosen.push_back(std::move(wanted[i]));
      }
      if (jobs.empty()) continue;
      MW_RETURN_IF_ERROR(worker_.Measure(
          Pointers(jobs),
          [&](size_t j, ProfileMeasurement measurement) -> absl::Status {
            MW_RETURN_IF_ERROR(Store(jobs[j], &measurement));
            queue_.Count(chosen[j].first, chosen[j].second, measurement);
            return absl::OkStatus();
          },
          [&]() -> absl::Status {
            MW_RETURN_IF_ERROR(claims_.Renew());
            const double until = Seconds() + kLookAheadSeconds;
            return queue_.LookAhead([&] { return MustStop() || Seconds() > until; });
          }));
      MW_RETURN_IF_ERROR(claims_.Release());
    }
    return absl::OkStatus();
  }

  static std::vector<const WorkerJob*> Pointers(const std::vector<WorkerJob>& jobs) {
    std::vector<const WorkerJob*> pointers;
    for (const WorkerJob& job : jobs) pointers.push_back(&job);
    return pointers;
  }

  absl::Status Store(const WorkerJob& job, ProfileMeasurement* measurement) {
    SummarizeSamples(measurement);
    MW_RETURN_IF_ERROR(database_.Store(environment_, job.key, job.description, *measurement));
    const bool failed = measurement->status != MeasurementStatus::kMeasured;
    ++(failed ? report_.failed : report_.measured);
    if (failed) last_error_ = measurement->error;
    Show(job.description);
    return absl::OkStatus();
  }

  void Show(const std::string& what) const {
    if (!options_.progress) return;
    ProfileProgress progress;
    progress.seconds = Seconds();
    progress.left_seconds = std::max(0.0, options_.budget_seconds - progress.seconds);
    progress.measured = report_.measured;
    progress.known = queue_.known() + by_others_;
    progress.failed = report_.failed;
    progress.what = what;
    options_.progress(progress);
  }

  // Between measured choices that can follow each other, those that should be quick first.
  absl::StatusOr<std::vector<WorkerJob>> Reshardings() const {
    const std::vector<int32_t>& sequence = space_.sequence();
    std::map<std::tuple<std::string, std::string, std::string>, double> wanted;  // shape, from, to
    for (size_t p = 0; p + 1 < sequence.size(); ++p) {
      const std::string& shape = space_.segments()[sequence[p]].exit_shape;
      if (shape.empty() || shape != space_.segments()[sequence[p + 1]].entry_shape) continue;
      const auto want = [&](const std::string& from, const std::string& to) {
        if (from == to || wanted.contains({shape, from, to})) return;
        wanted[{shape, from, to}] = space_.ReshardSeconds(sequence[p], from, to).value_or(0.0);
      };
      for (const std::string& exit : queue_.states()[sequence[p]].exits) {
        for (const std::string& entry : queue_.states()[sequence[p + 1]].entries) {
          want(exit, entry);  // activations
          want(entry, exit);  // their gradients
        }
      }
    }
    std::vector<std::pair<double, WorkerJob>> order;
    for (const auto& [move, seconds] : wanted) {
      const auto& [shape, from, to] = move;
      MW_ASSIGN_OR_RETURN(WorkerJob job, ReshardingJob(shape, mesh_, from, to));
      order.emplace_back(seconds, std::move(job));
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<WorkerJob> jobs;
    for (auto& [seconds, job] : order) jobs.push_back(std::move(job));
    return jobs;
  }

  absl::Status MeasureReshardings() {
    MW_ASSIGN_OR_RETURN(std::vector<WorkerJob> wanted, Reshardings());
    report_.reshardings = report_.missing_reshardings = reshardings_taken_ = 0;
    std::vector<WorkerJob> missing;
    for (WorkerJob& job : wanted) {
      if (FindKnown(job.key) == nullptr) {
        missing.push_back(std::move(job));
      } else {
        ++report_.reshardings;
      }
    }
    report_.missing_reshardings = static_cast<int64_t>(missing.size());
    const auto know = [&](const ProfileKey& key, const ProfileMeasurement& measurement) {
      ++report_.reshardings;
      --report_.missing_reshardings;
      known_[TextOf(key)] = measurement;
    };
    const auto most = static_cast<size_t>(std::max(options_.batch, 1));
    for (size_t next = 0; next < missing.size() && !MustStop();) {
      const size_t end = std::min(next + most, missing.size());
      std::vector<ProfileKey> keys;
      for (size_t i = next; i < end; ++i) keys.push_back(missing[i].key);
      MW_ASSIGN_OR_RETURN(const std::vector<ClaimAnswer> answers, Claim(keys));
      std::vector<WorkerJob> jobs;
      for (const ClaimAnswer& answer : answers) {
        WorkerJob& job = missing[next++];
        if (answer.state == ClaimAnswer::State::kKnown) know(job.key, answer.known);
        if (answer.state == ClaimAnswer::State::kTaken) ++reshardings_taken_;
        if (answer.state == ClaimAnswer::State::kMine) jobs.push_back(std::move(job));
      }
      if (jobs.empty()) continue;
      MW_RETURN_IF_ERROR(worker_.Measure(
          Pointers(jobs),
          [&](size_t j, ProfileMeasurement measurement) -> absl::Status {
            know(jobs[j].key, measurement);
            return Store(jobs[j], &measurement);
          },
          [&] { return claims_.Renew(); }));
      MW_RETURN_IF_ERROR(claims_.Release());
    }
    return absl::OkStatus();
  }

  ProfileReport Report() {
    report_.environment = environment_;
    report_.mesh = ProfileMeshText(mesh_);
    report_.mesh_devices = mesh_.devices();
    report_.batch_size = space_.batch_size();
    report_.sequence = space_.sequence();
    report_.known = queue_.known() + by_others_;
    report_.complete = report_.missing_reshardings == 0;
    report_.warnings = space_.warnings();
    for (size_t s = 0; s < space_.segments().size(); ++s) {
      const Segment& segment = space_.segments()[s];
      const SegmentState& state = queue_.states()[s];
      SegmentProfile& row = report_.segments.emplace_back();
      row.fingerprint = segment.fingerprint;
      row.times = static_cast<int64_t>(segment.occurrences.size());
      row.blocks = static_cast<int64_t>(segment.blocks.size());
      row.choices = static_cast<double>(segment.entries.size() * segment.exits.size());
      for (const auto& texts : segment.strategy_texts)
        row.choices *= static_cast<double>(texts.size());
      row.measured = state.measured;
      row.failed = state.failed;
      row.skipped = state.too_large + queue_.Hopeless(static_cast<int32_t>(s));
      const bool taken = std::any_of(
          taken_.begin(), taken_.end(),
          [s](const SegmentAndChoice& choice) { return choice.first == static_cast<int32_t>(s); });
      row.complete = queue_.IsComplete(static_cast<int32_t>(s)) && !taken;
      report_.complete &= row.complete;
      if (std::isfinite(state.whole_seconds) || !segment.has_program()) {
        row.whole_forward = state.whole_forward;
        row.whole_backward = state.whole_backward;
        row.whole_update =
            segment.has_program()
                ? std::max(0.0, state.whole_seconds - state.whole_forward - state.whole_backward)
                : 0;
      }
      if (!state.best.has_value()) continue;
      row.best = state.best->key;
      row.best_seconds = state.best_seconds;
      row.best_spread = state.best_spread;
      row.best_predicted = state.best->seconds;
    }
    if (!taken_.empty()) {
      report_.warnings.push_back(absl::StrCat("another profiler is measuring ",
                                              Counted(std::ssize(taken_), "choice"),
                                              ", which this one has left to it"));
    }
    if (report_.failed > 0) {
      report_.warnings.push_back(
          absl::StrCat(Counted(report_.failed, "program"), " could not be measured",
                       report_.failed > 1 ? ", the last: " : ": ", last_error_));
    }
    return std::move(report_);
  }

  const Mesh& mesh_;
  const ProfileEnvironment& environment_;
  const ProfileOptions& options_;
  MeasuringWorker& worker_;
  ProfileDatabase& database_;
  SegmentSpace& space_;
  const Clock::time_point start_;
  double deadline_ = 0;  // seconds from the start
  std::map<KeyText, ProfileMeasurement> known_;
  std::map<KeyText, size_t> runs_before_;  // that there were, if those that failed do not count
  ChoiceQueue queue_;
  MeasuringClaims claims_;
  std::vector<SegmentAndChoice> taken_;  // that others measure
  int64_t reshardings_taken_ = 0;        // likewise
  int64_t by_others_ = 0;                // choices that others measured meanwhile
  std::string last_error_;
  ProfileReport report_;
};

}  // namespace

absl::StatusOr<ProfileReport> ProfileSegments(SegmentSpace& space, const Mesh& mesh,
                                              const ProfileEnvironment& environment,
                                              const ProfileOptions& options,
                                              MeasuringWorker* worker, ProfileDatabase* database) {
  return Profiler(mesh, environment, options, *worker, *database, space).Run();
}

}  // namespace meshwright
