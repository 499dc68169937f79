#include "meshwright/solve/undo.h"

#include <algorithm>

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

void Undo(const StrategiesRemoved& step, Choice* choice) {
  (*choice)[step.node] = step.kept[(*choice)[step.node]];
}

void Undo(const Merged& step, Choice* choice) {
  (*choice)[step.node] = step.follow[(*choice)[step.into]];
}

void Undo(const Eliminated& step, Choice* choice) {
  Number least = kInf;
  int32_t best = 0;
  for (int32_t s = 0; s < step.cost->cols; ++s) {
    Number cost = step.cost->cost[s];
    for (const Eliminated::Neighbour& n : step.neighbours) {
      cost = AddCost(cost, n.matrix->at((*choice)[n.node], s));
    }
    if (cost < least) {
      least = cost;
      best = s;
    }
  }
  (*choice)[step.node] = best;
}

void Redo(const StrategiesRemoved& step, Choice* choice) {
  const int32_t now = step.replacement[(*choice)[step.node]];
  (*choice)[step.node] = std::max(now, 0);
}
void Redo(const Merged&, Choice*) {}
void Redo(const Eliminated&, Choice*) {}

}  // namespace

void UndoLog::Expand(Choice* choice) const {
  for (auto it = steps_.rbegin(); it != steps_.rend(); ++it) {
    std::visit([choice](const auto& step) { Undo(step, choice); }, *it);
  }
}

void UndoLog::Project(Choice* choice) const {
  for (const Step& step : steps_)
    std::visit([choice](const auto& step) { Redo(step, choice); }, step);
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
