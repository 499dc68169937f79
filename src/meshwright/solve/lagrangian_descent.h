#ifndef MESHWRIGHT_SOLVE_LAGRANGIAN_DESCENT_H_
#define MESHWRIGHT_SOLVE_LAGRANGIAN_DESCENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "meshwright/solve/forest_descent.h"
#include "meshwright/solve/local_state.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// A Lagrangian heuristic (Fisher 1981): looks for cheap feasible choices from one start by forest
// moves at row multipliers, while the multipliers follow what the present choice uses, so that they
// move around the point where the rows are just kept. Now and then the choice is made feasible.
// Where this ends depends on the start more than on anything else, so several are run at once
// (Portfolio) and those that look worst are given up.
class LagrangianDescent {
 public:
  LagrangianDescent(const Model& model, const Neighbourhoods& near, Choice start,
                    std::vector<double> multipliers, uint64_t seed);

  // `gap`: about how far the cost is from a lower bound; sets the length of multiplier steps.
  // Returns steps taken.
  int64_t Run(int rounds, double gap, const std::function<bool()>& stop);

  // The cheapest feasible choice met; empty and kInfCost if there was none.
  const Choice& best() const { return best_; }
  Int128 best_cost() const { return best_cost_; }

 private:
  void Offer(const Choice& choice);

  const Model& model_;
  const Neighbourhoods& near_;
  ForestDescent forest_;
  Choice choice_, best_;
  Int128 best_cost_ = kInfCost;
  std::vector<double> multipliers_;
  int64_t entries_ = 0;
};

// Runs one descent per start: all for a while, then the better half for twice as long, and so on to
// the last (successive halving). Returns its best choice, empty if none was feasible. The result
// does not depend on `threads`.
struct PortfolioOptions {
  std::vector<double> multipliers;
  double gap = 0;
  int rounds = 10;  // of the first heat
  int threads = 1;
  uint64_t seed = 1;
  std::function<bool()> stop;
};
Choice RunPortfolio(const Model& model, const Neighbourhoods& near,
                    const std::vector<Choice>& starts, const PortfolioOptions& options,
                    int64_t* steps);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_LAGRANGIAN_DESCENT_H_
