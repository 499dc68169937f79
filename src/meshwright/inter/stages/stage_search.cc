// With a limit on the slowest stage, t, the rest of the objective is a sum and dynamic programming
// finds the least, G(t), over suffixes of the layers and the devices they use (Zheng et al. 2022,
// Alpa, section 5.2, where every possible t is tried). Here the limit is searched by branch and
// bound: of all solutions whose slowest stage lies in (t0, t1] none takes less than
//
//   G(t1) + (B - 1) * (least possible t above t0),
//
// and the solution that G(t1) belongs to is one to beat. Intervals are halved, the one with the
// lowest bound first, until none is left that could hold a better solution.
//
// A suffix is worse than another that uses the same devices if it takes longer and has no fewer
// stages: fewer stages after a stage mean fewer micro-batches in flight. Where memory never binds
// the number of stages plays no part, and none beyond that from which nothing more is in flight.
//
// Before that, pipelines of equal submeshes, balanced as well as may be, give a first solution to
// beat; without one the first evaluations, whose limits exclude little, would be slow.
//
// One evaluation of G takes O(L^2 M D) for L layers, M submeshes and D devices, less what cannot be
// completed: suffixes that leave too few or too many devices for the layers before them. One that
// is cut off says nothing; its interval keeps the bound it had.

#include "meshwright/inter/stages/stage_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "meshwright/base/infinity.h"
#include "meshwright/inter/stages/device_codes.h"
#include "meshwright/inter/stages/stage_choices.h"

namespace meshwright {
namespace {

// Sums are rounded: a bound that is not exceeded must not seem to be.
constexpr double kBelow = 1 - 1e-12;
// States that are extended before it asks again whether to stop.
constexpr size_t kStatesBetweenLooks = 4096;

// A suffix of the layers, cut into stages.
struct Suffix {
  double seconds = 0;
  double tail = 0;     // left to do once a step when the backward phases have ended
  int32_t stages = 0;  // that matter, see CountedStages
  int32_t end = 0;     // of the first stage
  int32_t submesh = 0, option = 0;
  int32_t rest = -1;  // the suffix after that stage
  int32_t next = -1;  // with the same layers and devices
};

class StageSearch {
 public:
  explicit StageSearch(const StageSearchInput& input)
      : in_(input), codes_(input), choices_(input), seconds_(choices_.seconds()) {}

  StageSearchResult Run() {
    if (choices_.seconds().empty()) return {};
    Search();
    if (best_.stages.empty()) best_ = {};
    best_.steps = steps_;
    return std::move(best_);
  }

 private:
  bool Late() const { return steps_ >= in_.max_steps || (in_.stop && in_.stop()); }

  // ---- limits ----

  // Slowest stages that take seconds_[t0..t1].
  struct Interval {
    double bound = 0;
    int32_t t0 = 0, t1 = 0;
    bool operator<(const Interval& other) const {  // the lowest bound on top of the queue
      return std::tie(bound, t0) > std::tie(other.bound, other.t0);
    }
  };

  double Waiting(int32_t t) const {
    return static_cast<double>(in_.micro_batches - 1) * seconds_[t];
  }

  void Search() {
    best_.seconds = in_.below > 0 ? in_.below : kInfinity;
    for (size_t m = 0; m < in_.submeshes.size(); ++m) TryUniform(m);
    std::priority_queue<Interval> intervals;
    const auto add = [&](int32_t t0, int32_t t1, double bound, double least) {
      bound = std::max(bound, least + Waiting(t0));
      if (bound < best_.seconds) intervals.push({bound, t0, t1});
    };
    add(0, static_cast<int32_t>(seconds_.size()) - 1, 0, 0);
    while (!intervals.empty() && intervals.top().bound < best_.seconds && !Late()) {
      Interval interval = intervals.top();
      intervals.pop();
      // The slowest stage counts as often as there are micro-batches, what is filled once less.
      const auto times = static_cast<double>(in_.micro_batches - (choices_.filled() ? 1 : 0));
      while (interval.t1 > interval.t0 && times * seconds_[interval.t1] >= best_.seconds)
        --interval.t1;
      const double least = Solve(interval);
      if (cut_) {
        intervals.push(interval);  // its bound still holds
        break;
      }
      if (least == kInfinity || interval.t0 == interval.t1) continue;
      const int32_t middle = Middle(interval.t0, interval.t1);
      add(interval.t0, middle, interval.bound, least);
      add(middle + 1, interval.t1, interval.bound, least);
    }
    best_.bound = best_.seconds;
    if (!intervals.empty()) best_.bound = std::min(best_.bound, intervals.top().bound);
  }

