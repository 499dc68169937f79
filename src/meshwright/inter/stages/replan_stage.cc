#include "meshwright/inter/stages/replan_stage.h"

#include "meshwright/base/status.h"
#include "meshwright/inter/stages/kind_slices.h"
#include "meshwright/intra/priced_planner.h"

namespace meshwright {
namespace {

// A stage that does not fit is planned again with a multiplier of memory so much larger, so often.
// The first is that at which the bytes of all that a device holds weigh as much as the stage's
// seconds, over kFirstShare.
constexpr double kReplanStep = 4, kFirstShare = 64;
constexpr int kMostReplanSteps = 8;

}  // namespace

absl::StatusOr<ReplannedStage> ReplanStage(const Slicer& slicer, const CostModel& cost_model,
                                           const StageReplanRequest& request) {
  MW_ASSIGN_OR_RETURN(ProgramSlice sliced, SliceToPlan(slicer, request.begin, request.end,
                                                       request.micro_batches, request.sum_parts));
  ReplannedStage out;
  out.slice = std::make_shared<const ProgramSlice>(std::move(sliced));
  PlannerOptions options = request.planner;
  options.tie_outputs_by_position = false;
  options.fixes = request.fixes;
  options.given_parameters = request.inputs;
  options.given_outputs = request.outputs;
  MW_ASSIGN_OR_RETURN(
      const std::unique_ptr<PricedPlanner> planner,
      PricedPlanner::Make(out.slice->graph, cost_model, options, TurnOf(*out.slice)));
  double multiplier = 0;
  for (int tries = 0;; ++tries) {
    MW_ASSIGN_OR_RETURN(IntraPlan plan, planner->Plan(multiplier));
    out.cost = CostOfSlice(*out.slice, plan, request.micro_batches);
    out.fits = request.fits(out.cost);
    if (out.fits || tries == kMostReplanSteps) {
      out.plan = std::make_shared<const IntraPlan>(std::move(plan));
      return out;
    }
    const double bytes = static_cast<double>(out.cost.state_bytes + out.cost.working_bytes +
                                             out.cost.in_flight_bytes);
    multiplier = multiplier > 0 ? multiplier * kReplanStep : plan.objective / bytes / kFirstShare;
  }
}

}  // namespace meshwright
