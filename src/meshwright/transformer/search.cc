#include "meshwright/transformer/search.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <tuple>

// Degrees are searched in rounds: within a round every degree's search prunes by what earlier
// rounds found, so that neither the result nor the counts depend on which thread was faster.

namespace meshwright::transformer {
namespace {

// Degrees that are searched side by side.
constexpr size_t kRound = 16;

// Parts are added in another order than their sum was; bounds give way by more than that can make.
constexpr double kRounding = 1 - 1e-9;

bool DiffersInExtentOnly(const Configuration& a, Configuration b) {
  b.offload_percent = a.offload_percent;
  b.offload_layers = a.offload_layers;
  b.recompute_layers = a.recompute_layers;
  b.recompute_stages = a.recompute_stages;
  return a == b;
}

// The `size` that rank first.
class Best {
 public:
  Best(Ranking ranking, int64_t size) : ranking_(ranking), size_(static_cast<size_t>(size)) {}

  // Does nothing if it is there already, or a better one that differs in its extent only.
  void Add(const RankedConfiguration& one) {
    const auto before = [this](const RankedConfiguration& a, const RankedConfiguration& b) {
      return RanksBefore(ranking_, a, b);
    };
    if (full() && !before(one, found_.back())) return;
    const auto same = std::find_if(found_.begin(), found_.end(), [&](const auto& other) {
      return DiffersInExtentOnly(one.configuration, other.configuration);
    });
    if (same != found_.end()) {
      if (!before(one, *same)) return;
      found_.erase(same);
    }
    found_.insert(std::lower_bound(found_.begin(), found_.end(), one, before), one);
    if (found_.size() > size_) found_.pop_back();
  }

  Ranking ranking() const { return ranking_; }
  bool full() const { return found_.size() == size_; }
  // What is above cannot enter.
  double most_seconds() const {
    const bool bounded = ranking_ == Ranking::kTime && full();
    return bounded ? found_.back().seconds : std::numeric_limits<double>::infinity();
  }
  int64_t most_bytes() const {
    const bool bounded = ranking_ == Ranking::kMemory && full();
    return bounded ? found_.back().peak_bytes : std::numeric_limits<int64_t>::max();
  }
  const std::vector<RankedConfiguration>& found() const { return found_; }

 private:
  Ranking ranking_;
  size_t size_;
  std::vector<RankedConfiguration> found_;  // in order
};

// Of all configurations that differ in ZeRO and in how much is offloaded only, from the one without
// ZeRO that offloads all.
StepBound BoundOf(const StepFigures& cost) {
  const StepTime& time = cost.time;
  return {(time.seconds - time.data_communication - time.host_communication - time.optimizer) *
              kRounding,
          cost.kept_bytes};
}

class DegreesSearch {
  // Of one configuration, how much of it is offloaded at best. By time that is the least that fits,
  // by memory the most that the host has room for: for each percentage one number of layers, or
  // more where they are equal.
  class AmountsSearch {
   public:
    AmountsSearch(DegreesSearch& search, Configuration member, const CostFunction& cost_of)
        : search_(search),
          amounts_(search.amounts_),
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
    struct Costed {
      bool is_costed = false;
      StepFigures figures;
    };

