// Families, then states: how many stages lie on each group, which is all that matters of the nodes
// that are used, as those of a group are alike. So the work grows with numbers of nodes, not with
// the ways to choose and order them.
//
// 1. A family is left out by the time that its stages, all of them, perfectly balanced, would take,
//    and by the dollars that its layers cost on the cheapest group.
// 2. Every state of the others has a bound (mixed_bounds.h) and a price. Those of use are planned
// in
//    the order of promise: for every order of the groups, the stages of each next to each other,
//    layers are dealt out by dynamic programming (mixed_partition.h) with caps on the slowest stage
//    from the least possible upwards, and the pipelines simulated.
// 3. What the bounds leave is gone through stage by stage from the last to the first, over all
//    orders of groups and numbers of layers, as far as a bound on the stages so far and on what
//    must come before is of use. What is cut off cannot be better; so if the effort suffices, the
//    answer is the best of all plans, and else the least bound of what is left says how far it can
//    be from it.

#include "meshwright/transformer/mixed_search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/transformer/mixed_bounds.h"
#include "meshwright/transformer/mixed_partition.h"

namespace meshwright::transformer {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// What rounding may add to a bound.
constexpr double kBoundRounding = 1e-12;
constexpr size_t kMostSubClusters = 10'000;  // that are listed
constexpr int kMostOrders = 24;              // of groups, that are tried for a state
constexpr int kMostCaps = 6;                 // on the slowest stage, of an order
constexpr size_t kFirstStates = 2;           // of a family, planned before all others
constexpr int64_t kFamilyShare = 30;         // at most one of so many parts of the effort each
constexpr int64_t kLeastFamilyEffort = 100'000;
constexpr size_t kMostPolished = 40;        // stages of plans that single moves improve
constexpr size_t kMostFamilyStates = 1024;  // states of a family
constexpr double kNearlyOfUse = 0.02;  // slower than the best, of orders that make others tried
constexpr int64_t kPassesOfStep = 8;
constexpr int64_t kMostFirstCells = 40'000'000;  // that are costed before states are listed
constexpr int64_t kMostKeptCells = 20'000'000;   // of costs in memory, 32 bytes each
constexpr int64_t kCellEffort = 50;              // of planning, to cost one of them

// What was found, and what can still be of use.
class Incumbents {
 public:
  explicit Incumbents(const MixedSearchOptions& options) : options_(options) {
    if (options.most_seconds.has_value()) most_seconds_ = *options.most_seconds / options.steps;
    if (options.most_dollars.has_value()) most_dollars_ = *options.most_dollars / options.steps;
  }

  // A plan of use at this price takes less than this, or as much where `*inclusive`.
  double Cutoff(double dollars_per_hour) const {
    double cutoff = most_seconds_;
    const double rate = dollars_per_hour / 3600;
    if (rate > 0) cutoff = std::min(cutoff, most_dollars_ / rate);
    // Limits may be met exactly.
    cutoff *= 1 + 2 * kBoundRounding;
    switch (options_.objective) {
      case MixedObjective::kTime:
        if (!front_.empty()) cutoff = std::min(cutoff, front_[0].seconds);
        break;
      case MixedObjective::kCost:
        if (!front_.empty()) cutoff = std::min(cutoff, front_[0].step_dollars() / rate);
        break;
      case MixedObjective::kPareto:
        for (const MixedChoice& choice : front_) {
          cutoff = std::min(cutoff, std::max(choice.seconds, choice.step_dollars() / rate));
        }
    }
    return cutoff;
  }

  // Whether plans of at least so many seconds and dollars a step can be of use.
  bool Useful(double seconds, double dollars) const {
    if (seconds > most_seconds_ || dollars > most_dollars_) return false;
    return std::none_of(front_.begin(), front_.end(), [&](const MixedChoice& choice) {
      switch (options_.objective) {
        case MixedObjective::kTime:
          return choice.seconds <= seconds;
        case MixedObjective::kCost:
          return choice.step_dollars() <= dollars;
        case MixedObjective::kPareto:
          break;
      }
      return choice.seconds <= seconds && choice.step_dollars() <= dollars;
    });
  }

