#include "meshwright/intra/joined_axes.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/intra/candidates.h"

namespace meshwright {
namespace {

// What the plans of joined meshes together may take of the search's time and steps.
constexpr double kShare = 0.2;

Mesh JoinedMesh(const Mesh& mesh, AxisIndex axis) {
  Mesh joined = mesh;
  joined.axes[axis] = mesh.Combined({axis, static_cast<AxisIndex>(axis + 1)});
  joined.axes.erase(joined.axes.begin() + axis + 1);
  return joined;
}

AxisList Split(const AxisList& list, AxisIndex axis) {
  AxisList split;
  for (AxisIndex a : list) {
    split.push_back(a > axis ? static_cast<AxisIndex>(a + 1) : a);
    if (a == axis) split.push_back(static_cast<AxisIndex>(axis + 1));
  }
  return split;
}

std::optional<AxisList> Join(const AxisList& list, AxisIndex axis) {
  AxisList joined;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == axis && (++i == list.size() || list[i] != axis + 1)) return std::nullopt;
    if (list[i] == axis + 1 && (i == 0 || list[i - 1] != axis)) return std::nullopt;
    joined.push_back(list[i] > axis ? static_cast<AxisIndex>(list[i] - 1) : list[i]);
  }
  return joined;
}

Pins JoinPins(Pins pins, AxisIndex axis) {
  for (auto* shardings : {&pins.parameters, &pins.outputs, &pins.values}) {
    for (std::optional<Sharding>& sharding : *shardings) {
      if (sharding.has_value()) sharding = JoinAxis(*std::move(sharding), axis);
    }
  }
  return pins;
}

Strategy SplitStrategy(const Strategy& joined, AxisIndex axis) {
  Strategy split;
  for (size_t a = 0; a < joined.size(); ++a) {
    split.push_back(joined[a]);
    if (a == axis) split.push_back(joined[a]);
  }
  split.set_order(Split(joined.order(), axis));
  return split;
}

// Whether strategy `s` of `set` shards as strategy `j` of the joined set does.
bool SameStrategy(const CandidateSets& sets, const CandidateSet& set, int32_t s,
                  const CandidateSets& joined_sets, const CandidateSet& joined, int32_t j,
                  AxisIndex axis) {
  if (set.strategies[s] != SplitStrategy(joined.strategies[j], axis)) return false;
  // Gatherings of parameters share the strategy of what they gather.
  return !set.stored.valid() || sets.lists()[set.results[0]][s] ==
                                    SplitAxis(joined_sets.lists()[joined.results[0]][j], axis);
}

std::vector<int32_t> ChoiceOf(const PlanningProblem& problem, const CandidateSets& sets,
                              const PlanningProblem& joined, const CandidateSets& joined_sets,
                              const std::vector<int32_t>& joined_choice, AxisIndex axis) {
  const auto identity = [](const PlanningNode& node) {
    return std::tuple(static_cast<int>(node.kind), node.op.value, node.value.value);
  };
  absl::flat_hash_map<decltype(identity(joined.nodes[0])), size_t> node_of;
  for (size_t i = 0; i < joined.nodes.size(); ++i) node_of[identity(joined.nodes[i])] = i;
  std::vector<int32_t> choice(problem.nodes.size(), 0);
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const PlanningNode& node = problem.nodes[i];
    const auto found = node_of.find(identity(node));
    if (found == node_of.end()) continue;
    const solve::NodeId other(found->second);
    const int32_t chosen = joined.StrategyOf(other, joined_choice);
    const auto same = std::find_if(node.allowed.begin(), node.allowed.end(), [&](int32_t s) {
      return SameStrategy(sets, *node.set, s, joined_sets, *joined.nodes[found->second].set, chosen,
                          axis);
    });
    if (same != node.allowed.end()) choice[i] = static_cast<int32_t>(same - node.allowed.begin());
  }
  return choice;
}

}  // namespace

JoinedCostModel::JoinedCostModel(const CostModel& whole, AxisIndex axis)
    : CostModel(JoinedMesh(whole.mesh(), axis)), whole_(whole), axis_(axis) {}

double JoinedCostModel::CollectiveSeconds(CollectiveKind kind, const AxisList& axes,
                                          int64_t bytes) const {
  return whole_.CollectiveSeconds(kind, Split(axes, axis_), bytes);
}

double JoinedCostModel::ParameterSeconds(const Shape& shape, const Sharding& sharding) const {
  return whole_.ParameterSeconds(shape, SplitAxis(sharding, axis_));
}

Sharding SplitAxis(Sharding sharding, AxisIndex axis) {
  for (AxisList& list : sharding.dims) list = Split(list, axis);
  sharding.unreduced = Split(sharding.unreduced, axis);
  return sharding;
}

std::optional<Sharding> JoinAxis(Sharding sharding, AxisIndex axis) {
  for (AxisList& list : sharding.dims) {
    const std::optional<AxisList> joined = Join(list, axis);
    if (!joined.has_value()) return std::nullopt;
    list = *joined;
  }
  const std::optional<AxisList> joined = Join(sharding.unreduced, axis);
  if (!joined.has_value()) return std::nullopt;
  sharding.unreduced = *joined;
  return sharding;
}

std::vector<std::vector<int32_t>> ChoicesOfJoinedAxes(const ProblemInputs& inputs,
                                                      const CandidateSets& sets,
                                                      const PlanningProblem& problem,
                                                      const solve::SolverOptions& solver) {
  const std::vector<MeshAxis>& axes = inputs.cost_model.mesh().axes;
  const auto is_long = [](const MeshAxis& axis) { return axis.size > 1; };
  if (std::count_if(axes.begin(), axes.end(), is_long) < 3) return {};
  std::vector<AxisIndex> first;
  for (size_t a = 0; a + 1 < axes.size(); ++a) {
    if (is_long(axes[a]) && is_long(axes[a + 1])) first.push_back(static_cast<AxisIndex>(a));
  }
  std::vector<std::vector<int32_t>> choices;
  for (AxisIndex axis : first) {
    if (solver.stop && solver.stop()) break;
    const JoinedCostModel cost_model(inputs.cost_model, axis);
    const Pins pins = JoinPins(inputs.pins, axis);
    CandidateSets joined_sets(inputs.graph, inputs.fusion, inputs.groups, cost_model, inputs.space,
                              FindGivenCuts(inputs.graph, cost_model.mesh(), pins));
    const ProblemInputs joined_inputs{.graph = inputs.graph,
                                      .cost_model = cost_model,
                                      .fusion = inputs.fusion,
                                      .groups = inputs.groups,
                                      .intervals = inputs.intervals,
                                      .pins = pins,
                                      .tied = inputs.tied,
                                      .space = inputs.space};
    absl::StatusOr<PlanningProblem> joined = BuildProblem(joined_inputs, &joined_sets);
    if (!joined.ok()) continue;
    joined->problem.usage_limit = problem.problem.usage_limit;
    solve::SolverOptions options = solver;
    const double share = kShare / static_cast<double>(first.size());
    options.deadline_seconds *= share;
    options.max_search_steps =
        static_cast<int64_t>(static_cast<double>(options.max_search_steps) * share);
    const absl::StatusOr<solve::Solution> solution = solve::Solve(joined->problem, options);
    if (!solution.ok() || solution->choice.empty()) continue;
    choices.push_back(ChoiceOf(problem, sets, *joined, joined_sets, solution->choice, axis));
  }
  return choices;
}

}  // namespace meshwright
