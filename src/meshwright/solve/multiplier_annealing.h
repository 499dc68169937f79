#ifndef MESHWRIGHT_SOLVE_MULTIPLIER_ANNEALING_H_
#define MESHWRIGHT_SOLVE_MULTIPLIER_ANNEALING_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/dual_bound.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Finds row multipliers for a DualBound from nothing, by coordinate ascent on a smoothed bound
// whose temperature falls. See the .cc file. SubgradientAscent is for what is then left to gain.
class MultiplierAnnealing {
 public:
  // Starts from the bound's present multipliers.
  MultiplierAnnealing(const Model& model, DualBound* bound);

  // One round: two passes at the present multipliers, then new multipliers at the next temperature.
  // Returns steps taken.
  int64_t Step();
  // Whether the temperature has fallen to where it has nothing more to say.
  bool Cold() const { return rounds_ >= kRounds; }
  // Goes back to the best multipliers. Passes must follow before the bound is read.
  void RestoreBest() { bound_->SetMultipliers(best_multipliers_); }
  Int128 best() const { return best_; }

 private:
  static constexpr int kRounds = 100;

  struct User {
    int32_t node;
    const Segment* segment;
  };
  struct Row {
    std::vector<User> users;
    double spread = 1;  // largest difference of amounts of one user
    double damping, last_step = 0;
  };
  struct Moments {
    double excess, variance;  // of a row's usage
  };

  double MedianReducedCost() const;
  Row& RowAt(int32_t r);
  std::vector<int32_t> RowsToMove(const std::vector<double>& usage) const;
  // Usage of `row` if its multiplier rose by `rise`.
  Moments UsageAt(const Row& row, Number capacity, double rise) const;
  int64_t MoveMultiplier(int32_t r);

  const Model& model_;
  DualBound* bound_;
  absl::flat_hash_map<int32_t, Row> row_;  // those that were ever moved
  std::vector<double> multipliers_, best_multipliers_;
  Int128 best_;
  std::vector<size_t> at_;  // of node in reduced_cost_
  std::vector<double>
      reduced_cost_;  // by node and strategy, follows the multipliers within a round
  double temperature_ = 0;
  int rounds_ = 0;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_MULTIPLIER_ANNEALING_H_
