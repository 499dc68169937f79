#include "meshwright/intra/uniform_candidates.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "meshwright/solve/solver.h"

namespace meshwright {
namespace {

// What devices along an axis share besides the batch.
enum class Role : uint8_t { kData, kOptimizerState, kState };
constexpr Role kRoles[] = {Role::kData, Role::kOptimizerState, Role::kState};

// Of larger programs axes have the same role: each choice takes a pass over the program.
constexpr size_t kMostOpsForProducts = 4000;
constexpr int kSweeps = 3;

bool IsContraction(const Op& op) {
  return op.kind == OpKind::kInstruction &&
         (op.instruction->opcode == Opcode::kDot || op.instruction->opcode == Opcode::kConvolution);
}

class UniformChoices {
 public:
  UniformChoices(const Graph& graph, const CostModel& cost_model, const PlannerOptions& options,
                 const PreparedProblem& prepared)
      : graph_(graph), cost_model_(cost_model), options_(options), prepared_(prepared) {
    is_state_.assign(graph.parameters.size(), false);
    for (int32_t tied : prepared.inputs().tied) {
      if (tied >= 0) is_state_[static_cast<size_t>(tied)] = true;
    }
    // Values that some contraction of the step reads, through whatever operators and loops.
    contracted_.assign(graph.values.size(), false);
    const auto mark = [&](ValueId v) {
      const bool changed = !contracted_[v.index()];
      contracted_[v.index()] = true;
      return changed;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = graph.ops.size(); i-- > 0;) {
        const Op& op = graph.ops[i];
        const bool reads =
            IsContraction(op) || std::any_of(op.results.begin(), op.results.end(),
                                             [&](ValueId v) { return contracted_[v.index()]; });
        if (!reads) continue;
        for (ValueId v : op.operands) changed |= mark(v);
      }
      for (const Carry& carry : graph.carries) {
        if (!contracted_[carry.parameter.index()] &&
            !(carry.exit.valid() && contracted_[carry.exit.index()]))
          continue;
        changed |= mark(carry.init);
        if (!carry.invariant) changed |= mark(carry.next);
      }
    }
  }

