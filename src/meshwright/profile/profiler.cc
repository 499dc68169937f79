#include "meshwright/profile/profiler.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/profile/segment_space.h"
#include "meshwright/profile/worker_job.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

// Shares of the budget after which the reshardings are measured that occur by then.
constexpr double kReshardingTimes[] = {0.5, 0.93};
// What runs with collectives beside kernels takes no less than half of what it takes one by one.
constexpr double kMostHidden = 0.5;
// Choices are predicted in time; a prediction may be off by this.
constexpr double kMemorySlack = 1.2;
// Choices that are looked at ahead of what is measured, so that the worker never waits for long.
constexpr size_t kAhead = 64;

using KeyText = std::tuple<std::string, std::string, std::string>;
KeyText TextOf(const ProfileKey& key) { return {key.program, key.mesh, key.choice}; }

class Profiler {
 public:
  Profiler(const Mesh& mesh, const CostModel& cost_model, const ProfileEnvironment& environment,
           const ProfileOptions& options, MeasuringWorker& worker, ProfileDatabase& database,
           SegmentSpace& space)
      : mesh_(mesh),
        cost_model_(cost_model),
        environment_(environment),
        options_(options),
        worker_(worker),
        database_(database),
        space_(space),
        start_(Clock::now()),
        states_(space.segments().size()) {}

  absl::StatusOr<ProfileReport> Run() {
    MW_RETURN_IF_ERROR(ReadKnown());
    FindMoves();
    for (double share : kReshardingTimes) {
      deadline_ = options_.budget_seconds * share;
      MW_RETURN_IF_ERROR(MeasureSegments());
      deadline_ = options_.budget_seconds;
      MW_RETURN_IF_ERROR(MeasureReshardings());
    }
    return Report();
  }

  bool MustStop() const { return (options_.stop && options_.stop()) || Seconds() > deadline_; }

 private:
  // A segment on its way.
  struct State {
    std::deque<PredictedChoice> ahead;  // not measured yet, cheapest first
    bool exhausted = false;             // the search has no more
    double best_predicted = 0;          // the first
    double best_measured = std::numeric_limits<double>::infinity();
    PredictedChoice best;
    double best_spread = 0;
    double over = 0;   // the most that was predicted for what was measured, as a ratio
    double moves = 0;  // R of profiler.h
    int64_t measured = 0, failed = 0, skipped = 0;
    std::set<std::string> entries, exits;  // of measured choices
  };

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  absl::Status ReadKnown() {
    MW_ASSIGN_OR_RETURN(const std::optional<int64_t> number, database_.NumberOf(environment_));
    if (!number.has_value()) return absl::OkStatus();
    ProfileFilter filter;
    filter.environment = *number;
    filter.mesh = ProfileMeshText(mesh_);
    MW_ASSIGN_OR_RETURN(const std::vector<Profile> profiles, database_.Find(filter));
    for (const Profile& profile : profiles) known_[TextOf(profile.key)] = profile.Pooled();
    return absl::OkStatus();
  }

  // R of profiler.h.
  void FindMoves() {
    const auto dearest = [&](int32_t segment, const std::vector<std::string>& layouts) {
      double most = 0;
      for (const std::string& from : layouts) {
        for (const std::string& to : layouts) {
          const absl::StatusOr<double> seconds = space_.ReshardSeconds(segment, from, to);
          if (seconds.ok()) most = std::max(most, *seconds);
        }
      }
      return 2 * most;
    };
    const std::vector<int32_t>& sequence = space_.sequence();
    for (size_t p = 0; p + 1 < sequence.size(); ++p) {
      const double seconds = dearest(sequence[p], space_.segments()[sequence[p]].exits);
      for (int32_t segment : {sequence[p], sequence[p + 1]}) {
        double& moves = states_[segment].moves;
        moves = std::max(moves, 2 * seconds);
      }
    }
  }

  ProfileKey KeyOf(int32_t segment, const std::string& choice) const {
    return {space_.segments()[segment].fingerprint, ProfileMeshText(mesh_), choice};
  }

  // Predicted seconds from which a choice cannot be best.
  static double HopelessFrom(const State& state) {
    if (state.measured == 0) return std::numeric_limits<double>::infinity();
    return (state.best_measured + state.moves) * state.over * kModelSlack;
  }

  bool CannotFit(const PredictedChoice& choice) const {
    return static_cast<double>(choice.peak_bytes()) >
           kMemorySlack * static_cast<double>(cost_model_.mesh().cluster.device.memory_bytes);
  }

