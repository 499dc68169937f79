// Families of degrees, then states: how many stages lie on each stage class, which is all that
// matters of the nodes that are used, as those of a group are alike. So the work grows with numbers
// of nodes, not with the ways to choose and order them.
//
// 1. Families in which all groups have the same degrees come first, then those in which they
//    differ, then those in which a group has two stage classes. A family is left out by the time
//    that its stages, all of them, perfectly balanced, would take, and by the dollars that its
//    layers cost on the cheapest group (families.h).
// 2. Every state of the others has a bound (bounds.h) and a price (states.h). Those of
//    use are planned in the order of promise (planner.h).
// 3. What the bounds leave is gone through (proof.h); so if the effort suffices, the answer
//    is the best of all plans, and else the least bound of what is left says how far it can be
//    from it.
// 4. Then parts of all plans, each with one value of one degree, are searched for better ones.

#include "meshwright/hetero/search.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/base/infinity.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/prices.h"
#include "meshwright/hetero/archive.h"
#include "meshwright/hetero/check_degrees.h"
#include "meshwright/hetero/families.h"
#include "meshwright/hetero/family_cache.h"
#include "meshwright/hetero/family_chooser.h"
#include "meshwright/hetero/planner.h"
#include "meshwright/hetero/proof.h"
#include "meshwright/hetero/states.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr size_t kFirstStates = 2;               // of a family, planned before all others
constexpr int64_t kMostFirstCells = 40'000'000;  // that are costed before states are listed
constexpr int64_t kCellEffort = 50;              // of planning, to cost one of them
constexpr size_t kMostDiffering = 20'000;        // families with differing degrees
constexpr size_t kMostStates = 300'000;          // in memory
constexpr int64_t kDifferingShare = 3;           // of the effort, one part of so many
constexpr int kMostImprovements = 10;            // of the best plans, by families near theirs
constexpr double kWorthImproving = 1.1;          // of the best plan's seconds or dollars
constexpr int64_t kNeighbourShare = 2;           // of planning, for the neighbours of one plan
constexpr int64_t kFirstShare = 4;               // of planning, for the first plans
constexpr int64_t kPartsShare = 4;               // of all effort, for parts of what is searched
constexpr int64_t kMostPartStages = 12;          // of parts with one number of stages
// Most nodes of clusters whose parts are searched: a part of larger ones is as much as all of a
// smaller one, and cost half as long again as all the rest for nothing better.
constexpr int64_t kMostPartNodes = 64;

class Searcher {
 public:
  // `whole`: not a part of a search; bounds of what a part leaves out are not asked for.
  Searcher(const Problem& problem, const SearchOptions& options, bool whole)
      : options_(options),
        whole_(whole),
        coster_(problem),
        space_(problem, coster_),
        families_(coster_),
        archive_(options),
        lister_(problem, options, archive_),
        planner_(problem, archive_),
        prover_(problem, options, archive_, planner_) {}

  Result Run() {
    Result result;
    Search(space_.Common(), 1);
    result.common_bound = archive_.bound();
    // The best of these makes most of the others useless.
    Search(DifferingFamilies(FamilyKind::kByGroup), kDifferingShare);
    result.by_group_bound = archive_.bound();
    if (options_.by_stage) {
      Improve();
      Search(DifferingFamilies(FamilyKind::kByStage), kDifferingShare);
    }
    result.families = static_cast<int64_t>(families_.size());
    result.states = lister_.states();
    result.evaluated = planner_.evaluated();
    result.proof_steps = prover_.steps();
    result.stopped = options_.stopped();
    archive_.Finish(&result);
    return result;
  }

 private:
  // With one part of `parts` of the options' effort.
  void Search(std::vector<FamilyRecord> records, int64_t parts) {
    most_states_ = options_.state_effort / parts;
    most_plans_ = options_.plan_effort / parts;
    most_proof_ = options_.proof_effort / parts;
    std::stable_sort(records.begin(), records.end(),
                     [this](const auto& a, const auto& b) { return Before(a, b); });
    const size_t first = families_.size();
    families_.Append(std::move(records));
    PlanFirst(first);
    ListStates(first);
    PlanStates();
    ProveStates();
  }

  bool Before(const FamilyRecord& a, const FamilyRecord& b) const {
    return archive_.by_cost() ? std::pair(a.dollars, a.seconds) < std::pair(b.dollars, b.seconds)
                              : a.seconds < b.seconds;
  }

