#include "meshwright/degrees/degrees_search.h"

#include <algorithm>
#include <map>
#include <utility>

namespace meshwright::transformer {
namespace {

bool DiffersInRangeOnly(const Configuration& a, Configuration b) {
  b.offload_percent = a.offload_percent;
  b.offload_layers = a.offload_layers;
  b.recompute_layers = a.recompute_layers;
  b.recompute_stages = a.recompute_stages;
  return a == b;
}

// A bound of all configurations that differ in ZeRO and in how much is offloaded only, from the one
// without ZeRO that offloads all.
StepBound BoundOf(const StepFigures& cost) {
  const StepTime& time = cost.time;
  return {time.seconds - time.data_communication - time.host_communication - time.optimizer,
          cost.kept_bytes};
}

// Calls visit(member, recompute ranges, amounts) for each recomputation and offload of each family
// that has configurations, while that returns true.
template <typename Visit>
void ForEachMember(const Space& space, const Space::Degrees& degrees, const Visit& visit) {
  for (Configuration member : space.Families(degrees)) {
    for (const Recompute recompute : space.Recomputes()) {
      member.recompute = recompute;
      const std::vector<Space::RecomputeRange> ranges = space.RecomputeRanges(member, recompute);
      if (ranges.empty()) continue;
      for (const Space::Offload& offload : space.Offloads()) {
        member.offload_optimizer = offload.optimizer;
        member.offload_activations = offload.activations;
        Space::Amounts amounts = space.AmountsOf(member, offload);
        if (amounts.count() > 0 && !visit(member, ranges, std::move(amounts))) return;
      }
    }
  }
}

// Those of the members of one degrees, which change with tp2 only.
class LayoutsOf {
 public:
  LayoutsOf(const Space& space, const Space::Degrees& degrees) : space_(space), degrees_(degrees) {}
  const std::vector<Space::Layout>& At(int64_t tp2) {
    if (tp2 != tp2_) {
      tp2_ = tp2;
      layouts_ = space_.Placements(degrees_, tp2);
    }
    return layouts_;
  }

 private:
  const Space& space_;
  const Space::Degrees& degrees_;
  int64_t tp2_ = 0;
  std::vector<Space::Layout> layouts_;
};

}  // namespace

void BestConfigurations::Add(const RankedConfiguration& one) {
  const auto before = [this](const RankedConfiguration& a, const RankedConfiguration& b) {
    return RanksBefore(ranking_, a, b);
  };
  if (full() && !before(one, found_.back())) return;
  const auto same = std::find_if(found_.begin(), found_.end(), [&](const auto& other) {
    return DiffersInRangeOnly(one.configuration, other.configuration);
  });
  if (same != found_.end()) {
    if (!before(one, *same)) return;
    found_.erase(same);
  }
  found_.insert(std::lower_bound(found_.begin(), found_.end(), one, before), one);
  if (found_.size() > size_) found_.pop_back();
}

// Finds how much of one configuration is offloaded at best. By time that is the least that fits, by
// memory the most that the host can hold: for each percentage one number of layers, or more where
// they are equal.
class DegreesSearch::AmountsSearch {
 public:
  AmountsSearch(DegreesSearch& search, Configuration member, const CostFunction& cost_of)
      : search_(search),
        amounts_(search.amounts_),
        row_(search.row_),
        member_(std::move(member)),
        cost_of_(cost_of) {}

  void Run() {
    if (search_.best_.ranking() == Ranking::kTime) {
      RunByTime();
    } else {
      RunByMemory();
    }
    search_.counts_.evaluated += costed_;
    search_.counts_.pruned += amounts_.count() - costed_;
  }

 private:
  void Start(int64_t percent) {
    member_.offload_percent = percent;
    if (row_.size() < amounts_.layers.size()) row_.resize(amounts_.layers.size());
    ++search_.rows_;
  }
  const StepFigures& Figures(size_t layers) {
    Costed& one = row_[layers];
    if (one.row == search_.rows_) return one.figures;
    ++costed_;
    member_.offload_layers = amounts_.layers[layers];
    one = {search_.rows_, cost_of_(member_)};
    return one.figures;
  }
  // Whether it may be taken.
  bool Add(size_t layers) {
    const StepFigures& figures = Figures(layers);
    member_.offload_layers = amounts_.layers[layers];
    return search_.Add(member_, figures);
  }