  void Count(int32_t segment, const PredictedChoice& choice,
             const ProfileMeasurement& measurement) {
    State& state = states_[segment];
    if (measurement.status != MeasurementStatus::kMeasured) {
      ++state.failed;
      return;
    }
    ++state.measured;
    state.entries.insert(choice.choice.entry);
    state.exits.insert(choice.choice.exit);
    if (measurement.seconds > 0)
      state.over = std::max(state.over, choice.seconds / measurement.seconds);
    if (measurement.seconds < state.best_measured) {
      state.best_measured = measurement.seconds;
      state.best_spread = measurement.spread;
      state.best = choice;
    }
  }

  // Looks at one more choice of a segment; false: there is none that is worth it.
  absl::StatusOr<bool> LookAhead(int32_t segment) {
    State& state = states_[segment];
    if (state.exhausted) return false;
    MW_ASSIGN_OR_RETURN(const std::optional<PredictedChoice> next, space_.Next(segment));
    // All that follow have a higher objective.
    if (!next.has_value() || kMostHidden * next->objective > HopelessFrom(state)) {
      state.exhausted = true;
      return false;
    }
    if (state.best_predicted == 0) state.best_predicted = next->seconds;
    if (const auto found = known_.find(TextOf(KeyOf(segment, next->key))); found != known_.end()) {
      ++report_.known;
      Count(segment, *next, found->second);
    } else if (CannotFit(*next)) {
      ++state.skipped;
    } else {
      state.ahead.push_back(*next);
    }
    return true;
  }

  // The segment whose next choice is nearest to its best; -1: none is left.
  absl::StatusOr<int32_t> MostPromising() {
    int32_t most = -1;
    double least = 0;
    for (int32_t s = 0; s < static_cast<int32_t>(states_.size()); ++s) {
      State& state = states_[s];
      const auto hopeless = [&] {
        return !state.ahead.empty() && state.ahead.front().seconds > HopelessFrom(state);
      };
      while ((state.ahead.empty() || hopeless()) && !MustStop()) {
        if (hopeless()) {
          ++state.skipped;
          state.ahead.pop_front();
          continue;
        }
        MW_ASSIGN_OR_RETURN(const bool more, LookAhead(s));
        if (!more) break;
      }
      if (state.ahead.empty()) continue;
      const double regret = state.ahead.front().seconds / std::max(state.best_predicted, 1e-12);
      if (most < 0 || regret < least) {
        most = s;
        least = regret;
      }
    }
    return most;
  }

  // One more choice of the segment that is least far ahead.
  absl::Status LookFurtherAhead() {
    int32_t least = -1;
    for (int32_t s = 0; s < static_cast<int32_t>(states_.size()); ++s) {
      const State& state = states_[s];
      if (state.exhausted || state.ahead.size() >= kAhead) continue;
      if (least < 0 || state.ahead.size() < states_[least].ahead.size()) least = s;
    }
    return least < 0 ? absl::OkStatus() : LookAhead(least).status();
  }

  absl::Status MeasureSegments() {
    while (!MustStop()) {
      std::vector<std::pair<int32_t, PredictedChoice>> chosen;
      std::vector<WorkerJob> jobs;
      while (static_cast<int>(jobs.size()) < options_.batch && !MustStop()) {
        MW_ASSIGN_OR_RETURN(const int32_t segment, MostPromising());
        if (segment < 0) break;
        State& state = states_[segment];
        PredictedChoice choice = std::move(state.ahead.front());
        state.ahead.pop_front();
        MW_ASSIGN_OR_RETURN(const IntraPlan plan, space_.Plan(segment, choice.choice));
        MW_ASSIGN_OR_RETURN(WorkerJob job, SegmentJob(space_.segments()[segment].slice, mesh_, plan,
                                                      KeyOf(segment, choice.key)));
        job.description = absl::StrCat("segment ", segment, " of ", states_.size());
        jobs.push_back(std::move(job));
        chosen.emplace_back(segment, std::move(choice));
      }
      if (jobs.empty()) break;
      std::vector<const WorkerJob*> pointers;
      for (const WorkerJob& job : jobs) pointers.push_back(&job);
      MW_RETURN_IF_ERROR(worker_.Measure(
          pointers,
          [&](size_t j, ProfileMeasurement measurement) -> absl::Status {
            MW_RETURN_IF_ERROR(Store(jobs[j], &measurement));
            Count(chosen[j].first, chosen[j].second, measurement);
            return absl::OkStatus();
          },
          [&] { return LookFurtherAhead(); }));
    }
    return absl::OkStatus();
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
    progress.known = report_.known;
    progress.failed = report_.failed;
    progress.what = what;
    options_.progress(progress);
  }

