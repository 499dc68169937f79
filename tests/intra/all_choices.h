#ifndef TESTS_INTRA_ALL_CHOICES_H_
#define TESTS_INTRA_ALL_CHOICES_H_

#include <cstdint>
#include <vector>

#include "meshwright/intra/prepared_problem.h"
#include "meshwright/intra/step_evaluator.h"

namespace meshwright {

// How many choices ForEachAllowed goes through.
inline double ChoicesOf(const solve::Problem& problem) {
  double choices = 1;
  for (const solve::Node& node : problem.nodes) choices *= static_cast<double>(node.cost.size());
  return choices;
}

// Calls visit(choice, seconds) for every choice of the problem that is allowed, with its step. Only
// for tiny problems.
template <typename Visit>
void ForEachAllowed(PreparedProblem& prepared, const Overlap& overlap, Visit visit) {
  const solve::Problem& problem = prepared.problem();
  StepEvaluator evaluator(prepared.inputs(), prepared.sets(), prepared.planning(), overlap,
                          prepared.deferred());
  std::vector<int32_t> choice(problem.nodes.size(), 0);
  const auto next = [&] {
    for (size_t v = 0; v < choice.size(); ++v) {
      if (++choice[v] < static_cast<int32_t>(problem.nodes[v].cost.size())) return true;
      choice[v] = 0;
    }
    return false;
  };
  do {
    if (!solve::Evaluate(problem, choice).forbidden) visit(choice, evaluator.Seconds(choice));
  } while (next());
}

}  // namespace meshwright

#endif  // TESTS_INTRA_ALL_CHOICES_H_