  // The last index of the lower half of seconds_[a..b], a < b, by value.
  int32_t Middle(int32_t a, int32_t b) const {
    const double middle = seconds_[a] + (seconds_[b] - seconds_[a]) / 2;
    const auto it = std::upper_bound(seconds_.begin() + a, seconds_.begin() + b, middle);
    return std::clamp(static_cast<int32_t>(it - seconds_.begin()) - 1, a, b - 1);
  }

  // ---- equal submeshes ----

  // The balanced pipeline of stages that all get submesh `m`: the slowest is as fast as it can be.
  void TryUniform(size_t m) {
    const SubmeshChoice& devices = in_.submeshes[m];
    for (size_t t = 0; t < in_.devices.size(); ++t) {
      const bool used = devices.type == static_cast<int32_t>(t);
      if (in_.devices[t] % (used ? devices.devices : 1) != 0 || (!used && in_.devices[t] > 0))
        return;
    }
    const int64_t count = in_.devices[devices.type] / devices.devices;
    if (count < 1 || count > in_.layers || (in_.stages > 0 && count != in_.stages)) return;
    const auto stages = static_cast<int32_t>(count);
    // slowest[s][l]: of the last s stages, which begin at layer l.
    std::vector<std::vector<double>> slowest(stages + 1,
                                             std::vector<double>(in_.layers + 1, kInfinity));
    std::vector<std::vector<int32_t>> ends(stages + 1, std::vector<int32_t>(in_.layers + 1, -1));
    slowest[0][in_.layers] = 0;
    for (int32_t s = 1; s <= stages; ++s) {
      for (int32_t begin = 0; begin + s <= in_.layers; ++begin) {
        for (int32_t end = begin + 1; end <= in_.layers; ++end) {
          if (slowest[s - 1][end] == kInfinity) continue;
          const StageChoice* const c = choices_.Fastest(begin, end, m, s - 1);
          if (c == nullptr) continue;
          const double time = std::max(slowest[s - 1][end], c->seconds);
          if (time >= slowest[s][begin]) continue;
          slowest[s][begin] = time;
          ends[s][begin] = end;
        }
      }
    }
    if (slowest[stages][0] == kInfinity) return;
    std::vector<ChosenStage> chosen;
    int32_t begin = 0;
    for (int32_t s = stages; s > 0; --s) {
      const int32_t end = ends[s][begin];
      const StageChoice* const c = choices_.Fastest(begin, end, m, s - 1);
      chosen.push_back({begin, end, static_cast<int32_t>(m), c->option});
      begin = end;
    }
    Consider(std::move(chosen));
  }

  // ---- dynamic programming ----

  bool Allowed(const StageChoice& choice, const Interval& interval) const {
    return choice.seconds <= seconds_[interval.t1];
  }

  // The least sum of stages within the upper limit of `interval`; infinite if there is no solution
  // or none that would be better than the best. Updates the best.
  double Solve(const Interval& interval) {
    suffixes_.clear();
    states_.assign(in_.layers + 1, {});
    MeasurePrefixes(interval);
    suffixes_.push_back({.end = in_.layers});
    states_[in_.layers].push_back({0, 0});
    for (int32_t begin = in_.layers - 1; begin >= 0; --begin) {
      if (prefix_seconds_[begin] == kInfinity) continue;
      if (Late()) cut_ = true;
      if (cut_) return kInfinity;
      slots_.Clear(codes_.count());
      std::vector<State>& states = states_[begin];
      for (int32_t end = begin + 1; end <= in_.layers; ++end) {
        if (states_[end].empty()) continue;
        for (size_t m = 0; m < in_.submeshes.size(); ++m) {
          const std::span<const StageChoice> choices = choices_.Of(begin, end, m);
          if (!choices.empty()) Extend(interval, begin, end, m, choices, &states);
          if (cut_) return kInfinity;
        }
      }
    }
    return Judge();
  }

