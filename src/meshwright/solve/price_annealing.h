#ifndef MESHWRIGHT_SOLVE_PRICE_ANNEALING_H_
#define MESHWRIGHT_SOLVE_PRICE_ANNEALING_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/dual_bound.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Finds row prices for a DualBound from nothing, by coordinate ascent on a smoothed bound whose
// temperature falls. See the .cc file. PriceAscent is for what is then left to gain.
class PriceAnnealing {
 public:
  // Starts from the bound's present prices.
  PriceAnnealing(const Model& model, DualBound* bound);

  // One round: two passes at the present prices, then new prices at the next temperature. Returns
  // steps taken.
  int64_t Step();
  // Whether the temperature has fallen to where it has nothing more to say.
  bool Cold() const { return rounds_ >= kRounds; }
  // Goes back to the best prices. Passes must follow before the bound is read.
  void RestoreBest() { bound_->SetPrices(best_prices_); }
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

  double MedianRegret() const;
  Row& RowAt(int32_t r);
  std::vector<int32_t> RowsToMove(const std::vector<double>& usage) const;
  // Usage of `row` if its price rose by `rise`.
  Moments UsageAt(const Row& row, Number capacity, double rise) const;
  int64_t MovePrice(int32_t r);

  const Model& model_;
  DualBound* bound_;
  absl::flat_hash_map<int32_t, Row> row_;  // those that were ever moved
  std::vector<double> prices_, best_prices_;
  Int128 best_;
  std::vector<size_t> at_;      // of node in regret_
  std::vector<double> regret_;  // by node and strategy, follows the prices within a round
  double temperature_ = 0;
  int rounds_ = 0;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_PRICE_ANNEALING_H_
