#include "meshwright/intra/prepared_problem.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/python_callback.h"
#include "meshwright/intra/decode.h"
#include "meshwright/intra/joined_axes.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/partitioner.h"
#include "meshwright/intra/propagate.h"
#include "meshwright/sharding/given_call_rules.h"

namespace meshwright {
namespace {

// Axes longer than 1 that planning takes on: the ways to shard a value, and with them time,
// multiply with every axis.
constexpr int kMaxAxes = 3;

absl::Status CheckMesh(const Mesh& mesh) {
  const auto axes = std::count_if(mesh.axes.begin(), mesh.axes.end(),
                                  [](const MeshAxis& axis) { return axis.size > 1; });
  if (axes <= kMaxAxes) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("the mesh has ", axes,
                                           " axes longer than 1, planning takes up to ", kMaxAxes,
                                           "; join some, as 2x2x2x2 to 4x4"));
}

std::vector<std::string> UnsupportedWarnings(const Graph& graph, const IntraPlan& plan) {
  std::map<std::string, std::vector<std::string>> by_opcode;
  std::map<std::string, std::string> drafts;  // of calls: a rule to be completed
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (plan.ops[i].rule.supported) continue;
    const Instruction& instruction = *graph.ops[i].instruction;
    if (IsPythonCallback(instruction)) continue;  // sees whole arrays, as its author knows
    std::string kind(OpcodeName(instruction.opcode));
    if (!instruction.custom_call_target.empty())
      StrAppend(&kind, " to ", instruction.custom_call_target);
    if (instruction.opcode == Opcode::kCustomCall)
      drafts.try_emplace(kind, DraftCallRule(graph, graph.ops[i]));
    by_opcode[kind].push_back(graph.ops[i].name);
  }
  std::vector<std::string> warnings;
  for (const auto& [kind, names] : by_opcode) {
    warnings.push_back(StrCat("no sharding rule for ", kind, ": ", names.size(),
                              names.size() == 1 ? " operator is" : " operators are",
                              " replicated (", names[0], names.size() > 1 ? ", ...)" : ")"));
    if (const auto draft = drafts.find(kind); draft != drafts.end())
      StrAppend(&warnings.back(), "; a file for --rules may say how it is sharded, from the line `",
                draft->second, "` on");
  }
  return warnings;
}

}  // namespace

PreparedProblem::PreparedProblem(const Graph& graph, const CostModel& cost_model,
                                 const PlannerOptions& options)
    : graph_(graph),
      options_(options),
      // Published models bring strategies of their own.
      propagated_(options.completion == Completion::kPropagate &&
                  options.space == StrategySpace::kFull),
      partitioner_(propagated_ && cost_model.in_seconds()
                       ? std::make_unique<PartitionerModel>(cost_model)
                       : nullptr),
      cost_model_(partitioner_ == nullptr ? cost_model : *partitioner_) {}

absl::StatusOr<std::unique_ptr<PreparedProblem>> PreparedProblem::Make(
    const Graph& graph, const CostModel& cost_model, const PlannerOptions& options) {
  std::unique_ptr<PreparedProblem> prepared(new PreparedProblem(graph, cost_model, options));
  MW_RETURN_IF_ERROR(prepared->Build());
  return prepared;
}

