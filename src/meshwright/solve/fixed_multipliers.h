#ifndef MESHWRIGHT_SOLVE_FIXED_MULTIPLIERS_H_
#define MESHWRIGHT_SOLVE_FIXED_MULTIPLIERS_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Lagrange multipliers of the rows as integers, in units of 2^-scale of the model's costs. What
// usage costs is rounded down and what capacity earns is rounded up, so that relaxing the rows at
// them gives a bound that needs no error analysis: sum of costs + Of(choice) + constant() <= cost
// of any feasible choice.
class FixedMultipliers {
 public:
  // Multipliers by row, cost per unit of usage, >= 0.
  FixedMultipliers(const std::vector<double>& multipliers, const std::vector<Number>& capacity,
                   int scale);

  // The cost of the usage of strategy s of a node with these segments; at most 2^58 (wide: 2^90).
  Number Of(const std::vector<Segment>& segments, int32_t s) const;
  // -sum of multiplier * capacity, rounded down.
  Int128 constant() const { return constant_; }

 private:
  std::vector<Int128> before_;  // by row: sum of the multipliers of the rows before it
  Int128 constant_ = 0;
};

// Bits by which costs of `model` may be scaled up so that sums of them keep to 46 bits.
int CostScale(const Model& model);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_FIXED_MULTIPLIERS_H_
