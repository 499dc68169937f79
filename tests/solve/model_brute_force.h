#ifndef MESHWRIGHT_TESTS_SOLVE_MODEL_BRUTE_FORCE_H_
#define MESHWRIGHT_TESTS_SOLVE_MODEL_BRUTE_FORCE_H_

#include "meshwright/solve/model.h"

namespace meshwright::solve {

// Calls visit(choice) for every choice of the model.
template <typename Visit>
void ForEveryChoice(const Model& model, Visit visit) {
  Choice choice(model.size(), 0);
  while (true) {
    visit(choice);
    int32_t v = 0;
    for (; v < model.size(); ++v) {
      if (++choice[v] < model.strategies(v)) break;
      choice[v] = 0;
    }
    if (v == model.size()) return;
  }
}

// Cost of the cheapest feasible choice; kInfCost if there is none.
inline Int128 CheapestCost(const Model& model) {
  Int128 best = kInfCost;
  ForEveryChoice(model, [&](const Choice& choice) {
    const Int128 cost = ModelCost(model, choice);
    if (cost < best && Fits(model, choice)) best = cost;
  });
  return best;
}

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_TESTS_SOLVE_MODEL_BRUTE_FORCE_H_
