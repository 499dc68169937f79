#ifndef MESHWRIGHT_SOLVE_SUBGRADIENT_ASCENT_H_
#define MESHWRIGHT_SOLVE_SUBGRADIENT_ASCENT_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/dual_bound.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Raises a DualBound by moving its multipliers: deflected subgradient steps (Held, Wolfe and
// Crowder 1974) of Polyak's length. The excess over each row's capacity is that of the *expected*
// usage, when nodes take strategies with probabilities that fall with their reduced cost: a smooth
// stand-in for the usage of a minimiser, which is not known and would jump between steps. That
// costs nothing in validity; the best multipliers seen are remembered by the safe bound they gave.
class SubgradientAscent {
 public:
  // Starts from the bound's present multipliers.
  SubgradientAscent(const Model& model, DualBound* bound);

  // One step: two passes with new multipliers, whose length assumes an optimum of at most `target`.
  // Returns steps taken.
  int64_t Step(Int128 target);
  // Goes back to the best multipliers. Passes must follow before the bound is read.
  void RestoreBest();

  Int128 best() const { return best_; }
  // How long steps are at present; shrinks as they stop helping.
  double factor() const { return factor_; }

 private:
  const Model& model_;
  DualBound* bound_;
  Int128 best_;
  std::vector<double> best_multipliers_, multipliers_, direction_;
  double factor_ = 0.2;
  int failures_ = 0;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_SUBGRADIENT_ASCENT_H_