  // Those with the least bounds, if there are more than memory can hold.
  std::vector<FamilyRecord> DifferingFamilies(FamilyKind kind) {
    std::vector<FamilyRecord> records;
    const auto before = [this](const auto& a, const auto& b) { return Before(a, b); };
    ListDifferingFamilies(
        space_, kind, options_.state_effort / kDifferingShare,
        {.useful =
             [&](double seconds, double dollars) {
               const bool useful = archive_.Useful(seconds, dollars);
               if (!useful) archive_.LeaveOut(seconds);
               return useful;
             },
         .cutoff = [&] { return whole_ ? archive_.LargestCutoff() : kInfinity; },
         .keep =
             [&](const FamilyRecord& record) {
               records.push_back(record);
               std::push_heap(records.begin(), records.end(), before);
               if (records.size() <= kMostDiffering) return;
               std::pop_heap(records.begin(), records.end(), before);
               archive_.LeaveOpen(records.back().seconds, records.back().dollars);
               records.pop_back();
             },
         .left_out = [&](double seconds, double dollars) { archive_.LeaveOpen(seconds, dollars); },
         .stopped = [&] { return options_.stopped(); }});
    return records;
  }

  // Plans families near those of the best plans, of each number of micro-batches and of all, as
  // there may be too many to go through all of them; for as long as that makes these better.
  void Improve() {
    if (archive_.pareto() || archive_.front().empty()) return;
    std::map<int64_t, Plan> seen;  // by micro-batches: whose neighbours were planned
    for (int i = 0; i < kMostImprovements; ++i) {
      const std::map<int64_t, Choice> best = planner_.best();
      bool any = false;
      for (const auto& [micro_batches, choice] : best) {
        if (options_.stopped()) return;
        if (Value(choice) > kWorthImproving * Value(archive_.front().front())) continue;
        if (seen.contains(micro_batches) && seen[micro_batches] == choice.plan) continue;
        seen[micro_batches] = choice.plan;
        any = true;
        most_plans_ = options_.plan_effort / kDifferingShare / kNeighbourShare;
        const size_t first = families_.size();
        families_.Append(NeighbouringFamilies(space_, choice.plan));
        PlanFirst(first);
      }
      if (!any) break;
    }
  }

  double Value(const Choice& choice) const {
    return archive_.by_cost() ? choice.step_dollars() : choice.seconds;
  }

  bool Useful(size_t family) const {
    const FamilyRecord& record = families_.record(family);
    return archive_.Useful(record.seconds, record.dollars);
  }

  // Plans the best of each family's promising states, so that bounds have something to beat.
  void PlanFirst(size_t first) {
    const int64_t most = planner_.effort() + most_plans_ / kFirstShare;
    int64_t made = 0;
    for (size_t i = first; i < families_.size(); ++i) {
      if (made > kMostFirstCells || planner_.effort() > most || options_.stopped()) break;
      if (!Useful(i)) continue;
      const FamilyCache family = families_.Get(i, &made);
      std::vector<State> states = lister_.Promising(family);
      for (const bool by_cost : {false, true}) {
        if (by_cost ? options_.objective == Objective::kTime : archive_.by_cost()) continue;
        std::stable_sort(states.begin(), states.end(), [&](const State& a, const State& b) {
          return std::pair(a.estimate * (by_cost ? a.dollars_per_hour : 1), a.estimate) <
                 std::pair(b.estimate * (by_cost ? b.dollars_per_hour : 1), b.estimate);
        });
        for (size_t s = 0; s < std::min(states.size(), kFirstStates); ++s) {
          if (archive_.Open(states[s].bound, states[s].dollars_per_hour)) {
            planner_.Plan(family, states[s]);
          }
        }
      }
    }
  }

  void ListStates(size_t first) {
    const int64_t before = lister_.effort();
    int64_t made = 0;
    states_.clear();
    for (size_t i = first; i < families_.size(); ++i) {
      if (!Useful(i)) {
        archive_.LeaveOut(families_.record(i).seconds);
        continue;
      }
      if (lister_.effort() - before + made >= most_states_ || states_.size() >= kMostStates ||
          options_.stopped()) {
        archive_.LeaveOpen(families_.record(i).seconds, families_.record(i).dollars);
        continue;
      }
      std::vector<State> states = lister_.All(families_.Get(i, &made));
      std::move(states.begin(), states.end(), std::back_inserter(states_));
    }
  }

  void PlanStates() {
    const int64_t before = planner_.effort();
    int64_t made = 0;
    Sort([](const State& state) { return state.estimate; });
    for (const State& state : states_) {
      if (planner_.effort() - before + made * kCellEffort >= most_plans_ || options_.stopped())
        break;
      if (archive_.Open(state.bound, state.dollars_per_hour)) {
        planner_.Plan(families_.Get(state.family, &made), state);
      }
    }
  }

