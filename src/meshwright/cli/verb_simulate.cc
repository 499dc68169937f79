#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/document/simulate_plan.h"
#include "meshwright/plan/trace/simulation_trace.h"
#include "meshwright/plan/trace/step_trace.h"

namespace meshwright {
namespace {

struct SimulateCommand {
  std::string plan, trace, schedule;
  int64_t micro_batches = 0;
  bool json = false;
};

absl::Status RunStep(const Plan& plan, const OutputFile& trace, bool json) {
  MW_RETURN_IF_ERROR(CheckHasStep(plan));
  if (!trace.path.empty()) {
    MW_RETURN_IF_ERROR(WriteOutput(trace, StepTrace(plan)));
  }
  return json ? PrintOutput(StepJson(plan)) : PrintScreen(StepTable(plan));
}

absl::Status RunSimulate(const SimulateCommand& command) {
  const OutputFile trace = {"--trace", command.trace};
  MW_RETURN_IF_ERROR(CheckOutputs({trace}, {command.plan}));
  MW_ASSIGN_OR_RETURN(const std::string text, ReadInput(command.plan));
  MW_ASSIGN_OR_RETURN(const Plan plan, ParsePlanJson(text, command.plan));
  if (plan.stages.empty() && command.schedule.empty() && command.micro_batches == 0) {
    return RunStep(plan, trace, command.json);
  }
  MW_ASSIGN_OR_RETURN(const SimulatedPlan simulated,
                      SimulatePlan(plan, command.schedule, command.micro_batches));
  if (!trace.path.empty()) {
    const SimulationTrace shown = TraceOf(simulated);
    MW_RETURN_IF_ERROR(WriteOutput(trace, shown.json));
    if (shown.tasks < shown.all_tasks) {
      PrintWarning(absl::StrFormat("the trace shows the first %d of %d tasks, %s of %s",
                                   shown.tasks, shown.all_tasks, SecondsText(shown.seconds),
                                   SecondsText(simulated.simulation.seconds)));
    }
  }
  return command.json ? PrintOutput(SimulationJson(simulated))
                      : PrintScreen(SimulationTable(simulated));
}

}  // namespace

Action AddSimulateVerb(CLI::App& app) {
  auto command = std::make_shared<SimulateCommand>();
  app.add_option("PLAN", command->plan, "plan of a program; - for standard input")->required();
  AddOutputOption(
      app, "--trace", command->trace,
      "write a trace for Perfetto or chrome://tracing here: a process for each group of "
      "devices, rows for computation, communication and bubbles, and memory over time; without a "
      "pipeline the operators and collectives of one step");
  app.add_option(
      "--schedule", command->schedule,
      "another schedule than the plan's: " +
          absl::StrJoin(ScheduleTable(), ", ", [](std::string* out, const ScheduleKind& kind) {
            StrAppend(out, kind.name);
          }));
  app.add_option("--micro-batches", command->micro_batches,
                 "another number of micro-batches, each as large as in the plan; with many the "
                 "trace shows the first tasks only")
      ->check(CLI::Range(int64_t{1}, int64_t{std::numeric_limits<int32_t>::max()}));
  app.add_flag("--json", command->json, "print JSON instead of a table");
  return [command] { return RunSimulate(*command); };
}

}  // namespace meshwright