absl::Status PreparedProblem::Build() {
  const Mesh& mesh = cost_model_.mesh();
  MW_RETURN_IF_ERROR(CheckMesh(mesh));
  warnings_ = graph_.warnings;
  const auto late = [this] {
    return options_.optional && options_.solver.stop && options_.solver.stop();
  };
  if (late()) return OutOfTime();
  fusion_ = AnalyzeFusion(graph_);
  schedule_ = ScheduleForMemory(graph_, fusion_);
  intervals_ = Liveness(graph_, fusion_, schedule_);
  deferred_ = DeferUnneeded(graph_, schedule_);
  deferred_intervals_ = Liveness(graph_, fusion_, deferred_);
  // XLA knows of donated buffers only.
  tied_ = TiedParameters(graph_, options_.tie_outputs_by_position && !propagated_);
  for (const auto& [output, parameter] : options_.ties) {
    if (tied_[output] < 0) tied_[output] = parameter;
  }
  MW_ASSIGN_OR_RETURN(pins_, ResolvePins(graph_, mesh, options_.fixes, &tied_));
  for (const auto& [i, sharding] : options_.given_parameters) pins_.parameters[i] = sharding;
  for (const auto& [i, sharding] : options_.given_outputs) pins_.outputs[i] = sharding;
  if (propagated_) PropagatePins(graph_, fusion_, mesh, tied_, &pins_);
  std::vector<bool> pinned(graph_.values.size());
  for (size_t i = 0; i < pinned.size(); ++i) pinned[i] = pins_.values[i].has_value();
  groups_ = FormGroups(graph_, fusion_, pinned);
  if (late()) return OutOfTime();
  sets_ = std::make_unique<CandidateSets>(graph_, fusion_, groups_, cost_model_, options_.space,
                                          FindGivenCuts(graph_, mesh, pins_));
  inputs_.emplace(Inputs(intervals_));
  MW_ASSIGN_OR_RETURN(planning_, BuildProblem(*inputs_, sets_.get()));
  if (late()) return OutOfTime();
  for (const auto& [op, strategy] : options_.given_strategies) ForceStrategy(op, strategy);
  for (const auto& [value, sharding] : options_.given_values) ForceValue(value, sharding);
  return absl::OkStatus();
}

ProblemInputs PreparedProblem::Inputs(const std::vector<Interval>& intervals) const {
  return {.graph = graph_,
          .cost_model = cost_model_,
          .fusion = fusion_,
          .groups = groups_,
          .intervals = intervals,
          .pins = pins_,
          .tied = tied_,
          .space = options_.space};
}

std::vector<std::vector<int32_t>> PreparedProblem::ChoicesToStartFrom(
    const solve::SolverOptions& solver) const {
  if (pins_.complete || options_.space != StrategySpace::kFull) return {};
  return ChoicesOfJoinedAxes(*inputs_, *sets_, planning_, solver);
}

bool PreparedProblem::Force(solve::NodeId node, absl::FunctionRef<bool(int32_t)> keep) {
  const std::vector<int32_t>& allowed = planning_.nodes[node.index()].allowed;
  std::vector<int64_t>& cost = planning_.problem.nodes[node.index()].cost;
  bool possible = false;
  for (size_t s = 0; s < allowed.size(); ++s)
    possible |= keep(allowed[s]) && cost[s] < solve::kForbidden;
  for (size_t s = 0; possible && s < allowed.size(); ++s) {
    if (!keep(allowed[s])) cost[s] = solve::kForbidden;
  }
  return possible;
}

bool PreparedProblem::ForceStrategy(OpId op, const Strategy& strategy) {
  const solve::NodeId node = planning_.node_of_op[op.index()];
  if (!node.valid() || !groups_.is_leader(op)) return false;
  const PlanningNode& planning = planning_.nodes[node.index()];
  if (planning.kind != PlanningNode::Kind::kGroup) return false;
  return Force(node, [&](int32_t s) { return planning.set->strategies[s] == strategy; });
}

bool PreparedProblem::ForceValue(ValueId value, const Sharding& sharding) {
  const Port& offered = planning_.offered[value.index()];
  if (!offered.node.valid()) return false;
  const PlanningNode::Kind kind = planning_.nodes[offered.node.index()].kind;
  if (kind != PlanningNode::Kind::kShared && kind != PlanningNode::Kind::kLoopValue) return false;
  const std::vector<Sharding>& list = sets_->lists()[offered.list];
  return Force(offered.node, [&](int32_t s) { return list[s] == sharding; });
}

bool PreparedProblem::ForceParameter(int32_t parameter, const Sharding& sharding) {
  const solve::NodeId node = planning_.node_of_op[graph_.parameters[parameter].index()];
  if (!node.valid()) return true;
  const std::vector<Sharding>& stored = sets_->lists()[planning_.nodes[node.index()].set->stored];
  return Force(node, [&](int32_t s) { return stored[s] == sharding; });
}

bool PreparedProblem::ForceOutput(int32_t output, const Sharding& sharding) {
  const solve::NodeId node = planning_.node_of_op[graph_.outputs[output].index()];
  if (!node.valid()) return true;
  const std::vector<Sharding>& leaves =
      sets_->lists()[planning_.nodes[node.index()].set->operands[0]];
  return Force(node, [&](int32_t s) { return leaves[s] == sharding; });
}