  absl::Status MeasureReshardings() {
    const std::vector<int32_t>& sequence = space_.sequence();
    std::set<std::tuple<std::string, std::string, std::string>> wanted;  // shape, from, to
    std::vector<std::pair<double, std::tuple<std::string, std::string, std::string>>> order;
    for (size_t p = 0; p + 1 < sequence.size(); ++p) {
      const Segment& before = space_.segments()[sequence[p]];
      const Segment& after = space_.segments()[sequence[p + 1]];
      if (before.exit_shape.empty() || before.exit_shape != after.entry_shape) continue;
      const auto want = [&](const std::string& from, const std::string& to) {
        if (from == to || !wanted.emplace(before.exit_shape, from, to).second) return;
        const absl::StatusOr<double> seconds = space_.ReshardSeconds(sequence[p], from, to);
        order.push_back({seconds.value_or(0.0), {before.exit_shape, from, to}});
      };
      for (const std::string& exit : states_[sequence[p]].exits) {
        for (const std::string& entry : states_[sequence[p + 1]].entries) {
          want(exit, entry);  // activations
          want(entry, exit);  // their gradients
        }
      }
    }
    std::sort(order.begin(), order.end());
    std::vector<WorkerJob> jobs;
    int64_t reshardings = 0;
    for (const auto& [seconds, move] : order) {
      const auto& [shape, from, to] = move;
      MW_ASSIGN_OR_RETURN(WorkerJob job, ReshardingJob(shape, mesh_, from, to));
      if (known_.contains(TextOf(job.key))) {
        ++reshardings;
      } else {
        jobs.push_back(std::move(job));
      }
    }
    size_t next = 0, measured = 0;
    while (next < jobs.size() && !MustStop()) {
      std::vector<const WorkerJob*> batch;
      const size_t first = next;
      const auto most = static_cast<size_t>(std::max(options_.batch, 1));
      while (next < jobs.size() && batch.size() < most) batch.push_back(&jobs[next++]);
      MW_RETURN_IF_ERROR(worker_.Measure(
          batch,
          [&](size_t j, ProfileMeasurement measurement) -> absl::Status {
            ++measured;
            reshardings += measurement.status == MeasurementStatus::kMeasured;
            known_[TextOf(jobs[first + j].key)] = measurement;
            return Store(jobs[first + j], &measurement);
          },
          [] { return absl::OkStatus(); }));
    }
    report_.reshardings = reshardings;
    reshardings_complete_ = measured == jobs.size();
    return absl::OkStatus();
  }

  ProfileReport Report() {
    report_.environment = environment_;
    report_.mesh = ProfileMeshText(mesh_);
    report_.sequence = space_.sequence();
    report_.complete = reshardings_complete_;
    report_.warnings = space_.warnings();
    for (size_t s = 0; s < states_.size(); ++s) {
      const Segment& segment = space_.segments()[s];
      const State& state = states_[s];
      SegmentProfile& row = report_.segments.emplace_back();
      row.fingerprint = segment.fingerprint;
      row.times = static_cast<int64_t>(segment.occurrences.size());
      row.blocks = static_cast<int64_t>(segment.blocks.size());
      row.choices = static_cast<double>(segment.entries.size() * segment.exits.size());
      for (const auto& texts : segment.strategy_texts)
        row.choices *= static_cast<double>(texts.size());
      row.measured = state.measured;
      row.failed = state.failed;
      row.skipped = state.skipped;
      row.complete = state.exhausted && state.ahead.empty();
      report_.complete &= row.complete;
      if (state.measured == 0) continue;
      row.best = state.best.key;
      row.best_seconds = state.best_measured;
      row.best_spread = state.best_spread;
      row.best_predicted = state.best.seconds;
    }
    if (report_.failed > 0) {
      report_.warnings.push_back(
          absl::StrCat(report_.failed, " programs could not be measured, the last: ", last_error_));
    }
    return std::move(report_);
  }

  const Mesh& mesh_;
  const CostModel& cost_model_;
  const ProfileEnvironment& environment_;
  const ProfileOptions& options_;
  MeasuringWorker& worker_;
  ProfileDatabase& database_;
  SegmentSpace& space_;
  const Clock::time_point start_;
  double deadline_ = 0;
  std::map<KeyText, ProfileMeasurement> known_;
  std::vector<State> states_;
  bool reshardings_complete_ = false;
  std::string last_error_;
  ProfileReport report_;
};

}  // namespace

absl::StatusOr<ProfileReport> ProfileSegments(const Graph& graph, const Mesh& mesh,
                                              const CostModel& cost_model,
                                              const ProfileEnvironment& environment,
                                              const ProfileOptions& options,
                                              MeasuringWorker* worker, ProfileDatabase* database) {
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentSpace> space,
                      SegmentSpace::Make(graph, mesh, cost_model));
  return Profiler(mesh, cost_model, environment, options, *worker, *database, *space).Run();
}

}  // namespace meshwright
