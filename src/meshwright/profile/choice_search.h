#ifndef MESHWRIGHT_PROFILE_CHOICE_SEARCH_H_
#define MESHWRIGHT_PROFILE_CHOICE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/intra/planner.h"
#include "meshwright/intra/prepared_problem.h"
#include "meshwright/solve/problem.h"
#include "meshwright/solve/solver_memory.h"

namespace meshwright {

// What one option of a decision asks of the plan of a slice.
struct ChoiceOption {
  std::vector<std::pair<OpId, Strategy>> strategies;
  std::vector<std::pair<int32_t, Sharding>> parameters, outputs;  // by position in the graph
};

// All ways to take some decisions about a program, cheapest first.
//
// Best-first search over the tree of decisions in their order. A node of the tree has a prefix of
// the decisions taken; its bound is that of the planner's assignment problem with just these forced
// on it, which no way below costs less than. So a leaf that is taken from the queue is the cheapest
// that is left, as far as the solver closes its gap.
//
// Most nodes never come up. So one is solved only when it is the first in the queue (lazy
// evaluation); until then it has its parent's bound. A child that keeps what its parent's solution
// has chosen anyway needs no solving: the first leaf is the solution of the root. Before a node,
// the problem with its last decision alone is solved, once for all nodes that have it: a relaxation
// of theirs, which rules most of them out, and whose solution is theirs where it keeps to the rest.
class ChoiceSearch {
 public:
  // `graph`, `cost_model` and `memories` must outlive it; `decisions` lists the options of each.
  // There may be as many threads as there are memories (at least one), which searches may have in
  // common as long as they run serially. Errors: see PreparedProblem.
  static absl::StatusOr<std::unique_ptr<ChoiceSearch>> Make(
      const Graph& graph, const CostModel& cost_model,
      std::vector<std::vector<ChoiceOption>> decisions, std::span<solve::SolverMemory> memories);

  // The options of the next leaf, by decision; nullopt: there are no more. The answer does not
  // depend on the number of threads. `stop` is asked often, from any thread; once it says true the
  // error is Cancelled, and another call goes on.
  absl::StatusOr<std::optional<std::vector<int32_t>>> Next(
      const std::function<bool()>& stop = nullptr);
  // The plan with these options, as many decisions as are given. NotFound: no plan has them all.
  absl::StatusOr<IntraPlan> Plan(const std::vector<int32_t>& options);

 private:
  // What an option takes from the problem: strategies of nodes. nullopt: no plan has it.
  struct Taken {
    int32_t node = -1;
    std::vector<bool> strategies;
  };
  using Restriction = std::optional<std::vector<Taken>>;
  using Decision = std::pair<size_t, int32_t>;  // which, and the option
  struct Solved {
    double bound = 0;
    std::vector<int32_t> choice;
  };
  using SolvedRef = std::shared_ptr<const Solved>;  // null: no solution
  struct TreeNode {
    double bound = 0;
    std::vector<int32_t> prefix;
    SolvedRef solved;                // null: not yet
    std::optional<SolvedRef> ahead;  // of the node's own problem, until it comes up
    Decision last() const { return {prefix.size() - 1, prefix.back()}; }
  };
  struct Later {
    bool operator()(const TreeNode& a, const TreeNode& b) const {
      const bool open_a = a.solved == nullptr, open_b = b.solved == nullptr;
      return std::tie(b.bound, open_b, b.prefix) < std::tie(a.bound, open_a, a.prefix);
    }
  };

  ChoiceSearch(std::vector<std::vector<ChoiceOption>> decisions,
               std::span<solve::SolverMemory> memories);
  Restriction RestrictionOf(const ChoiceOption& option);
  static std::vector<Decision> DecisionsOf(const std::vector<int32_t>& prefix);
  SolvedRef Solve(const std::vector<Decision>& decisions, const std::function<bool()>& stop,
                  solve::SolverMemory* memory) const;
  bool Allows(const std::vector<int32_t>& prefix, const std::vector<int32_t>& choice) const;
  void Expand(const TreeNode& node);
  std::optional<std::vector<Decision>> Needed(const TreeNode& node) const;
  void Resolve(TreeNode node);
  absl::Status SolveAhead(const std::function<bool()>& stop);

  const std::vector<std::vector<ChoiceOption>> decisions_;
  const std::span<solve::SolverMemory> memories_;
  PlannerOptions options_;
  std::unique_ptr<PreparedProblem> prepared_;
  solve::Problem problem_;  // with nothing forced
  std::vector<std::vector<Restriction>> restrictions_;
  std::map<Decision, SolvedRef> relaxations_;  // of nothing but this decision
  std::priority_queue<TreeNode, std::vector<TreeNode>, Later> open_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_CHOICE_SEARCH_H_