std::string PreparedProblem::NameOf(solve::NodeId id) const {
  const PlanningNode& node = planning_.nodes[id.index()];
  if (node.kind == PlanningNode::Kind::kParameter) return ParameterName(graph_, node.op);
  if (node.value.valid()) return graph_[graph_[node.value].producer].name;
  return graph_[node.op].kind == OpKind::kOutput ? OutputName(graph_, node.op)
                                                 : graph_[node.op].name;
}

absl::Status PreparedProblem::NoAnswer(const solve::Solution& solution, bool timed_out) const {
  if (solution.outcome != solve::Outcome::kInfeasible) {
    if (options_.solver.stop && options_.solver.stop())
      return absl::ResourceExhaustedError("interrupted before a plan was found");
    if (timed_out) return OutOfTime();
    return absl::ResourceExhaustedError(
        "no plan found by the work that a search is allowed, and none proven impossible");
  }
  std::string why = "shardings that are given contradict each other";
  if (solution.infeasible_edge >= 0) {
    const solve::Edge& edge = planning_.problem.edges[solution.infeasible_edge];
    why =
        StrCat("no strategy of \"", NameOf(edge.b), "\" goes with one of \"", NameOf(edge.a), "\"");
  } else if (solution.infeasible_node >= 0) {
    why = StrCat("no strategy of \"", NameOf(solve::NodeId(solution.infeasible_node)),
                 "\" goes with those of its operands and users");
  }
  return absl::InvalidArgumentError(StrCat(
      "no plan is possible: ", why,
      options_.space == StrategySpace::kAlpa
          ? " in Alpa's space, where operators keep the sharding of an operand; fix less, or "
            "plan without --cost-model alpha_beta"
          : "; fix less"));
}

IntraPlan PreparedProblem::Decode(const std::vector<int32_t>& choice) const {
  return DecodePlan(*inputs_, planning_, *sets_, schedule_, choice);
}

IntraPlan PreparedProblem::DecodeAsRun(const std::vector<int32_t>& choice,
                                       int64_t budget_bytes) const {
  if (!cost_model_.overlap().has_value()) return Decode(choice);
  ProblemInputs inputs = Inputs(intervals_);
  inputs.as_compiled = true;
  IntraPlan plan = DecodePlan(inputs, planning_, *sets_, schedule_, choice);
  const int64_t memory = std::min(budget_bytes, cost_model_.mesh().cluster.device.memory_bytes);
  if (plan.peak.bytes > budget_bytes || plan.collectives.empty()) return plan;
  ProblemInputs later = Inputs(deferred_intervals_);
  later.as_compiled = true;
  IntraPlan deferred = DecodePlan(later, planning_, *sets_, deferred_, choice);
  if (deferred.peak.bytes <= memory) return deferred;
  plan.step_seconds = std::max(plan.step_seconds, deferred.step_seconds);
  return plan;
}

solve::Problem PreparedProblem::Priced(ProblemCosts& costs, const MovePricing& pricing,
                                       bool break_ties) const {
  solve::Problem problem = planning_.problem;
  costs.Fill(planning_, pricing, break_ties, &problem);
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    for (size_t s = 0; s < problem.nodes[i].cost.size(); ++s) {
      if (planning_.problem.nodes[i].cost[s] >= solve::kForbidden)
        problem.nodes[i].cost[s] = solve::kForbidden;
    }
  }
  return problem;
}

std::vector<std::string> PreparedProblem::WarningsOf(const IntraPlan& plan) const {
  std::vector<std::string> warnings = warnings_;
  warnings.insert(warnings.end(), pins_.partly_applied.begin(), pins_.partly_applied.end());
  for (std::string& w : UnsupportedWarnings(graph_, plan)) warnings.push_back(std::move(w));
  // Last: what is not known costs more than what somebody else wished for.
  if (!pins_.unused_annotations.empty()) warnings.push_back(pins_.unused_annotations);
  return warnings;
}

bool HasAnswer(const solve::Solution& solution) {
  return solution.outcome == solve::Outcome::kOptimal ||
         solution.outcome == solve::Outcome::kFeasible;
}

absl::Status OutOfTime() {
  return absl::ResourceExhaustedError(
      "no plan found before the deadline; give it more time with --deadline");
}

}  // namespace meshwright
