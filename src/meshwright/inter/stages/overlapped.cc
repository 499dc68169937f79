#include "meshwright/inter/stages/overlapped.h"

#include <optional>

#include "meshwright/intra/timeline.h"

namespace meshwright {
namespace {

double PhaseSeconds(const ProgramSlice& slice, const IntraPlan& plan, const CostModel& cost_model,
                    Overlap overlap, int64_t micro_batches, Phase phase) {
  overlap.step_seconds = overlap.array_seconds = 0;
  const double times = phase == Phase::kUpdate ? static_cast<double>(micro_batches) : 1;
  StepRuns runs;
  for (size_t i = 0; i < slice.graph.ops.size(); ++i)
    runs.ops.push_back(slice.phase[i] == phase ? slice.graph.ops[i].multiplicity * times : 0);
  for (const PlannedCollective& c : plan.collectives)
    runs.collectives.push_back(PhaseOfCollective(slice, c) == phase ? c.multiplicity * times : 0);
  return StepSeconds(slice.graph, cost_model, overlap, plan, runs);
}

}  // namespace

SliceCost Overlapped(const ProgramSlice& slice, const IntraPlan& plan, const CostModel& cost_model,
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