  // `choice` must be below its cutoff.
  void Add(MixedChoice choice) {
    if (options_.objective != MixedObjective::kPareto) front_.clear();
    front_.erase(std::remove_if(front_.begin(), front_.end(),
                                [&](const MixedChoice& other) {
                                  return other.seconds >= choice.seconds &&
                                         other.step_dollars() >= choice.step_dollars();
                                }),
                 front_.end());
    const auto place = std::find_if(front_.begin(), front_.end(), [&](const MixedChoice& other) {
      return other.seconds > choice.seconds;
    });
    front_.insert(place, std::move(choice));
  }

  const std::vector<MixedChoice>& front() const { return front_; }

 private:
  const MixedSearchOptions& options_;
  double most_seconds_ = kUnbounded, most_dollars_ = kUnbounded;
  std::vector<MixedChoice> front_;
};

// Numbers of stages on each group, of a family.
struct State {
  size_t family = 0;
  StageCounts stages = {};
  double dollars_per_hour = 0;
  double bound = 0, estimate = 0;  // seconds
};

class MixedSearcher {
 public:
  MixedSearcher(const MixedProblem& problem, const MixedSearchOptions& options)
      : problem_(problem),
        options_(options),
        by_cost_(options.objective == MixedObjective::kCost),
        coster_(problem),
        incumbents_(options) {}

  MixedResult Run() {
    MakeFamilies();
    int64_t first_effort = 0;
    for (size_t i = 0; i < families_.size(); ++i) {
      if (!incumbents_.Useful(families_[i].seconds, families_[i].dollars)) continue;
      if (first_effort > kMostFirstCells) break;
      first_effort += Enter(i);
      PlanFirst();
    }
    for (size_t i = 0; i < families_.size(); ++i) {
      if (!incumbents_.Useful(families_[i].seconds, families_[i].dollars)) continue;
      if (state_effort_ >= options_.state_effort) {
        LeaveOpen(families_[i].seconds, families_[i].dollars);
        continue;
      }
      state_effort_ += Enter(i);
      ListStates();
    }
    Sort([](const State& state) { return state.estimate; });
    for (const State& state : states_) {
      if (plan_effort_ >= options_.plan_effort) break;
      if (!Open(state.bound, state.dollars_per_hour)) continue;
      plan_effort_ += kCellEffort * Enter(state.family);
      Plan(state);
    }
    Sort([](const State& state) { return state.bound; });
    for (const State& state : states_) {
      if (!Open(state.bound, state.dollars_per_hour)) continue;
      if (proof_steps_ >= options_.proof_effort) {
        LeaveOpen(state.bound, state.bound * state.dollars_per_hour / 3600);
        continue;
      }
      proof_steps_ += Enter(state.family);
      Prove(state);
    }
    return Result();
  }

 private:
  struct FamilyRecord {
    MixedFamily family;
    double seconds = 0, dollars = 0;    // bounds of a step
    std::unique_ptr<MixedCosts> costs;  // null: not made, or given back
    std::unique_ptr<MixedBounds> bounds;
  };

  bool Open(double bound, double dollars_per_hour) const {
    return bound * (1 - kBoundRounding) < incumbents_.Cutoff(dollars_per_hour);
  }

  double Price(size_t group, int64_t nodes) const {
    return PricePerHour(problem_.cluster.groups[group], nodes).value_or(0);
  }

  // Dollars an hour of a stage at least: its share of nodes at the best price.
  double StagePrice(size_t group, const MixedFamily& family) const {
    const NodeGroup& nodes = problem_.cluster.groups[group];
    const double price =
        std::min(nodes.on_demand_price.value_or(kUnbounded), nodes.spot_price.value_or(kUnbounded));
    return price < kUnbounded ? price * static_cast<double>(family.tp * family.dp) : 0;
  }

