#include "meshwright/profile/choice_search.h"

#include <algorithm>

#include "meshwright/base/status.h"
#include "meshwright/solve/parallel.h"
#include "meshwright/solve/solver.h"

namespace meshwright {
namespace {

// How near to the optimum a segment is planned under one choice, and the work that may go into it.
constexpr double kChoiceGap = 1e-3;
constexpr int64_t kChoiceSteps = 20'000'000;

}  // namespace

ChoiceSearch::ChoiceSearch(std::vector<std::vector<ChoiceOption>> decisions, int threads)
    : decisions_(std::move(decisions)), threads_(threads) {
  options_.tie_outputs_by_position = false;  // slices say what they replace
  options_.solver.target_gap = kChoiceGap;
  options_.solver.max_search_steps = kChoiceSteps;
  options_.solver.threads = 1;
}

absl::StatusOr<std::unique_ptr<ChoiceSearch>> ChoiceSearch::Make(
    const Graph& graph, const CostModel& cost_model,
    std::vector<std::vector<ChoiceOption>> decisions, int threads) {
  std::unique_ptr<ChoiceSearch> search(new ChoiceSearch(std::move(decisions), threads));
  MW_ASSIGN_OR_RETURN(search->prepared_,
                      PreparedProblem::Make(graph, cost_model, search->options_));
  search->nodes_ = search->prepared_->problem().nodes;
  return search;
}

bool ChoiceSearch::Apply(const std::vector<int32_t>& prefix) {
  prepared_->problem().nodes = nodes_;
  for (size_t d = 0; d < prefix.size(); ++d) {
    const ChoiceOption& option = decisions_[d][prefix[d]];
    for (const auto& [op, strategy] : option.strategies) {
      if (!prepared_->ForceStrategy(op, strategy)) return false;
    }
    for (const auto& [parameter, sharding] : option.parameters) {
      if (!prepared_->ForceParameter(parameter, sharding)) return false;
    }
    for (const auto& [output, sharding] : option.outputs) {
      if (!prepared_->ForceOutput(output, sharding)) return false;
    }
  }
  return true;
}

std::optional<ChoiceSearch::TreeNode> ChoiceSearch::Solve(
    const solve::Problem& problem, const std::vector<int32_t>& prefix) const {
  const absl::StatusOr<solve::Solution> solution = solve::Solve(problem, options_.solver);
  if (!solution.ok() || !HasAnswer(*solution)) return std::nullopt;
  return TreeNode{static_cast<double>(solution->bound) / prepared_->ticks(), prefix,
                  solution->choice};
}

std::optional<std::vector<int32_t>> ChoiceSearch::Next() {
  if (!started_) {
    started_ = true;
    Apply({});
    if (std::optional<TreeNode> root = Solve(prepared_->problem(), {}))
      open_.push(*std::move(root));
  }
  while (!open_.empty()) {
    const TreeNode node = open_.top();
    open_.pop();
    if (node.prefix.size() == decisions_.size()) return node.prefix;
    Expand(node);
  }
  return std::nullopt;
}

void ChoiceSearch::Expand(const TreeNode& node) {
  std::vector<std::vector<int32_t>> prefixes;
  std::vector<solve::Problem> problems;
  for (size_t o = 0; o < decisions_[node.prefix.size()].size(); ++o) {
    std::vector<int32_t> prefix = node.prefix;
    prefix.push_back(static_cast<int32_t>(o));
    if (!Apply(prefix)) continue;
    if (!solve::Evaluate(prepared_->problem(), node.choice).forbidden) {
      open_.push({node.bound, std::move(prefix), node.choice});
      continue;
    }
    prefixes.push_back(std::move(prefix));
    problems.push_back(prepared_->problem());
  }
  std::vector<std::optional<TreeNode>> children(problems.size());
  solve::ForEachParallel(problems.size(), threads_,
                         [&](size_t i) { children[i] = Solve(problems[i], prefixes[i]); });
  for (std::optional<TreeNode>& child : children) {
    if (!child.has_value()) continue;
    child->bound = std::max(child->bound, node.bound);
    open_.push(*std::move(child));
  }
}

absl::StatusOr<IntraPlan> ChoiceSearch::Plan(const std::vector<int32_t>& options) {
  std::optional<TreeNode> node;
  if (Apply(options)) node = Solve(prepared_->problem(), options);
  if (!node.has_value()) return absl::NotFoundError("no plan of the segment has this choice");
  return prepared_->Decode(node->choice);
}

}  // namespace meshwright
