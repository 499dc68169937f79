#include "meshwright/hetero/planner.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/infinity.h"
#include "meshwright/hetero/partition.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr int kMostOrders = 24;        // of stage classes, that are tried for a state
constexpr int kPartitions = 6;         // of an order, in less and less time
constexpr int64_t kPlaceEffort = 20;   // of a place and a stage class
constexpr int kDoublings = 8;          // of an order's estimate, until there is a plan
constexpr size_t kMostPolished = 40;   // stages of plans that single moves improve
constexpr double kNearlyOfUse = 0.02;  // slower than the best, of orders that make others tried

}  // namespace

double Planner::Try(const FamilyCache& family, const State& state,
                    const std::vector<Stage>& stages) {
  ++evaluated_;
  effort_ += family.costs->micro_batches() * static_cast<int64_t>(stages.size());
  const double seconds = Seconds(*family.costs, stages);
  const auto choice = [&]() -> Choice {
    return {{family.record->family, stages}, seconds, state.dollars_per_hour, state.nodes};
  };
  const double rate = archive_.by_cost() ? state.dollars_per_hour : 1;
  const auto best = best_.find(family.costs->micro_batches());
  if (best == best_.end()) {
    best_.emplace(family.costs->micro_batches(), choice());
  } else if (seconds * rate <
             best->second.seconds * (archive_.by_cost() ? best->second.dollars_per_hour : 1)) {
    best->second = choice();
  }
  if (archive_.pareto() || seconds < archive_.Cutoff(state.dollars_per_hour))
    archive_.Add(state, choice());
  return seconds;
}

void Planner::Plan(const FamilyCache& family, const State& state) {
  at_ = family;
  std::vector<int32_t> present;
  for (size_t stage_class = 0; stage_class < at_.costs->stage_classes(); ++stage_class) {
    if (state.stages[stage_class] > 0) present.push_back(static_cast<int32_t>(stage_class));
  }
  double best = PlanOrder(state, present);
  if (present.size() == 1) return;
  best = std::min(best, PlanOrder(state, {present.rbegin(), present.rend()}));
  if (best * (1 - kNearlyOfUse) >= archive_.Cutoff(state.dollars_per_hour)) return;
  int orders = 2;  // the first of all permutations was one of these
  while (std::next_permutation(present.begin(), present.end()) && orders++ < kMostOrders) {
    PlanOrder(state, present);
  }
}

std::vector<int32_t> Planner::StageClasses(const State& state,
                                           const std::vector<int32_t>& order) const {
  std::vector<int32_t> stage_classes;
  if (problem_.stage_groups.empty()) {
    for (const int32_t stage_class : order)
      stage_classes.insert(stage_classes.end(), state.stages[stage_class], stage_class);
    return stage_classes;
  }
  StageCounts left = state.stages;
  for (const size_t group : problem_.stage_groups) {
    for (const int32_t stage_class : order) {
      if (left[stage_class] == 0 || at_.costs->Group(stage_class) != group) continue;
      --left[stage_class];
      stage_classes.push_back(stage_class);
      break;
    }
  }
  return stage_classes;
}

// The least seconds that were found.
double Planner::PlanOrder(const State& state, const std::vector<int32_t>& order) {
  const std::vector<int32_t> stage_classes = StageClasses(state, order);
  Partitioner partitioner(*at_.costs, stage_classes, problem_.fixes.stage_layers);
  double best = kInfinity, low = state.bound;
  std::vector<Stage> stages, best_stages;
  // Plans of a step that may take less than `most`.
  const auto plan = [&](double most) {
    effort_ += static_cast<int64_t>(stage_classes.size() * order.size()) * kPlaceEffort;
    const std::vector<Place>* const places = at_.bounds->Places(state.stages, most);
    if (places == nullptr || !partitioner.Solve(*places, &stages)) return false;
    const double seconds = Try(at_, state, stages);
    if (seconds < best) {
      best = seconds;
      best_stages = stages;
    }
    return true;
  };
  const double nearly = archive_.Cutoff(state.dollars_per_hour) / (1 - kNearlyOfUse);
  double high = std::min(nearly, 2 * std::max(state.estimate, state.bound));
  bool any = plan(high);
  // Without a plan so far there may be nothing that is nearly as good as the estimate.
  for (int i = 0; !any && high < nearly && i < kDoublings; ++i) {
    high = std::min(nearly, 2 * high);
    any = plan(high);
  }
  for (int i = 0; any && i < kPartitions; ++i) {
    high = std::min(high, best);
    const double middle = (low + high) / 2;
    (plan(middle) ? high : low) = middle;
  }
  effort_ += partitioner.effort();
  if (best * (1 - kNearlyOfUse) >= archive_.Cutoff(state.dollars_per_hour)) return best;
  return Polish(state, std::move(best_stages), best);
}

// Moves single layers from one stage to another as long as that helps: of partitions with the same
// slowest stage and sum, the simulation prefers some. Returns the seconds at the end.
double Planner::Polish(const State& state, std::vector<Stage> stages, double seconds) {
  if (stages.size() > kMostPolished || !problem_.fixes.stage_layers.empty()) return seconds;
  for (bool better = true; better;) {
    better = false;
    for (Stage& from : stages) {
      const int64_t before = &from - stages.data(), behind = std::ssize(stages) - 1 - before;
      for (Stage& to : stages) {
        if (&from == &to || from.layers == LeastLayers(before, behind)) continue;
        --from.layers;
        ++to.layers;
        const double moved = Fits(stages) ? Try(at_, state, stages) : kInfinity;
        if (moved < seconds) {
          seconds = moved;
          better = true;
        } else {
          ++from.layers;
          --to.layers;
        }
      }
    }
  }
  return seconds;
}

bool Planner::Fits(const std::vector<Stage>& stages) const {
  int64_t first = at_.costs->layers(), in_flight = 0;
  for (size_t i = stages.size(); i-- > 0;) {
    first -= stages[i].layers;
    in_flight = std::min(in_flight + 1, at_.costs->micro_batches());
    const StageContent content = {first, stages[i].layers, i == 0, i + 1 == stages.size()};
    if (at_.costs->CellAt(stages[i].stage_class, content).most_in_flight < in_flight) return false;
  }
  return true;
}

}  // namespace meshwright::transformer::hetero