  void MakeFamilies() {
    for (const MixedFamily& family : coster_.Families()) {
      const std::vector<double> layer = coster_.LeastLayerSeconds(family);
      const std::vector<int64_t> slots = coster_.Slots(family);
      std::vector<size_t> fastest;
      for (size_t group = 0; group < slots.size(); ++group) {
        if (slots[group] > 0 && layer[group] < kUnbounded) fastest.push_back(group);
      }
      if (fastest.empty()) continue;
      std::sort(fastest.begin(), fastest.end(),
                [&](size_t a, size_t b) { return layer[a] < layer[b]; });
      const int64_t layers = problem_.model.layers();
      int64_t open = std::min(layers, problem_.fixes.pp.value_or(layers));
      double speed = 0, least_dollars = kUnbounded;
      for (const size_t group : fastest) {
        const int64_t taken = std::min(open, slots[group]);
        open -= taken;
        speed += static_cast<double>(taken) / layer[group];
        least_dollars = std::min(least_dollars, layer[group] * StagePrice(group, family) / 3600);
      }
      const double work = static_cast<double>(
          layers * (problem_.workload.global_batch / (family.dp * family.micro_batch)));
      FamilyRecord& record = families_.emplace_back();
      record.family = family;
      record.seconds = work / speed * (1 - kBoundRounding);
      record.dollars = work * least_dollars * (1 - kBoundRounding);
    }
    std::stable_sort(families_.begin(), families_.end(),
                     [&](const FamilyRecord& a, const FamilyRecord& b) {
                       return by_cost_ ? a.dollars < b.dollars : a.seconds < b.seconds;
                     });
  }

  // Makes the family the one at hand; returns how many cells were costed for it. Costs of the
  // families used last are kept.
  int64_t Enter(size_t index) {
    FamilyRecord& record = families_[index];
    int64_t made = 0;
    if (record.costs == nullptr) {
      record.costs = std::make_unique<MixedCosts>(coster_.Costs(record.family));
      record.bounds = std::make_unique<MixedBounds>(*record.costs);
      kept_.push_back(index);
      const int64_t cells = record.costs->layers() * (record.costs->layers() + 1) *
                            static_cast<int64_t>(record.costs->groups());
      made = cells;
      if (static_cast<int64_t>(kept_.size()) * cells > kMostKeptCells && kept_.size() > 1) {
        families_[kept_.front()].bounds.reset();
        families_[kept_.front()].costs.reset();
        kept_.pop_front();
      }
    }
    family_ = &record;
    family_index_ = index;
    costs_ = record.costs.get();
    bounds_ = record.bounds.get();
    return made;
  }

  template <typename Value>
  void Sort(const Value& value) {
    const auto key = [&](const State& state) {
      return value(state) * (by_cost_ ? state.dollars_per_hour : 1);
    };
    std::stable_sort(states_.begin(), states_.end(),
                     [&](const State& a, const State& b) { return key(a) < key(b); });
  }

  // Plans the most promising of the states that have the fastest groups' stages, or the cheapest,
  // and then the next ones'.
  void PlanFirst() {
    listed_.clear();
    for (const bool cheapest : {false, true}) {
      std::vector<size_t> groups(costs_->groups());
      std::iota(groups.begin(), groups.end(), size_t{0});
      const auto value = [&](size_t group) {
        return cheapest ? LayerDollars(group) : bounds_->LeastLayer(group);
      };
      std::stable_sort(groups.begin(), groups.end(),
                       [&](size_t a, size_t b) { return value(a) < value(b); });
      State state;
      state.family = family_index_;
      int64_t count = 0;
      for (const size_t group : groups) {
        for (int64_t n = 1; n <= costs_->slots(group) && count < costs_->layers(); ++n, ++count) {
          state.stages[group] = static_cast<int32_t>(n);
          state.dollars_per_hour = 0;
          for (size_t i = 0; i < groups.size(); ++i) {
            state.dollars_per_hour += Price(i, costs_->Nodes(i, state.stages[i]));
          }
          AddState(&state);
        }
      }
    }
    for (const bool by_cost : {false, true}) {
      if (by_cost ? options_.objective == MixedObjective::kTime : by_cost_) continue;
      std::stable_sort(listed_.begin(), listed_.end(), [&](const State& a, const State& b) {
        return a.estimate * (by_cost ? a.dollars_per_hour : 1) <
               b.estimate * (by_cost ? b.dollars_per_hour : 1);
      });
      for (size_t i = 0; i < std::min(listed_.size(), kFirstStates); ++i) {
        if (Open(listed_[i].bound, listed_[i].dollars_per_hour)) Plan(listed_[i]);
      }
    }
  }

