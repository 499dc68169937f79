#ifndef MESHWRIGHT_SOLVE_ELIMINATE_H_
#define MESHWRIGHT_SOLVE_ELIMINATE_H_

#include <cstdint>
#include <optional>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// The cheapest choice of a model *without rows* by variable elimination, if the tables together
// stay within `max_entries`; nullopt if they would not. An empty choice of a model with nodes means
// that every choice is forbidden.
std::optional<Choice> EliminateExactly(const Model& model, int64_t max_entries);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_ELIMINATE_H_
