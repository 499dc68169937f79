#include "meshwright/inter/side_by_side.h"

#include <optional>

#include "meshwright/intra/timeline.h"

namespace meshwright {
namespace {

double PhaseSeconds(const ProgramSlice& slice, const IntraPlan& plan, const CostModel& cost_model,
                    Overlap overlap, int64_t micro_batches, Phase phase) {
  overlap.step_seconds = 0;
  const double times = phase == Phase::kUpdate ? static_cast<double>(micro_batches) : 1;
  Graph graph = slice.graph;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    graph.ops[i].multiplicity *= slice.phase[i] == phase ? times : 0;
  IntraPlan part = plan;
  part.collectives.clear();
  for (const PlannedCollective& collective : plan.collectives) {
    if (PhaseOfCollective(slice, collective) != phase) continue;
    part.collectives.push_back(collective);
    part.collectives.back().multiplicity *= times;
  }
  return StepSeconds(graph, cost_model, overlap, part);
}

}  // namespace

SliceCost SideBySide(const ProgramSlice& slice, const IntraPlan& plan, const CostModel& cost_model,
                     int64_t micro_batches, bool recompute, SliceCost cost) {
  const std::optional<Overlap> overlap = cost_model.overlap();
  if (!overlap.has_value()) return cost;
  const auto seconds = [&](Phase phase) {
    return PhaseSeconds(slice, plan, cost_model, *overlap, micro_batches, phase);
  };
  const double before = cost.backward;
  cost.forward = seconds(Phase::kForward);
  cost.backward = seconds(Phase::kBackward) + (recompute ? cost.forward : 0);
  cost.update = seconds(Phase::kUpdate);
  if (before > 0) cost.weight_gradient *= cost.backward / before;
  return cost;
}

}  // namespace meshwright