  // Axes and their roles, in order.
  std::optional<std::vector<int32_t>> With(const std::vector<std::pair<AxisIndex, Role>>& roles) {
    PlannerOptions options = options_;
    options.completion = Completion::kPropagate;
    options.given_parameters.clear();
    options.given_outputs.clear();
    const Pins& pins = prepared_.inputs().pins;
    std::vector<std::optional<Sharding>> given = pins.parameters;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].has_value()) given[i] = ShardingOf(i, roles);
      options.given_parameters.emplace_back(static_cast<int32_t>(i), *given[i]);
    }
    const std::vector<int32_t>& tied = prepared_.inputs().tied;
    for (size_t i = 0; i < tied.size(); ++i) {
      if (tied[i] >= 0) {
        options.given_outputs.emplace_back(static_cast<int32_t>(i),
                                           *given[static_cast<size_t>(tied[i])]);
      } else if (pins.outputs[i].has_value()) {
        options.given_outputs.emplace_back(static_cast<int32_t>(i), *pins.outputs[i]);
      }
    }
    absl::StatusOr<std::unique_ptr<PreparedProblem>> propagated =
        PreparedProblem::Make(graph_, cost_model_, options);
    if (!propagated.ok()) return std::nullopt;
    const absl::StatusOr<solve::Solution> solution =
        solve::Solve((*propagated)->problem(), options.solver);
    if (!solution.ok() || !HasAnswer(*solution)) return std::nullopt;
    return ChoiceOf((*propagated)->Decode(solution->choice));
  }

 private:
  const Mesh& mesh() const { return cost_model_.mesh(); }

  Sharding ShardingOf(size_t parameter,
                      const std::vector<std::pair<AxisIndex, Role>>& roles) const {
    const ValueId value = graph_[graph_.parameters[parameter]].results[0];
    const Shape& shape = graph_[value].shape;
    AxisList axes;
    for (const auto& [axis, role] : roles) {
      const bool shared = !is_state_[parameter] || role == Role::kState ||
                          (role == Role::kOptimizerState && !contracted_[value.index()]);
      if (shared) axes.push_back(axis);
    }
    Sharding sharding = Sharding::Replicated(shape.rank());
    int64_t chosen = -1;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (axes.empty() || shape.dims[d] % mesh().Size(axes) != 0) continue;
      if (chosen >= 0 && (!is_state_[parameter] || shape.dims[d] <= shape.dims[chosen])) continue;
      chosen = d;
    }
    if (chosen >= 0) sharding.dims[chosen] = axes;
    return sharding;
  }

  // The choice of `prepared_` nearest to `plan`, a plan by propagation.
  std::vector<int32_t> ChoiceOf(const IntraPlan& plan) const {
    const PlanningProblem& planning = prepared_.planning();
    const ShardingLists& lists = prepared_.sets().lists();
    std::vector<int32_t> choice(planning.nodes.size(), 0);
    std::vector<int32_t> open;  // nodes that the plan leaves a choice
    for (size_t i = 0; i < planning.nodes.size(); ++i) {
      const PlanningNode& node = planning.nodes[i];
      const std::vector<int64_t>& cost = planning.problem.nodes[i].cost;
      const auto keep_first = [&](auto matches) {
        for (size_t s = 0; s < node.allowed.size(); ++s) {
          if (cost[s] >= solve::kForbidden || !matches(node.allowed[s])) continue;
          choice[i] = static_cast<int32_t>(s);
          return true;
        }
        return false;
      };
      bool known = false;
      if (node.kind == PlanningNode::Kind::kGroup) {
        const PlannedOp& op = plan.ops[node.op.index()];
        known = keep_first([&](int32_t s) { return node.set->strategies[s] == op.strategy; });
      } else {
        const Sharding& kept = plan.shardings[node.value.index()];
        const ShardingListId list =
            node.set->stored.valid() ? node.set->stored : node.set->results[0];
        known = keep_first([&](int32_t s) { return lists[list][s] == kept; }) &&
                node.kind != PlanningNode::Kind::kParameter &&
                node.kind != PlanningNode::Kind::kCopy;
      }
      if (!known) open.push_back(static_cast<int32_t>(i));
    }
    Settle(plan, open, &choice);
    return choice;
  }

  // Gives each node of `open` in turn what is cheapest given the others; parameters keep how they
  // are stored.
  void Settle(const IntraPlan& plan, const std::vector<int32_t>& open,
              std::vector<int32_t>* choice) const {
    const PlanningProblem& planning = prepared_.planning();
    const solve::Problem& problem = planning.problem;
    std::vector<std::vector<const solve::Edge*>> edges(problem.nodes.size());
    for (const solve::Edge& edge : problem.edges) {
      edges[edge.a.index()].push_back(&edge);
      edges[edge.b.index()].push_back(&edge);
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (int32_t v : open) {
        const PlanningNode& node = planning.nodes[v];
        const Sharding* const stored = node.kind == PlanningNode::Kind::kParameter
                                           ? &plan.shardings[node.value.index()]
                                           : nullptr;
        solve::Int128 least = -1;
        for (int32_t s = 0; s < static_cast<int32_t>(node.allowed.size()); ++s) {
          if (stored != nullptr &&
              prepared_.sets().lists()[node.set->stored][node.allowed[s]] != *stored)
            continue;
          solve::Int128 cost = problem.nodes[v].cost[s];
          for (const solve::Edge* edge : edges[v]) {
            cost += edge->a.value == v ? edge->matrix->at(s, (*choice)[edge->b.index()])
                                       : edge->matrix->at((*choice)[edge->a.index()], s);
          }
          if (least < 0 || cost < least) least = cost, (*choice)[v] = s;
        }
      }
    }
  }

  const Graph& graph_;
  const CostModel& cost_model_;
  const PlannerOptions& options_;
  const PreparedProblem& prepared_;
  std::vector<bool> is_state_;    // by parameter
  std::vector<bool> contracted_;  // by value
};

}  // namespace

void OfferUniformChoices(const Graph& graph, const CostModel& cost_model,
                         const PlannerOptions& options, const PreparedProblem& prepared,
                         const std::function<bool(const std::vector<int32_t>&)>& offer) {
  std::vector<AxisIndex> axes;
  for (size_t a = 0; a < cost_model.mesh().rank(); ++a) {
    if (cost_model.mesh().axes[a].size > 1) axes.push_back(static_cast<AxisIndex>(a));
  }
  if (axes.empty()) return;
  UniformChoices choices(graph, cost_model, options, prepared);
  const bool products = axes.size() <= 2 && graph.ops.size() <= kMostOpsForProducts;
  size_t count = std::size(kRoles);
  for (size_t a = 1; products && a < axes.size(); ++a) count *= std::size(kRoles);
  for (size_t number = 0; number < count; ++number) {
    std::vector<std::pair<AxisIndex, Role>> roles;
    size_t rest = number;
    for (AxisIndex axis : axes) {
      roles.emplace_back(axis, kRoles[rest % std::size(kRoles)]);
      if (products) rest /= std::size(kRoles);
    }
    const std::optional<std::vector<int32_t>> choice = choices.With(roles);
    if (choice.has_value() && !offer(*choice)) return;
  }
}

}  // namespace meshwright
