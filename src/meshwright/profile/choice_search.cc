#include "meshwright/profile/choice_search.h"

#include <algorithm>

#include "meshwright/base/parallel.h"
#include "meshwright/base/status.h"
#include "meshwright/solve/solver.h"

namespace meshwright {
namespace {

// How near to the optimum a segment is planned under one choice, and the work that may go into it.
constexpr double kChoiceGap = 1e-3;
constexpr int64_t kChoiceSteps = 20'000'000;

}  // namespace

ChoiceSearch::ChoiceSearch(std::vector<std::vector<ChoiceOption>> decisions,
                           std::span<solve::SolverMemory> memories)
    : decisions_(std::move(decisions)), memories_(memories) {
  options_.tie_outputs_by_position = false;  // slices say what they replace
  options_.solver.target_gap = kChoiceGap;
  options_.solver.max_search_steps = kChoiceSteps;
  options_.solver.threads = 1;
}

absl::StatusOr<std::unique_ptr<ChoiceSearch>> ChoiceSearch::Make(
    const Graph& graph, const CostModel& cost_model,
    std::vector<std::vector<ChoiceOption>> decisions, std::span<solve::SolverMemory> memories) {
  std::unique_ptr<ChoiceSearch> search(new ChoiceSearch(std::move(decisions), memories));
  MW_ASSIGN_OR_RETURN(search->prepared_,
                      PreparedProblem::Make(graph, cost_model, search->options_));
  search->problem_ = search->prepared_->problem();
  for (solve::Node& node : search->problem_.nodes) node.usages.clear();  // memory has no limit here
  for (const std::vector<ChoiceOption>& options : search->decisions_) {
    std::vector<Restriction>& restrictions = search->restrictions_.emplace_back();
    for (const ChoiceOption& option : options)
      restrictions.push_back(search->RestrictionOf(option));
  }
  search->open_.emplace();
  return search;
}

ChoiceSearch::Restriction ChoiceSearch::RestrictionOf(const ChoiceOption& option) {
  std::vector<solve::Node>& nodes = prepared_->problem().nodes;
  nodes = problem_.nodes;
  for (const auto& [op, strategy] : option.strategies) {
    if (!prepared_->ForceStrategy(op, strategy)) return std::nullopt;
  }
  for (const auto& [parameter, sharding] : option.parameters) {
    if (!prepared_->ForceParameter(parameter, sharding)) return std::nullopt;
  }
  for (const auto& [output, sharding] : option.outputs) {
    if (!prepared_->ForceOutput(output, sharding)) return std::nullopt;
  }
  std::vector<Taken> all;
  for (size_t v = 0; v < nodes.size(); ++v) {
    const std::vector<int64_t>&before = problem_.nodes[v].cost, &after = nodes[v].cost;
    if (before == after) continue;
    Taken& taken = all.emplace_back();
    taken.node = static_cast<int32_t>(v);
    for (size_t s = 0; s < after.size(); ++s) taken.strategies.push_back(before[s] != after[s]);
  }
  return all;
}

std::vector<ChoiceSearch::Decision> ChoiceSearch::DecisionsOf(const std::vector<int32_t>& prefix) {
  std::vector<Decision> decisions;
  for (size_t d = 0; d < prefix.size(); ++d) decisions.emplace_back(d, prefix[d]);
  return decisions;
}

// The problem with `decisions` forced on it.
ChoiceSearch::SolvedRef ChoiceSearch::Solve(const std::vector<Decision>& decisions,
                                            const std::function<bool()>& stop,
                                            solve::SolverMemory* memory) const {
  solve::Problem problem = problem_;
  for (const auto& [d, option] : decisions) {
    const Restriction& restriction = restrictions_[d][option];
    if (!restriction.has_value()) return nullptr;
    for (const Taken& taken : *restriction) {
      std::vector<int64_t>& cost = problem.nodes[taken.node].cost;
      for (size_t s = 0; s < cost.size(); ++s) {
        if (taken.strategies[s]) cost[s] = solve::kForbidden;
      }
    }
  }
  solve::SolverOptions options = options_.solver;
  options.stop = stop;
  const absl::StatusOr<solve::Solution> solution = solve::Solve(problem, options, memory);
  if (!solution.ok() || !HasAnswer(*solution)) return nullptr;
  return std::make_shared<const Solved>(
      Solved{static_cast<double>(solution->bound) / prepared_->ticks(), solution->choice});
}

// Whether `choice`, which is possible without any decision, is so with these.
bool ChoiceSearch::Allows(const std::vector<int32_t>& prefix,
                          const std::vector<int32_t>& choice) const {
  for (const auto& [d, option] : DecisionsOf(prefix)) {
    const Restriction& restriction = restrictions_[d][option];
    if (!restriction.has_value()) return false;
    for (const Taken& taken : *restriction) {
      if (taken.strategies[choice[taken.node]]) return false;
    }
  }
  return true;
}

absl::StatusOr<std::optional<std::vector<int32_t>>> ChoiceSearch::Next(
    const std::function<bool()>& stop) {
  while (!open_.empty()) {
    if (stop && stop()) return absl::CancelledError("stopped");
    TreeNode node = open_.top();
    if (node.solved != nullptr) {
      open_.pop();
      if (node.prefix.size() == decisions_.size()) return std::move(node.prefix);
      Expand(node);
    } else if (Needed(node).has_value()) {
      MW_RETURN_IF_ERROR(SolveAhead(stop));
    } else {
      open_.pop();
      Resolve(std::move(node));
    }
  }
  return std::nullopt;
}

void ChoiceSearch::Expand(const TreeNode& node) {
  const auto options = static_cast<int32_t>(restrictions_[node.prefix.size()].size());
  for (int32_t o = 0; o < options; ++o) {
    if (!restrictions_[node.prefix.size()][o].has_value()) continue;
    TreeNode child;
    child.bound = node.bound;
    child.prefix = node.prefix;
    child.prefix.push_back(o);
    if (Allows(child.prefix, node.solved->choice)) child.solved = node.solved;
    open_.push(std::move(child));
  }
}

// The decisions of the problem that has to be solved before more can be said of an unsolved node;
// nullopt: there is none.
std::optional<std::vector<ChoiceSearch::Decision>> ChoiceSearch::Needed(
    const TreeNode& node) const {
  if (!node.prefix.empty()) {
    const auto relaxation = relaxations_.find(node.last());
    if (relaxation == relaxations_.end()) return std::vector<Decision>{node.last()};
    const SolvedRef& relaxed = relaxation->second;
    if (relaxed == nullptr || relaxed->bound > node.bound || Allows(node.prefix, relaxed->choice))
      return std::nullopt;
  }
  if (node.ahead.has_value()) return std::nullopt;
  return DecisionsOf(node.prefix);
}

// Puts a node of which nothing is Needed back with a higher bound, or a solution if it has one.
void ChoiceSearch::Resolve(TreeNode node) {
  SolvedRef own;
  if (node.ahead.has_value()) own = *node.ahead;
  if (!node.prefix.empty()) {
    const SolvedRef& relaxed = relaxations_.at(node.last());
    if (relaxed == nullptr) return;
    if (Allows(node.prefix, relaxed->choice)) {
      own = relaxed;
    } else if (relaxed->bound > node.bound) {
      node.bound = relaxed->bound;
      open_.push(std::move(node));
      return;
    }
  }
  if (own == nullptr) return;
  node.bound = std::max(node.bound, own->bound);
  node.solved = std::move(own);
  open_.push(std::move(node));
}

// Solves what the first nodes need, as many problems as there are threads. Answers are used when
// their nodes come up, so that the order does not depend on how many there are.
absl::Status ChoiceSearch::SolveAhead(const std::function<bool()>& stop) {
  struct Task {
    std::vector<Decision> decisions;
    size_t node;
    SolvedRef solved;
  };
  std::vector<Task> tasks;
  std::vector<TreeNode> first;
  while (!open_.empty() && open_.top().solved == nullptr && first.size() < memories_.size()) {
    std::optional<std::vector<Decision>> needed = Needed(open_.top());
    const bool is_new = needed.has_value() &&
                        std::none_of(tasks.begin(), tasks.end(),
                                     [&](const Task& task) { return task.decisions == *needed; });
    if (is_new) tasks.push_back({*std::move(needed), first.size(), nullptr});
    first.push_back(open_.top());
    open_.pop();
  }
  ForEachParallel(tasks.size(), static_cast<int>(memories_.size()), [&](size_t i) {
    tasks[i].solved = Solve(tasks[i].decisions, stop, &memories_[i]);
  });
  // What was stopped in the middle says nothing.
  const bool stopped = stop && stop();
  for (Task& task : tasks) {
    if (stopped) break;
    TreeNode& node = first[task.node];
    if (task.decisions.size() == 1) {
      relaxations_[task.decisions[0]] = std::move(task.solved);
    } else {
      node.ahead = std::move(task.solved);
    }
  }
  for (TreeNode& node : first) open_.push(std::move(node));
  return stopped ? absl::CancelledError("stopped") : absl::OkStatus();
}

absl::StatusOr<IntraPlan> ChoiceSearch::Plan(const std::vector<int32_t>& options) {
  const SolvedRef solved = Solve(DecisionsOf(options), nullptr, &memories_[0]);
  if (solved == nullptr) return absl::NotFoundError("no plan of the segment has this choice");
  return prepared_->Decode(solved->choice);
}

}  // namespace meshwright
