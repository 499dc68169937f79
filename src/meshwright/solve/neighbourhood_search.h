#ifndef MESHWRIGHT_SOLVE_NEIGHBOURHOOD_SEARCH_H_
#define MESHWRIGHT_SOLVE_NEIGHBOURHOOD_SEARCH_H_

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "meshwright/solve/local_state.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Large-neighbourhood search (Shaw 1998): frees a few dozen nodes of a feasible choice, keeps the
// others, and solves what that leaves by branch and bound. See the .cc file.
class NeighbourhoodSearch {
 public:
  struct Options {
    uint64_t seed = 1;
    int threads = 1;
    std::vector<double> multipliers;  // of rows, to guide the sub-solves
    std::function<bool()> stop;
  };

  // `start` must be feasible. `model` must outlive the search.
  NeighbourhoodSearch(const Model& model, Choice start, Options options);

  // One round of sub-solves from the same choice; then those that still help are applied in order.
  // Does not depend on the number of threads. Returns steps taken.
  int64_t Round();

  const Choice& choice() const { return state_.choice(); }
  Int128 cost() const { return state_.cost(); }
  void SetMultipliers(std::vector<double> multipliers) {
    options_.multipliers = std::move(multipliers);
  }

 private:
  struct Task {
    std::vector<int32_t> nodes, strategies;  // empty strategies: nothing better found
    size_t kind = 0;
    bool complete = false;
    int64_t steps = 0;
  };
  void Solve(Task* task) const;
  std::vector<int32_t> Ball(int32_t centre, int64_t size);
  std::vector<int32_t> Window(int64_t size);
  std::vector<int32_t> AroundRow(int64_t size);

  const Model& model_;
  Options options_;
  Neighbourhoods near_;
  LocalState state_;
  std::mt19937_64 random_;
  // By kind of neighbourhood.
  std::vector<double> size_;
  std::vector<double> success_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_NEIGHBOURHOOD_SEARCH_H_
