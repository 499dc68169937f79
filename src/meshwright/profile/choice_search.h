#ifndef MESHWRIGHT_PROFILE_CHOICE_SEARCH_H_
#define MESHWRIGHT_PROFILE_CHOICE_SEARCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/inter/slice.h"
#include "meshwright/intra/planner.h"
#include "meshwright/intra/prepared_problem.h"

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
// that is left, as far as the solver closes its gap. A child that keeps what the parent's solution
// has chosen anyway is not solved again.
class ChoiceSearch {
 public:
  // `graph` and `cost_model` must outlive it; `decisions` lists the options of each. Errors: see
  // PreparedProblem.
  static absl::StatusOr<std::unique_ptr<ChoiceSearch>> Make(
      const Graph& graph, const CostModel& cost_model,
      std::vector<std::vector<ChoiceOption>> decisions, int threads);

  // The options of the next leaf, by decision; nullopt: there are no more. The answer does not
  // depend on the number of threads.
  std::optional<std::vector<int32_t>> Next();
  // The plan with these options, as many decisions as are given. NotFound: no plan has them all.
  absl::StatusOr<IntraPlan> Plan(const std::vector<int32_t>& options);

 private:
  struct TreeNode {
    double bound = 0;
    std::vector<int32_t> prefix;
    std::vector<int32_t> choice;  // the solution that the bound is of
  };
  struct Later {
    bool operator()(const TreeNode& a, const TreeNode& b) const {
      return std::tie(b.bound, a.prefix) < std::tie(a.bound, b.prefix);
    }
  };

  ChoiceSearch(std::vector<std::vector<ChoiceOption>> decisions, int threads);
  // False: some option is impossible.
  bool Apply(const std::vector<int32_t>& prefix);
  std::optional<TreeNode> Solve(const solve::Problem& problem,
                                const std::vector<int32_t>& prefix) const;
  void Expand(const TreeNode& node);

  const std::vector<std::vector<ChoiceOption>> decisions_;
  const int threads_;
  PlannerOptions options_;
  std::unique_ptr<PreparedProblem> prepared_;
  std::vector<solve::Node> nodes_;  // with nothing forced
  bool started_ = false;
  std::priority_queue<TreeNode, std::vector<TreeNode>, Later> open_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_CHOICE_SEARCH_H_