  // Adds the family's states of use.
  void ListStates() {
    listed_.clear();
    State state;
    state.family = family_index_;
    least_layer_dollars_ = kUnbounded;
    order_.clear();
    for (size_t group = 0; group < costs_->groups(); ++group) {
      least_layer_dollars_ = std::min(least_layer_dollars_, LayerDollars(group));
      order_.push_back(group);
    }
    // Where the effort does not suffice, what lies on the cheapest groups alone comes first.
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return LayerDollars(a) > LayerDollars(b); });
    family_effort_ = 0;
    AddStates(0, costs_->layers(), 0, &state);
    state_effort_ += family_effort_;
    result_.states += static_cast<int64_t>(listed_.size());
    const auto promise = [&](const State& a, const State& b) {
      return by_cost_ ? a.estimate * a.dollars_per_hour < b.estimate * b.dollars_per_hour
                      : a.estimate < b.estimate;
    };
    std::stable_sort(listed_.begin(), listed_.end(), promise);
    for (size_t i = kMostFamilyStates; i < listed_.size(); ++i) {
      LeaveOpen(listed_[i].bound, listed_[i].bound * listed_[i].dollars_per_hour / 3600);
    }
    listed_.resize(std::min(listed_.size(), kMostFamilyStates));
    states_.insert(states_.end(), listed_.begin(), listed_.end());
  }

  // What a layer costs on a group at least, for each micro-batch.
  double LayerDollars(size_t group) const {
    const double seconds = bounds_->LeastLayer(group);
    return seconds < kUnbounded ? seconds * StagePrice(group, family_->family) / 3600 : kUnbounded;
  }

  // Decides the groups from order_[index] on; `open` stages may follow. `dollars` is what layers
  // that have to lie on the groups so far cost more than on the cheapest, for each micro-batch.
  void AddStates(size_t index, int64_t open, double dollars, State* state) {
    if (index == order_.size()) return AddState(state);
    const size_t group = order_[index];
    const double before = state->dollars_per_hour;
    const int64_t most = std::min(open, costs_->slots(group));
    for (int64_t i = 0; i <= most; ++i) {
      // What is fast comes first, or what is cheap.
      const int64_t n = options_.objective == MixedObjective::kTime ? most - i : i;
      if (++family_effort_ > std::max(options_.state_effort / kFamilyShare, kLeastFamilyEffort)) {
        LeaveOpen(family_->seconds, family_->dollars);
        break;
      }
      const double more =
          n == 0 ? dollars
                 : dollars + static_cast<double>(n) * (LayerDollars(group) - least_layer_dollars_);
      state->stages[group] = static_cast<int32_t>(n);
      state->dollars_per_hour = before + Price(group, costs_->Nodes(group, n));
      if (!Recording() && !AnyUse(index, open - n, more, *state)) continue;
      AddStates(index + 1, open - n, more, state);
    }
    state->stages[group] = 0;
    state->dollars_per_hour = before;
  }

  // Whether the state can be of use if all groups behind have all the stages they can.
  bool AnyUse(size_t index, int64_t open, double dollars, const State& state) const {
    StageCounts stages = state.stages;
    for (size_t i = index + 1; i < order_.size(); ++i) {
      stages[order_[i]] = static_cast<int32_t>(std::min(open, costs_->slots(order_[i])));
    }
    if (!bounds_->MayFit(stages, costs_->layers(), 0)) return false;
    const size_t slowest = bounds_->LeastSlowest(stages, costs_->layers());
    if (slowest == bounds_->values().size()) return false;
    const double micro_batches = static_cast<double>(costs_->micro_batches());
    const double seconds = micro_batches * bounds_->values()[slowest];
    if (!Open(seconds, state.dollars_per_hour)) return false;
    // Each stage has a layer at least, and the others cost what they cost at least.
    const double all =
        micro_batches * (static_cast<double>(costs_->layers()) * least_layer_dollars_ + dollars);
    return incumbents_.Useful(seconds, all * (1 - kBoundRounding));
  }

  void AddState(State* state) {
    const int64_t count = std::accumulate(state->stages.begin(), state->stages.end(), int64_t{0});
    if (count == 0 || (problem_.fixes.pp.has_value() && *problem_.fixes.pp != count)) return;
    state->bound = bounds_->Seconds(state->stages);
    if (state->bound == kUnbounded) return;
    if (Recording()) Record(*state, nullptr);
    if (!Open(state->bound, state->dollars_per_hour)) return;
    state->estimate = bounds_->Estimate(state->stages);
    listed_.push_back(*state);
  }

  std::vector<int64_t> Nodes(const State& state) const {
    std::vector<int64_t> nodes;
    for (size_t group = 0; group < costs_->groups(); ++group) {
      nodes.push_back(costs_->Nodes(group, state.stages[group]));
    }
    return nodes;
  }

  bool Recording() const {
    return options_.objective == MixedObjective::kPareto && sub_clusters_.size() < kMostSubClusters;
  }

  // Of a sub-cluster: a bound, or a plan.
  void Record(const State& state, const MixedChoice* choice) {
    std::vector<int64_t> nodes = Nodes(state);
    auto found = sub_clusters_.find(nodes);
    if (found == sub_clusters_.end()) {
      if (!Recording()) return;
      found = sub_clusters_.try_emplace(nodes).first;
      found->second.nodes = std::move(nodes);
      found->second.dollars_per_hour = state.dollars_per_hour;
      found->second.bound_seconds = kUnbounded;
    }
    SubCluster& cluster = found->second;
    if (choice == nullptr) {
      cluster.bound_seconds = std::min(cluster.bound_seconds, state.bound);
    } else if (!cluster.best.has_value() || choice->seconds < cluster.best->seconds) {
      cluster.best = *choice;
    }
  }

  void LeaveOpen(double seconds, double dollars) {
    if (!incumbents_.Useful(seconds * (1 - kBoundRounding), dollars * (1 - kBoundRounding))) return;
    proven_ = false;
    open_bound_ = std::min(open_bound_, by_cost_ ? dollars : seconds);
  }

  // Simulates a plan; returns its seconds.
  double Try(const State& state, const std::vector<MixedStage>& stages) {
    ++result_.evaluated;
    plan_effort_ += costs_->micro_batches() * static_cast<int64_t>(stages.size());
    const double seconds = MixedSeconds(*costs_, stages);
    const bool useful = seconds < incumbents_.Cutoff(state.dollars_per_hour);
    if (!useful && options_.objective != MixedObjective::kPareto) return seconds;
    MixedChoice choice = {{family_->family, stages}, seconds, state.dollars_per_hour, Nodes(state)};
    if (options_.objective == MixedObjective::kPareto) Record(state, &choice);
    if (useful) incumbents_.Add(std::move(choice));
    return seconds;
  }

  // Plans a state with the stages of each group next to each other: the groups in their order and
  // in the opposite order, and where that is nearly of use in every order.
  void Plan(const State& state) {
    std::vector<int32_t> present;
    for (size_t group = 0; group < costs_->groups(); ++group) {
      if (state.stages[group] > 0) present.push_back(static_cast<int32_t>(group));
    }
    double best = PlanOrder(state, present);
    if (present.size() == 1) return;
    best = std::min(best, PlanOrder(state, {present.rbegin(), present.rend()}));
    if (best * (1 - kNearlyOfUse) >= incumbents_.Cutoff(state.dollars_per_hour)) return;
    int orders = 2;  // the first of all permutations was one of these
    while (std::next_permutation(present.begin(), present.end()) && orders++ < kMostOrders) {
      PlanOrder(state, present);
    }
  }

  // The least seconds that were found.
  double PlanOrder(const State& state, const std::vector<int32_t>& order) {
    std::vector<int32_t> groups;
    for (const int32_t group : order) groups.insert(groups.end(), state.stages[group], group);
    const double count = static_cast<double>(groups.size());
    MixedPartitioner partitioner(*costs_, groups);
    const std::vector<double>& values = bounds_->values();
    double sum = 0;
    // The least cap that can be kept.
    size_t low = bounds_->LeastSlowest(state.stages, costs_->layers()), high = values.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 8;
      if (partitioner.Solve(values[middle], nullptr, &sum)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    double best = kUnbounded;
    std::vector<MixedStage> stages, best_stages;
    for (size_t cap = low; cap < std::min(values.size(), low + kMostCaps); ++cap) {
      if (!partitioner.Solve(values[cap], &stages, &sum)) continue;
      const double more =
          static_cast<double>(costs_->micro_batches() - 1) - (count - 1) * bounds_->forward_share();
      if (sum + std::max(0.0, more) * values[cap] >= best) break;
      const double seconds = Try(state, stages);
      if (seconds >= best) continue;
      best = seconds;
      best_stages = stages;
    }
    plan_effort_ += partitioner.effort();
    if (best * (1 - kNearlyOfUse) >= incumbents_.Cutoff(state.dollars_per_hour)) return best;
    return Polish(state, std::move(best_stages), best);
  }

  // Moves single layers from one stage to another as long as that helps: of partitions with the
  // same slowest stage and sum, the simulation prefers some. Returns the seconds at the end.
  double Polish(const State& state, std::vector<MixedStage> stages, double seconds) {
    if (stages.size() > kMostPolished) return seconds;
    for (bool better = true; better;) {
      better = false;
      for (MixedStage& from : stages) {
        for (MixedStage& to : stages) {
          if (&from == &to || from.layers == 1) continue;
          --from.layers;
          ++to.layers;
          const double moved = Fits(stages) ? Try(state, stages) : kUnbounded;
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

  bool Fits(const std::vector<MixedStage>& stages) const {
    int64_t first = costs_->layers(), in_flight = 0;
    for (size_t i = stages.size(); i-- > 0;) {
      first -= stages[i].layers;
      in_flight = std::min(in_flight + 1, costs_->micro_batches());
      if (costs_->Cell(stages[i].group, first, stages[i].layers).most_in_flight < in_flight) {
        return false;
      }
    }
    return true;
  }

  // Goes through all plans of a state.
  void Prove(const State& state) {
    state_ = &state;
    left_ = state.stages;
    behind_.assign(costs_->groups(), 0);
    reversed_.clear();
    exhausted_ = false;
    Extend(costs_->layers(), PipelineBound(costs_->micro_batches()));
    if (exhausted_) LeaveOpen(state.bound, state.bound * state.dollars_per_hour / 3600);
  }

  // Puts every stage that can be of use before those so far; the first `layers` layers are open.
  void Extend(int64_t layers, const PipelineBound& behind) {
    const int64_t open = std::accumulate(left_.begin(), left_.end(), int64_t{0});
    if (open == 0) {
      // A pass that is simulated takes a fraction of what a stage takes here.
      proof_steps_ += costs_->micro_batches() * behind.stages() / kPassesOfStep;
      Try(*state_, {reversed_.rbegin(), reversed_.rend()});
      return;
    }
    const int64_t in_flight = std::min(costs_->micro_batches(), behind.stages() + 1);
    for (size_t group = 0; group < costs_->groups() && !exhausted_; ++group) {
      if (left_[group] == 0) continue;
      double send = 0;
      if (!reversed_.empty()) {
        const int32_t next = reversed_.back().group;
        send = costs_->SendSeconds(group, next, behind_[next] - 1);
      }
      --left_[group];
      ++behind_[group];
      for (int64_t n = open == 1 ? layers : 1; n <= layers - (open - 1); ++n) {
        if (++proof_steps_ >= options_.proof_effort) exhausted_ = true;
        const MixedCell& cell = costs_->Cell(group, layers - n, n);
        if (exhausted_ || cell.most_in_flight < in_flight) break;
        PipelineBound next = behind;
        next.AddInFront({cell.forward, cell.backward, send, 0});
        if (!Open(bounds_->Seconds(left_, layers - n, next), state_->dollars_per_hour)) continue;
        reversed_.push_back({static_cast<int32_t>(group), static_cast<int32_t>(n)});
        Extend(layers - n, next);
        reversed_.pop_back();
      }
      ++left_[group];
      --behind_[group];
    }
  }

  MixedResult Result() {
    result_.families = static_cast<int64_t>(families_.size());
    result_.front = incumbents_.front();
    result_.proven = proven_;
    result_.proof_steps = proof_steps_;
    double best = kUnbounded;
    for (const MixedChoice& choice : result_.front) {
      best = std::min(best, by_cost_ ? choice.step_dollars() : choice.seconds);
    }
    result_.bound = std::min(best, open_bound_);
    for (auto& [nodes, cluster] : sub_clusters_) {
      result_.sub_clusters.push_back(std::move(cluster));
    }
    return std::move(result_);
  }

  const MixedProblem& problem_;
  const MixedSearchOptions& options_;
  const bool by_cost_;
  MixedCoster coster_;
  Incumbents incumbents_;
  std::vector<FamilyRecord> families_;
  std::deque<size_t> kept_;             // families whose costs are there
  std::vector<State> states_, listed_;  // of all families; of the one at hand
  MixedResult result_;
  std::map<std::vector<int64_t>, SubCluster> sub_clusters_;  // by nodes
  bool proven_ = true;
  double open_bound_ = kUnbounded;
  int64_t state_effort_ = 0, plan_effort_ = 0, proof_steps_ = 0;
  // Of the family at hand.
  const FamilyRecord* family_ = nullptr;
  size_t family_index_ = 0;
  const MixedCosts* costs_ = nullptr;
  const MixedBounds* bounds_ = nullptr;
  double least_layer_dollars_ = 0;
  std::vector<size_t> order_;  // in which groups are decided
  int64_t family_effort_ = 0;
  // Of the state at hand: stages that are open, those decided, by group; the last stage first.
  const State* state_ = nullptr;
  StageCounts left_ = {};
  std::vector<int64_t> behind_;
  std::vector<MixedStage> reversed_;
  bool exhausted_ = false;
};

absl::Status CheckPrices(const MixedProblem& problem, const MixedSearchOptions& options) {
  if (options.objective == MixedObjective::kTime && !options.most_dollars.has_value()) {
    return absl::OkStatus();
  }
  for (const NodeGroup& group : problem.cluster.groups) {
    if (PricePerHour(group, group.cluster.nodes).has_value()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "no price of ", group.name,
        " is known; give price_per_hour: ... (dollars a device) of the group in the cluster's "
        "file"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MixedResult> SearchMixed(const MixedProblem& problem,
                                        const MixedSearchOptions& options) {
  MW_RETURN_IF_ERROR(CheckMixedProblem(problem));
  MW_RETURN_IF_ERROR(CheckPrices(problem, options));
  return MixedSearcher(problem, options).Run();
}

}  // namespace meshwright::transformer
