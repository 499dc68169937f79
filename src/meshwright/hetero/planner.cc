#include "meshwright/hetero/planner.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/infinity.h"
#include "meshwright/hetero/partition.h"

namespace meshwright::transformer {
namespace {

constexpr int kMostOrders = 24;        // of lanes, that are tried for a state
constexpr int kPartitions = 6;         // of an order, in less and less time
constexpr int64_t kPlaceEffort = 20;   // of a place and a lane
constexpr int kDoublings = 8;          // of an order's estimate, until there is a plan
constexpr size_t kMostPolished = 40;   // stages of plans that single moves improve
constexpr double kNearlyOfUse = 0.02;  // slower than the best, of orders that make others tried

}  // namespace

double MixedPlanner::Try(const MixedAtHand& family, const MixedState& state,
                         const std::vector<MixedStage>& stages) {
  ++evaluated_;
  effort_ += family.costs->micro_batches() * static_cast<int64_t>(stages.size());
  const double seconds = MixedSeconds(*family.costs, stages);
  if (ledger_.pareto() || seconds < ledger_.Cutoff(state.dollars_per_hour)) {
    ledger_.Add(state,
                {{family.record->family, stages}, seconds, state.dollars_per_hour, state.nodes});
  }
  return seconds;
}

void MixedPlanner::Plan(const MixedAtHand& family, const MixedState& state) {
  at_ = family;
  std::vector<int32_t> present;
  for (size_t lane = 0; lane < at_.costs->lanes(); ++lane) {
    if (state.stages[lane] > 0) present.push_back(static_cast<int32_t>(lane));
  }
  double best = PlanOrder(state, present);
  if (present.size() == 1) return;
  best = std::min(best, PlanOrder(state, {present.rbegin(), present.rend()}));
  if (best * (1 - kNearlyOfUse) >= ledger_.Cutoff(state.dollars_per_hour)) return;
  int orders = 2;  // the first of all permutations was one of these
  while (std::next_permutation(present.begin(), present.end()) && orders++ < kMostOrders) {
    PlanOrder(state, present);
  }
}

// The least seconds that were found.
double MixedPlanner::PlanOrder(const MixedState& state, const std::vector<int32_t>& order) {
  std::vector<int32_t> lanes;
  for (const int32_t lane : order) lanes.insert(lanes.end(), state.stages[lane], lane);
  MixedPartitioner partitioner(*at_.costs, lanes);
  double best = kInfinity, low = state.bound;
  std::vector<MixedStage> stages, best_stages;
  // Plans of a step that may take less than `most`.
  const auto plan = [&](double most) {
    effort_ += static_cast<int64_t>(lanes.size() * order.size()) * kPlaceEffort;
    const std::vector<MixedPlace>* const places = at_.bounds->Places(state.stages, most);
    if (places == nullptr || !partitioner.Solve(*places, &stages)) return false;
    const double seconds = Try(at_, state, stages);
    if (seconds < best) {
      best = seconds;
      best_stages = stages;
    }
    return true;
  };
  const double nearly = ledger_.Cutoff(state.dollars_per_hour) / (1 - kNearlyOfUse);
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
  if (best * (1 - kNearlyOfUse) >= ledger_.Cutoff(state.dollars_per_hour)) return best;
  return Polish(state, std::move(best_stages), best);
}

// Moves single layers from one stage to another as long as that helps: of partitions with the same
// slowest stage and sum, the simulation prefers some. Returns the seconds at the end.
double MixedPlanner::Polish(const MixedState& state, std::vector<MixedStage> stages,
                            double seconds) {
  if (stages.size() > kMostPolished) return seconds;
  for (bool better = true; better;) {
    better = false;
    for (MixedStage& from : stages) {
      for (MixedStage& to : stages) {
        if (&from == &to || from.layers == 1) continue;
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

bool MixedPlanner::Fits(const std::vector<MixedStage>& stages) const {
  int64_t first = at_.costs->layers(), in_flight = 0;
  for (size_t i = stages.size(); i-- > 0;) {
    first -= stages[i].layers;
    in_flight = std::min(in_flight + 1, at_.costs->micro_batches());
    if (at_.costs->Cell(stages[i].lane, first, stages[i].layers).most_in_flight < in_flight) {
      return false;
    }
  }
  return true;
}

}  // namespace meshwright::transformer
