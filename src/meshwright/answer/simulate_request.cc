#include "meshwright/answer/simulate_request.h"

#include <limits>
#include <memory>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/plan/document/simulate_plan.h"
#include "meshwright/plan/trace/simulation_trace.h"
#include "meshwright/plan/trace/step_trace.h"

namespace meshwright {

Options SimulateOptionRows(SimulateAsked& asked) {
  return {{"trace",
           &asked.trace,
           "write a trace for Perfetto or chrome://tracing here: a process for each group of "
           "devices, rows for computation, communication and bubbles, and memory over time; "
           "without a pipeline the operators and collectives of one step, overlapped as planned",
           {.output = true}},
          {"schedule",
           &asked.schedule,
           "another schedule than the plan's: " +
               absl::StrJoin(
                   ScheduleTable(), ", ",
                   [](std::string* out, const ScheduleKind& kind) { StrAppend(out, kind.name); }),
           {.takes = "NAME"}},
          {"micro-batches",
           &asked.micro_batches,
           "another number of micro-batches, each as large as in the plan; with many the trace "
           "shows the first tasks only",
           {.least = 1, .most = std::numeric_limits<int32_t>::max(), .takes = "COUNT"}}};
}

absl::StatusOr<SimulationAnswer> Simulate(const Plan& plan, const SimulateAsked& asked) {
  if (!plan.pipeline.has_value() && asked.schedule.empty() && asked.micro_batches == 0) {
    MW_RETURN_IF_ERROR(CheckHasStep(plan));
    return SimulationAnswer{[&plan] { return StepTable(plan); }, [&plan] { return StepJson(plan); },
                            [&plan] { return StepTrace(plan); }, ""};
  }
  MW_ASSIGN_OR_RETURN(const SimulatedPlan simulated,
                      SimulatePlan(plan, asked.schedule, asked.micro_batches));
  const auto shown = std::make_shared<const SimulationTrace>(TraceOf(simulated));
  SimulationAnswer answer = {[=] { return SimulationTable(simulated); },
                             [=] { return SimulationJson(simulated); }, [=] { return shown->json; },
                             ""};
  if (shown->tasks < shown->all_tasks) {
    answer.warning = absl::StrFormat("the trace shows the first %d of %d tasks, %s of %s",
                                     shown->tasks, shown->all_tasks, SecondsText(shown->seconds),
                                     SecondsText(simulated.simulation.seconds));
  }
  return answer;
}

}  // namespace meshwright