  template <typename Value>
  void Sort(const Value& value) {
    const auto key = [&](const State& state) {
      const double seconds = value(state);
      return std::pair(seconds * (archive_.by_cost() ? state.dollars_per_hour : 1), seconds);
    };
    std::stable_sort(states_.begin(), states_.end(),
                     [&](const State& a, const State& b) { return key(a) < key(b); });
  }

  void ProveStates() {
    // Plans found since the states were listed make better bounds worth while.
    std::vector<State> open;
    int64_t made = 0;
    std::stable_sort(states_.begin(), states_.end(),
                     [](const State& a, const State& b) { return a.family < b.family; });
    for (State& state : states_) {
      const double cutoff = archive_.Cutoff(state.dollars_per_hour);
      if (!archive_.Open(state.bound, state.dollars_per_hour)) continue;
      if (!options_.stopped())
        state.bound = families_.Get(state.family, &made).bounds->Tightened(state.stages, cutoff);
      if (archive_.Open(state.bound, state.dollars_per_hour)) open.push_back(std::move(state));
    }
    states_ = std::move(open);
    Sort([](const State& state) { return state.bound; });
    const int64_t most = prover_.steps() + most_proof_;
    for (const State& state : states_) {
      if (!archive_.Open(state.bound, state.dollars_per_hour)) continue;
      if (prover_.steps() + made >= most || options_.stopped() ||
          !prover_.Prove(families_.Get(state.family, &made), state, most - made)) {
        archive_.LeaveOpen(state.bound, state.least_dollars());
      }
    }
  }

  const SearchOptions& options_;
  const bool whole_;
  Coster coster_;
  FamilySpace space_;
  FamilyTables families_;
  Archive archive_;
  StateLister lister_;
  Planner planner_;
  Prover prover_;
  std::vector<State> states_;  // of the families that are searched
  int64_t most_states_ = 0, most_plans_ = 0, most_proof_ = 0;
};

// Searches what has one value of one degree only, for each of them: fewer plans, of which more are
// looked at. What is better than the result becomes its front.
void SearchEachDegree(const Problem& problem, SearchOptions options, Result* result) {
  int64_t nodes = 0;
  for (const NodeGroup& group : problem.cluster.groups) nodes += group.cluster.nodes;
  if (nodes > kMostPartNodes) return;
  Problem part = problem;
  std::vector<Fixes> parts;
  const auto add = [&](std::optional<int64_t> Fixes::*fix, int64_t value) {
    if ((problem.fixes.*fix).has_value()) return;
    parts.push_back(problem.fixes);
    parts.back().*fix = value;
  };
  const Degrees degrees = DegreesWith(problem, problem.fixes);
  for (const auto& [key, fix] : {std::pair("tp", &Fixes::tp), std::pair("dp", &Fixes::dp),
                                 std::pair("mbs", &Fixes::micro_batch)}) {
    for (const int64_t value : degrees.values.at(key)) add(fix, value);
  }
  const int64_t stages = std::min(degrees.most_stages, MostStages(problem.model.layers()));
  for (int64_t value = 1; value <= std::min(stages, kMostPartStages); ++value) {
    add(&Fixes::pp, value);
  }
  const int64_t share = kPartsShare * std::max<int64_t>(1, std::ssize(parts));
  options.state_effort /= share;
  options.plan_effort /= share;
  options.proof_effort /= share;
  for (const Fixes& fixes : parts) {
    if (options.stopped()) break;
    part.fixes = fixes;
    const Choice& best = result->front.front();
    if (options.objective == Objective::kCost) {
      options.most_dollars = best.step_dollars() * options.steps;
      if (best.dollars_per_hour == 0) options.most_seconds = best.seconds * options.steps;
    } else {
      options.most_seconds = best.seconds * options.steps;
    }
    const Result found = Searcher(part, options, /*whole=*/false).Run();
    result->evaluated += found.evaluated;
    result->proof_steps += found.proof_steps;
    result->stopped = result->stopped || found.stopped;
    if (!found.front.empty() && BetterChoice(options.objective, found.front.front(), best)) {
      result->front = found.front;
    }
  }
}

}  // namespace

absl::StatusOr<Result> SearchPlans(const Problem& problem, const SearchOptions& options) {
  MW_RETURN_IF_ERROR(CheckProblem(problem));
  MW_RETURN_IF_ERROR(CheckDegrees(problem));
  if (options.objective != Objective::kTime || options.most_dollars.has_value()) {
    MW_RETURN_IF_ERROR(CheckPricesKnown(problem.cluster));
  }
  Result result = Searcher(problem, options, /*whole=*/true).Run();
  const bool single = options.objective != Objective::kPareto && !result.front.empty();
  if (single && !result.proven) SearchEachDegree(problem, options, &result);
  return result;
}

}  // namespace meshwright::transformer::hetero
