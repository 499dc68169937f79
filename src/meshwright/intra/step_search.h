#ifndef MESHWRIGHT_INTRA_STEP_SEARCH_H_
#define MESHWRIGHT_INTRA_STEP_SEARCH_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "meshwright/intra/overlap_limits.h"
#include "meshwright/intra/prepared_problem.h"
#include "meshwright/intra/step_evaluator.h"

namespace meshwright {

// Searches for the choice whose step is shortest, where the assignment problem minimises a sum of
// parts: the step of its solutions for several pricings of moves is simulated, and the best is
// improved by moves. See the .cc file.
//
// Deterministic: its limits are counted work. Only what `seconds_left` says cuts it off.
class StepSearch {
 public:
  struct Options {
    int64_t budget_bytes = 0;
    solve::SolverOptions solver;           // of each solve; its deadline and hints play no part
    std::function<double()> seconds_left;  // until the deadline
    int64_t max_work = 0;                  // elementary steps of simulations
  };
  // All must outlive the search. `prepared` has a cost model with overlap, and not every value has
  // a given sharding.
  StepSearch(const PreparedProblem& prepared, const Overlap& overlap, const Options& options);

  // Simulates `choice`, and keeps it if it fits and is the best so far. True if so.
  bool Offer(const std::vector<int32_t>& choice);
  // From what was offered; something that fits must have been. `hints` as SolverOptions::hints.
  void Run(const std::vector<std::vector<int32_t>>& hints);

  bool found() const { return !best_.empty(); }
  const std::vector<int32_t>& best() const { return best_; }
  double best_seconds() const { return best_seconds_; }
  // No plan that fits takes less.
  double bound_seconds() const { return bound_seconds_; }
  // Whether its counted work ended it.
  bool limited() const { return work_ >= options_.max_work; }
  // Whether the deadline cut the search off.
  bool cut() const { return cut_; }

 private:
  bool Stopped();
  // Solves the problem with `pricing` and offers what is found.
  void SolveWith(const MovePricing& pricing, const std::vector<std::vector<int32_t>>& hints,
                 bool is_bound);
  MovePricing PricingOfHidden(double untaken) const;
  void Reprice(const std::vector<std::vector<int32_t>>& hints);
  void Recombine();
  void Improve();
  // Tries what the bound leaves of all choices, where there are few.
  void Enumerate();
  void CollectEdges();
  // The strategy of a node that is cheapest given the others, and its LocalCost.
  std::pair<int32_t, int64_t> CheapestOf(const std::vector<int32_t>& choice, int32_t node);
  int64_t LocalCost(const std::vector<int32_t>& choice, int32_t node, int32_t strategy) const;

  const PreparedProblem& prepared_;
  const Overlap overlap_;
  const Options options_;
  StepEvaluator evaluator_;
  CombinedCostModel combined_;
  ProblemCosts costs_;
  MovePricing bound_pricing_;
  solve::Problem bound_problem_;  // priced by it
  solve::Problem scratch_;
  std::vector<std::vector<int32_t>> edges_of_;  // by node: edges of bound_problem_
  std::vector<std::vector<int32_t>> candidates_;
  std::vector<int32_t> best_;
  double best_seconds_ = 0;
  const double launch_seconds_;
  double bound_seconds_ = 0;
  int64_t work_ = 0;
  bool cut_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_STEP_SEARCH_H_