  struct State {
    int64_t code = 0;
    int32_t first = 0;  // suffix
  };

  void Extend(const Interval& interval, int32_t begin, int32_t end, size_t submesh,
              std::span<const StageChoice> choices, std::vector<State>* states) {
    if (!Allowed(choices.front(), interval)) return;  // the fastest
    const SubmeshChoice& devices = in_.submeshes[submesh];
    const int64_t code = codes_.Of(devices);
    for (size_t s = 0; s < states_[end].size(); ++s) {
      if (s % kStatesBetweenLooks == kStatesBetweenLooks - 1 && Late()) cut_ = true;
      if (cut_) return;
      const State state = states_[end][s];
      if (codes_.Used(state.code, devices.type) + devices.devices > in_.devices[devices.type])
        continue;
      const int64_t used = state.code + code;
      const double most = best_.seconds - LeastBefore(interval, begin, used);
      if (most <= 0) continue;
      for (int32_t rest = state.first; rest >= 0; rest = suffixes_[rest].next) {
        const int32_t stages = suffixes_[rest].stages;
        if (in_.stages > 0 && stages + 1 > in_.stages) continue;
        ++steps_;
        for (const StageChoice& choice : choices) {
          if (!Allowed(choice, interval)) break;
          const double seconds = suffixes_[rest].seconds + choice.added;
          if (seconds >= most && !choices_.filled()) break;  // they are in order
          if (seconds >= most || choices_.Full(choice, stages)) continue;
          Add({seconds, Tail(choice, suffixes_[rest].tail), CountedStages(stages + 1), end,
               static_cast<int32_t>(submesh), choice.option, rest},
              used, states);
        }
      }
    }
  }

  // The tail of a stage with `choice` and the stages after it, whose tail is `rest`.
  static double Tail(const StageChoice& choice, double rest) {
    return std::max(choice.once, rest - choice.backward);
  }

  int32_t CountedStages(int32_t stages) const { return std::min(stages, choices_.counted()); }

  // What the layers before `begin` add to the objective at least, waiting for the slowest included,
  // if they get the devices that `used` leaves; infinite if those are too few or too many. Stages
  // on n devices that take t seconds are n * t seconds of work, so the slowest, and all together,
  // take no less than the least possible work divided by the devices.
  double LeastBefore(const Interval& interval, int32_t begin, int64_t used) const {
    int64_t left = 0;
    for (size_t t = 0; t < in_.devices.size(); ++t) left += in_.devices[t] - codes_.Used(used, t);
    if (left < prefix_least_[begin] || left > prefix_most_[begin]) return kInfinity;
    if (begin == 0) return Waiting(interval.t0);
    const double spread = prefix_work_[begin] / static_cast<double>(left) * kBelow;
    if (spread > seconds_[interval.t1]) return kInfinity;
    const double added =
        choices_.filled() ? prefix_added_[begin] / static_cast<double>(left) * kBelow : spread;
    return std::max(prefix_seconds_[begin], added) +
           static_cast<double>(in_.micro_batches - 1) * std::max(seconds_[interval.t0], spread);
  }

  // For the layers before each: the least sum of seconds, the least work in device-seconds, in all
  // and without what is filled, and the least and most devices of stages within the limits.
  void MeasurePrefixes(const Interval& interval) {
    prefix_seconds_.assign(in_.layers + 1, kInfinity);
    prefix_least_.assign(in_.layers + 1, std::numeric_limits<int64_t>::max());
    prefix_most_.assign(in_.layers + 1, -1);
    prefix_work_.assign(in_.layers + 1, kInfinity);
    prefix_added_.assign(in_.layers + 1, kInfinity);
    prefix_seconds_[0] = prefix_work_[0] = prefix_added_[0] = 0;
    prefix_least_[0] = prefix_most_[0] = 0;
    for (int32_t begin = 0; begin < in_.layers; ++begin) {
      if (prefix_seconds_[begin] == kInfinity) continue;
      for (int32_t end = begin + 1; end <= in_.layers; ++end) {
        for (size_t m = 0; m < in_.submeshes.size(); ++m) {
          for (const StageChoice& choice : choices_.Of(begin, end, m)) {
            if (!Allowed(choice, interval)) continue;
            const int64_t devices = in_.submeshes[m].devices;
            prefix_seconds_[end] =
                std::min(prefix_seconds_[end], prefix_seconds_[begin] + choice.added);
            prefix_work_[end] =
                std::min(prefix_work_[end],
                         prefix_work_[begin] + choice.seconds * static_cast<double>(devices));
            prefix_added_[end] =
                std::min(prefix_added_[end],
                         prefix_added_[begin] + choice.added * static_cast<double>(devices));
            prefix_least_[end] = std::min(prefix_least_[end], prefix_least_[begin] + devices);
            prefix_most_[end] = std::max(prefix_most_[end], prefix_most_[begin] + devices);
            if (!choices_.filled()) break;  // the cheapest; devices are the same for all
          }
        }
      }
    }
  }

