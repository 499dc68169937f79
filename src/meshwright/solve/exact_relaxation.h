#ifndef MESHWRIGHT_SOLVE_EXACT_RELAXATION_H_
#define MESHWRIGHT_SOLVE_EXACT_RELAXATION_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/model.h"
#include "meshwright/solve/optimise.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// A model whose rows are relaxed at multipliers (Lagrangian relaxation), minimised exactly. What
// message passing leaves open in cycles is closed here. Without rows far more can be reduced than
// with them, so that this often succeeds where the model itself is out of reach.
class ExactRelaxation {
 public:
  // `options` are those of the model; what they report to is not told of relaxations.
  ExactRelaxation(Model model, const OptimiseOptions& options);

  struct Minimum {
    bool complete = false;  // `choice` is within the precision asked for
    Int128 bound = 0;       // no feasible choice costs less, in any case
    double value = 0;       // what `choice` costs, with usage and capacities priced
    Choice choice;          // the minimiser; may exceed capacities
    int64_t steps = 0;      // taken
  };
  // Multipliers by row, >= 0; `precision` as a share of the minimum.
  Minimum At(const std::vector<double>& multipliers, double precision, int64_t max_steps) const;

 private:
  Model model_;
  OptimiseOptions options_;
  int scale_ = 0;
  Model scaled_;  // without rows, costs times 2^scale_
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_EXACT_RELAXATION_H_