    void Start(int64_t percent) {
      member_.offload_percent = percent;
      row_.assign(amounts_.layers.size(), {});
    }
    const StepFigures& Figures(size_t layers) {
      Costed& one = row_[layers];
      if (one.is_costed) return one.figures;
      ++costed_;
      member_.offload_layers = amounts_.layers[layers];
      one = {true, cost_of_(member_)};
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
      size_t low = 0, high = row_.size();
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
        for (; layers < row_.size(); ++layers) {
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
    Configuration member_;
    const CostFunction& cost_of_;
    std::vector<Costed> row_;  // by number of layers, of the percentage at hand
    int64_t costed_ = 0;
  };

 public:
  DegreesSearch(const Space& space, const SearchOptions& options, const Best& best)
      : space_(space),
        budget_(options.budget_bytes.value_or(std::numeric_limits<int64_t>::max())),
        host_(options.host_bytes.value_or(std::numeric_limits<int64_t>::max())),
        takes_(options.takes),
        best_(best) {}

  void Run(const Space::Degrees& degrees, const CostFunctions& costs) {
    const std::vector<Space::Sharding> shardings = space_.Shardings(degrees);
    std::vector<Space::Layout> layouts;
    int64_t tp2 = 0;  // that they are of
    for (Configuration member : space_.Families(degrees)) {
      if (member.tp2 != tp2) {
        tp2 = member.tp2;
        layouts = space_.Placements(degrees, tp2);
      }
      for (const Recompute recompute : space_.Recomputes()) {
        member.recompute = recompute;
        const std::vector<Space::Extent> extents = space_.Extents(member, recompute);
        for (const Space::Offload& offload : space_.Offloads()) {
          member.offload_optimizer = offload.optimizer;
          member.offload_activations = offload.activations;
          amounts_ = space_.AmountsOf(member, offload);
          if (amounts_.count() > 0) RunExtents(layouts, shardings, extents, member, costs);
        }
      }
    }
  }

  const Best& best() const { return best_; }
  const SearchCounts& counts() const { return counts_; }

 private:
  bool Excludes(const StepBound& least) const {
    return least.bytes > std::min(budget_, best_.most_bytes()) ||
           least.seconds > best_.most_seconds();
  }

  void RunExtents(const std::vector<Space::Layout>& layouts,
                  const std::vector<Space::Sharding>& shardings,
                  const std::vector<Space::Extent>& extents, Configuration member,
                  const CostFunctions& costs) {
    const int64_t members = std::ssize(shardings) * std::ssize(layouts) * amounts_.count();
    size_t i = 0;
    if (!extents.empty() && extents[0].layers == 0 && extents[0].stages == 0) {
      member.recompute_layers = 0;
      member.recompute_stages = 0;
      RunPlacements(layouts, shardings, member, costs);
      ++i;
    }
    if (i == extents.size()) return;
    const StepBound least = costs.least_of_extents(member);
    if (Excludes({least.seconds * kRounding, least.bytes})) {
      const int64_t left = members * static_cast<int64_t>(extents.size() - i);
      counts_.legal += left;
      counts_.pruned += left;
      return;
    }
    for (; i < extents.size(); ++i) {
      const Space::Extent& extent = extents[i];
      member.recompute_layers = extent.layers;
      member.recompute_stages = extent.stages;
      if (RunPlacements(layouts, shardings, member, costs) || extent.layers == 0) continue;
      // More layers of the same groups take longer still.
      while (i + 1 < extents.size() && extents[i + 1].stages == extent.stages) {
        counts_.legal += members;
        counts_.pruned += members;
        ++i;
      }
    }
  }

  // Whether there is time for what has the same bound.
  bool RunPlacements(const std::vector<Space::Layout>& layouts,
                     const std::vector<Space::Sharding>& shardings, Configuration member,
                     const CostFunctions& costs) {
    const int64_t each = std::ssize(shardings) * amounts_.count();
    counts_.legal += each * std::ssize(layouts);
    member.offload_percent = member.offload_layers = 0;
    const StepBound least = costs.least(member);
    if (Excludes({least.seconds * kRounding, least.bytes})) {
      counts_.pruned += each * std::ssize(layouts);
      return least.seconds * kRounding <= best_.most_seconds();
    }
    for (size_t i = 0; i < layouts.size();) {
      size_t end = i + 1;
      while (end < layouts.size() && layouts[end].inside == layouts[i].inside) ++end;
      member.inside = layouts[i].inside;
      if (end > i + 1) {
        member.unit = layouts[i].unit;
        const StepBound of_units = costs.least_of_units(member);
        if (Excludes({of_units.seconds * kRounding, of_units.bytes})) {
          counts_.pruned += each * static_cast<int64_t>(end - i);
          i = end;
          continue;
        }
      }
      for (; i < end; ++i) {
        member.unit = layouts[i].unit;
        RunShardings(shardings, member, costs.figures);
      }
    }
    return true;
  }

  void RunShardings(const std::vector<Space::Sharding>& shardings, Configuration member,
                    const CostFunction& cost_of) {
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
  bool Add(const Configuration& member, const StepFigures& cost) {
    if (cost.peak_bytes > budget_ || cost.host_bytes > host_) return false;
    if (takes_ && !takes_(member)) return false;
    ++counts_.fitting;
    best_.Add({member, cost.time.seconds, cost.peak_bytes});
    return true;
  }

  const Space& space_;
  int64_t budget_, host_;
  const std::function<bool(const Configuration&)>& takes_;
  Space::Amounts amounts_;  // of what is searched
  Best best_;
  SearchCounts counts_;
};

auto Order(const Configuration& c) {
  return std::tie(c.tp, c.cp, c.pp, c.dp, c.ep, c.etp, c.sequence_parallel, c.schedule,
                  c.virtual_stages, c.micro_batch, c.zero, c.shard, c.recompute, c.recompute_layers,
                  c.recompute_stages, c.precision, c.ends_as_layers, c.tp2, c.panels, c.context,
                  c.offload_optimizer, c.offload_activations, c.offload_percent, c.offload_layers);
}

// The more of the inner degrees share a node, the earlier: ranks in order come first.
auto PlacementOrder(const Placement& p) { return std::tuple(-p.tp, p.tp2, -p.cp, -p.dp, -p.pp); }

}  // namespace

bool ConfigurationBefore(const Configuration& a, const Configuration& b) {
  const auto left = Order(a), right = Order(b);
  if (left != right) return left < right;
  if (a.inside != b.inside) return PlacementOrder(a.inside) < PlacementOrder(b.inside);
  return PlacementOrder(a.unit) < PlacementOrder(b.unit);
}

bool RanksBefore(Ranking ranking, const RankedConfiguration& a, const RankedConfiguration& b) {
  if (ranking == Ranking::kTime) {
    if (a.seconds != b.seconds) return a.seconds < b.seconds;
    if (a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
  } else {
    if (a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
    if (a.seconds != b.seconds) return a.seconds < b.seconds;
  }
  return ConfigurationBefore(a.configuration, b.configuration);
}

CostFunctions CalibratedCosts(const Model& model, const Workload& workload, const Cluster& cluster,
                              const StateOptions& state) {
  auto coster = std::make_shared<StepCoster>(model, workload, cluster, BuiltinCostParameters(),
                                             "megatron", state);
  return {[coster](const Configuration& c) { return coster->Figures(c); },
          [coster](const Configuration& c) { return coster->Least(c); },
          [coster](const Configuration& c) { return coster->LeastOfUnits(c); },
          [coster](const Configuration& c) { return coster->LeastOfExtents(c); }};
}

SearchResult Search(const Space& space, const std::function<CostFunctions()>& make_costs,
                    const SearchOptions& options) {
  Best best(options.ranking, options.top);
  SearchCounts counts;
  const std::vector<Space::Degrees> all = space.AllDegrees();
  const size_t threads =
      std::clamp<size_t>(static_cast<size_t>(options.threads), 1, std::max<size_t>(all.size(), 1));
  std::vector<CostFunctions> costs;
  for (size_t t = 0; t < threads; ++t) costs.push_back(make_costs());
  for (size_t first = 0; first < all.size(); first += kRound) {
    const size_t end = std::min(first + kRound, all.size());
    std::vector<DegreesSearch> round(end - first, DegreesSearch(space, options, best));
    std::atomic<size_t> next = first;
    const auto work = [&](size_t thread) {
      for (size_t i = next++; i < end; i = next++) round[i - first].Run(all[i], costs[thread]);
    };
    {
      std::vector<std::jthread> others;
      for (size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
      work(0);
    }
    for (const DegreesSearch& search : round) {
      for (const RankedConfiguration& one : search.best().found()) best.Add(one);
      counts.legal += search.counts().legal;
      counts.evaluated += search.counts().evaluated;
      counts.fitting += search.counts().fitting;
      counts.pruned += search.counts().pruned;
    }
  }
  return {best.found(), counts};
}

}  // namespace meshwright::transformer