  // Adds a suffix unless one with the same devices is as good, and drops those it dominates.
  void Add(const Suffix& suffix, int64_t code, std::vector<State>* states) {
    const bool exact = in_.stages > 0;
    int32_t& slot = slots_.At(code);
    if (slot < 0) {
      slot = static_cast<int32_t>(states->size());
      states->push_back({code, -1});
    }
    int32_t* link = &(*states)[slot].first;
    while (*link >= 0) {
      ++steps_;
      const Suffix& known = suffixes_[*link];
      const bool fewer = exact ? known.stages == suffix.stages : known.stages <= suffix.stages;
      if (fewer && AsGood(known, suffix)) return;
      const bool more = exact ? known.stages == suffix.stages : known.stages >= suffix.stages;
      if (more && AsGood(suffix, known)) {
        *link = known.next;
      } else {
        link = &suffixes_[*link].next;
      }
    }
    *link = static_cast<int32_t>(suffixes_.size());
    suffixes_.push_back(suffix);
  }

  static bool AsGood(const Suffix& a, const Suffix& b) {
    return a.seconds + std::max(0.0, a.tail - b.tail) <= b.seconds;
  }

  double Judge() {
    double least = kInfinity;
    for (const State& state : states_[0]) {
      if (state.code != codes_.all()) continue;
      for (int32_t s = state.first; s >= 0; s = suffixes_[s].next) {
        if (in_.stages > 0 && suffixes_[s].stages != in_.stages) continue;
        const double seconds = suffixes_[s].seconds + suffixes_[s].tail;
        if (seconds >= least) continue;
        least = seconds;
        Consider(StagesOf(s));
      }
    }
    return least;
  }

  std::vector<ChosenStage> StagesOf(int32_t suffix) const {
    std::vector<ChosenStage> stages;
    int32_t begin = 0;
    for (int32_t s = suffix; suffixes_[s].rest >= 0; s = suffixes_[s].rest) {
      stages.push_back({begin, suffixes_[s].end, suffixes_[s].submesh, suffixes_[s].option});
      begin = suffixes_[s].end;
    }
    return stages;
  }

  void Consider(std::vector<ChosenStage> stages) {
    double sum = 0, slowest = 0, tail = 0;
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
      const StageChoice& choice = choices_.Of(*stage);
      sum += choice.added;
      slowest = std::max(slowest, choice.seconds);
      tail = Tail(choice, tail);
    }
    const double seconds = sum + static_cast<double>(in_.micro_batches - 1) * slowest + tail;
    if (seconds >= best_.seconds) return;
    best_.seconds = seconds;
    best_.stages = std::move(stages);
  }

  const StageSearchInput& in_;
  const DeviceCodes codes_;
  const StageChoices choices_;
  const std::vector<double>& seconds_;  // of all choices, ascending
  bool cut_ = false;                    // it was stopped, or took the most steps, in an evaluation
  int64_t steps_ = 0;
  std::vector<double> prefix_seconds_, prefix_work_, prefix_added_;
  std::vector<int64_t> prefix_least_, prefix_most_;
  std::vector<Suffix> suffixes_;
  std::vector<std::vector<State>> states_;  // by first layer
  CodeSlots slots_;
  StageSearchResult best_;
};

}  // namespace

StageSearchResult SearchStages(const StageSearchInput& input) {
  if (input.layers < 1 || !DeviceCodes(input).possible()) return {};
  return StageSearch(input).Run();
}

}  // namespace meshwright