  // The first number of layers from which on `holds`, or one more than all.
  template <typename Predicate>
  size_t First(const Predicate& holds) {
    size_t low = 0, high = amounts_.layers.size();
    if (holds(Figures(0))) return 0;
    if (!holds(Figures(high - 1))) return high;
    --high;
    while (high - low > 1) {
      const size_t middle = (low + high) / 2;
      (holds(Figures(middle)) ? high : low) = middle;
    }
    return high;
  }

  void RunByTime() {
    const auto fits = [&](const StepFigures& f) { return f.peak_bytes <= search_.budget_; };
    for (const int64_t percent : amounts_.percents) {
      Start(percent);
      if (Figures(0).time.seconds > search_.best_.most_seconds()) return;
      size_t layers = First(fits);
      bool is_taken = false;
      const bool least = layers == 0;
      double seconds = 0;
      for (; layers < amounts_.layers.size(); ++layers) {
        if (is_taken && Figures(layers).time.seconds != seconds) break;
        if (!Add(layers)) continue;
        is_taken = true;
        seconds = Figures(layers).time.seconds;
      }
      if (least && is_taken) return;
    }
  }

  void RunByMemory() {
    const auto is_full = [&](const StepFigures& f) { return f.host_bytes > search_.host_; };
    for (const int64_t percent : amounts_.percents) {
      Start(percent);
      size_t layers = First(is_full);
      if (layers == 0) return;
      bool is_taken = false;
      int64_t bytes = 0;
      while (layers-- > 0) {
        if (is_taken && Figures(layers).peak_bytes != bytes) break;
        if (!Add(layers)) continue;
        is_taken = true;
        bytes = Figures(layers).peak_bytes;
      }
    }
  }

  DegreesSearch& search_;
  const Space::Amounts& amounts_;
  std::vector<Costed>& row_;  // by number of layers, of the percentage at hand
  Configuration member_;
  const CostFunction& cost_of_;
  int64_t costed_ = 0;
};

int64_t DegreesSearch::CountOf(Configuration family) const {
  int64_t ranges = 0, amounts = 0;
  for (const Recompute recompute : space_.Recomputes()) {
    ranges += std::ssize(space_.RecomputeRanges(family, recompute));
  }
  for (const Space::Offload& offload : space_.Offloads()) {
    amounts += space_.AmountsOf(family, offload).count();
  }
  return ranges * amounts;
}

DegreesSummary DegreesSearch::Summary(const Space::Degrees& degrees,
                                      const CostFunctions& costs) const {
  DegreesSummary summary;
  const int64_t shardings = std::ssize(space_.Shardings(degrees));
  LayoutsOf layouts(space_, degrees);
  std::map<std::pair<bool, int64_t>, int64_t> counts;  // of families, by what these depend on
  StepBound& least = summary.least;
  const bool by_time = best_.ranking() == Ranking::kTime;
  // Whether nothing of a family that takes at least `seconds` can change the summary.
  const auto settled = [&](double seconds) { return by_time && seconds >= least.seconds; };
  for (Configuration member : space_.Families(degrees)) {
    int64_t& count = counts[{member.ends_as_layers, member.virtual_stages}];
    if (count == 0) count = CountOf(member);
    summary.legal += count * shardings * std::ssize(layouts.At(member.tp2));
    const double seconds = by_time ? costs.least_of_family(member) : 0;
    member.offload_percent = member.offload_layers = 0;
    member.recompute_layers = member.recompute_stages = 0;
    for (const Recompute recompute : space_.Recomputes()) {
      member.recompute = recompute;
      for (const Space::Offload& offload : space_.Offloads()) {
        member.offload_optimizer = offload.optimizer;
        member.offload_activations = offload.activations;
        if (settled(seconds)) continue;
        const StepBound bound = costs.least_of_ranges(member);
        if (bound.bytes > budget_) continue;
        least.seconds = std::min(least.seconds, bound.seconds);
        least.bytes = std::min(least.bytes, bound.bytes);
      }
    }
  }
  return summary;
}

bool DegreesSearch::Run(const Space::Degrees& degrees, const CostFunctions& costs) {
  const std::vector<Space::Sharding> shardings = space_.Shardings(degrees);
  LayoutsOf layouts(space_, degrees);
  ForEachMember(space_, degrees,
                [&](const Configuration& member, const std::vector<Space::RecomputeRange>& ranges,
                    Space::Amounts amounts) {
                  amounts_ = std::move(amounts);
                  RunRecomputeRanges(layouts.At(member.tp2), shardings, ranges, member, costs);
                  return !stopped_;
                });
  return !stopped_;
}

bool DegreesSearch::Stopped() {
  stopped_ = stopped_ || (options_.stop && options_.stop());
  return stopped_;
}

void DegreesSearch::RunRecomputeRanges(const std::vector<Space::Layout>& layouts,
                                       const std::vector<Space::Sharding>& shardings,
                                       const std::vector<Space::RecomputeRange>& ranges,
                                       Configuration member, const CostFunctions& costs) {
  const int64_t members = std::ssize(shardings) * std::ssize(layouts) * amounts_.count();
  size_t i = 0;
  if (ranges[0].layers == 0 && ranges[0].stages == 0) {
    member.recompute_layers = 0;
    member.recompute_stages = 0;
    RunPlacements(layouts, shardings, member, costs);
    ++i;
  }
  if (i == ranges.size()) return;
  if (Excludes(costs.least_of_ranges(member))) {
    counts_.pruned += members * static_cast<int64_t>(ranges.size() - i);
    return;
  }
  for (; i < ranges.size() && !Stopped(); ++i) {
    const Space::RecomputeRange& range = ranges[i];
    member.recompute_layers = range.layers;
    member.recompute_stages = range.stages;
    if (RunPlacements(layouts, shardings, member, costs) || range.layers == 0) continue;
    // More layers of the same groups take longer still.
    while (i + 1 < ranges.size() && ranges[i + 1].stages == range.stages) {
      counts_.pruned += members;
      ++i;
    }
  }
}

// Whether there is time for what has the same bound.
bool DegreesSearch::RunPlacements(const std::vector<Space::Layout>& layouts,
                                  const std::vector<Space::Sharding>& shardings,
                                  Configuration member, const CostFunctions& costs) {
  const int64_t each = std::ssize(shardings) * amounts_.count();
  member.offload_percent = member.offload_layers = 0;
  const StepBound least = costs.least(member);
  if (Excludes(least)) {
    counts_.pruned += each * std::ssize(layouts);
    return least.seconds * kBoundRounding <= best_.most_seconds();
  }
  for (size_t i = 0; i < layouts.size();) {
    size_t end = i + 1;
    while (end < layouts.size() && layouts[end].inside == layouts[i].inside) ++end;
    member.inside = layouts[i].inside;
    if (end > i + 1) {
      member.unit = layouts[i].unit;
      if (Excludes(costs.least_of_units(member))) {
        counts_.pruned += each * static_cast<int64_t>(end - i);
        i = end;
        continue;
      }
    }
    for (; i < end; ++i) {
      if (Stopped()) return true;
      member.unit = layouts[i].unit;
      RunShardings(shardings, member, costs.figures);
    }
  }
  return true;
}

void DegreesSearch::RunShardings(const std::vector<Space::Sharding>& shardings,
                                 Configuration member, const CostFunction& cost_of) {
  size_t i = 0;
  const bool whole = amounts_.count() == 1;
  if (shardings.size() > 1) {
    member.zero = 0;
    member.shard = 0;
    member.offload_percent = whole ? amounts_.percents[0] : 0;
    member.offload_layers = whole ? amounts_.layers[0] : 0;
    const StepFigures cost = cost_of(member);
    if (whole && shardings.front().zero == 0) {
      ++counts_.evaluated;
      Add(member, cost);
      ++i;
    }
    if (Excludes(BoundOf(cost))) {
      counts_.pruned += (std::ssize(shardings) - static_cast<int64_t>(i)) * amounts_.count();
      return;
    }
  }
  for (; i < shardings.size(); ++i) {
    member.zero = shardings[i].zero;
    member.shard = shardings[i].shard;
    AmountsSearch(*this, member, cost_of).Run();
  }
}

// Whether it may be taken.
bool DegreesSearch::Add(const Configuration& member, const StepFigures& cost) {
  if (cost.peak_bytes > budget_ || cost.host_bytes > host_) return false;
  if (options_.takes && !options_.takes(member)) return false;
  ++counts_.fitting;
  best_.Add({member, cost.time.seconds, cost.peak_bytes});
  return true;
}

}  // namespace meshwright::transformer
