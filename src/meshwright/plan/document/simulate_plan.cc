#include "meshwright/plan/document/simulate_plan.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// Stages times micro-batches: some 400 MB and a second or two.
constexpr int64_t kMostCells = int64_t{1} << 20;

std::vector<StageTimes> TimesOf(const Plan& plan) {
  std::vector<StageTimes> stages;
  for (const PlanStage& stage : plan.pipeline->stages) {
    StageTimes times;
    times.forward = stage.seconds.forward;
    times.backward = stage.seconds.backward;
    times.weight_gradient = stage.seconds.weight_gradient;
    times.update = stage.seconds.update;
    times.fixed_bytes = stage.bytes.fixed;
    times.bytes_in_flight = stage.bytes.in_flight;
    stages.push_back(times);
  }
  for (const PlanTransfer& transfer : plan.pipeline->cross_stage) {
    StageTimes& from = stages[transfer.from];
    (transfer.phase == Phase::kBackward ? from.send_backward : from.send_forward) =
        transfer.seconds;
  }
  return stages;
}

// Plans over groups are of models, which Megatron-LM runs.
Sends SendsOf(const Plan& plan) {
  return plan.groups.has_value() && plan.chunks == 1 ? Sends::kExchanged : Sends::kOverlapped;
}

}  // namespace

absl::Status CheckGroupBytes(const Plan& plan, int64_t micro_batches) {
  using Wide = __int128;
  const size_t groups = plan.pipeline->stages.size() / static_cast<size_t>(plan.chunks);
  for (size_t g = 0; g < groups; ++g) {
    Wide bytes = 0;
    for (size_t i = g; i < plan.pipeline->stages.size(); i += groups) {
      const PlanStageBytes& stage = plan.pipeline->stages[i].bytes;
      bytes += stage.fixed + Wide{stage.in_flight} * micro_batches;
    }
    if (bytes <= std::numeric_limits<int64_t>::max()) continue;
    return absl::InvalidArgumentError(
        StrCat("with ", Counted(micro_batches, "micro-batch", "micro-batches"),
               " in flight, a device of stage ", g, " would hold more than 2^63 - 1 bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<SimulatedPlan> SimulatePlan(const Plan& plan, const std::string& schedule,
                                           int64_t micro_batches) {
  if (!plan.pipeline.has_value()) {
    return absl::InvalidArgumentError(
        "the plan has no pipeline; `meshwright plan --pipeline auto` makes one");
  }
  SimulatedPlan simulated;
  MW_ASSIGN_OR_RETURN(simulated.schedule,
                      FindSchedule(schedule.empty() ? plan.pipeline->schedule : schedule));
  const auto stages = static_cast<int64_t>(plan.pipeline->stages.size());
  const int64_t count = micro_batches > 0 ? micro_batches : plan.micro_batches;
  if (count > kMostCells / stages) {
    return absl::InvalidArgumentError(
        StrCat(count, " micro-batches of ", Counted(stages, "stage"),
               " are more than can be simulated; --micro-batches takes at most ",
               std::max<int64_t>(1, kMostCells / stages)));
  }
  MW_RETURN_IF_ERROR(CheckGroupBytes(plan, count));
  simulated.shape = {static_cast<int32_t>(stages / plan.chunks), static_cast<int32_t>(plan.chunks),
                     static_cast<int32_t>(count)};
  simulated.stages = TimesOf(plan);
  MW_ASSIGN_OR_RETURN(simulated.simulation, Simulate(*simulated.schedule, simulated.shape,
                                                     simulated.stages, SendsOf(plan)));
  return simulated;
}

std::string SimulationTable(const SimulatedPlan& simulated) {
  const Simulation& simulation = simulated.simulation;
  std::string text = absl::StrFormat(
      "%s, %s, %s: step %s serial, bubble %.1f %%\n", Counted(simulated.shape.groups, "group"),
      Counted(simulated.shape.micro_batches, "micro-batch", "micro-batches"),
      std::string(simulated.schedule->name), SecondsText(simulation.seconds),
      100 * simulation.bubble_share);
  absl::StrAppendFormat(&text, "  %-6s %12s %8s %12s %10s\n", "group", "busy", "", "memory",
                        "in flight");
  for (int32_t g = 0; g < simulated.shape.groups; ++g) {
    const double share =
        simulation.seconds > 0 ? simulation.busy_seconds[g] / simulation.seconds : 0;
    absl::StrAppendFormat(&text, "  %-6d %12s %6.1f %% %12s %10d\n", g,
                          SecondsText(simulation.busy_seconds[g]), 100 * share,
                          BytesText(simulation.peak_bytes[g]), simulation.peak_in_flight[g]);
  }
  return text;
}

std::string SimulationJson(const SimulatedPlan& simulated) {
  const Simulation& simulation = simulated.simulation;
  Json groups = Json::array();
  for (int32_t g = 0; g < simulated.shape.groups; ++g) {
    groups.push_back({{"busy_seconds", simulation.busy_seconds[g]},
                      {"peak_bytes", simulation.peak_bytes[g]},
                      {"peak_in_flight", simulation.peak_in_flight[g]}});
  }
  const Json json = {{"schedule", std::string(simulated.schedule->name)},
                     {"groups", simulated.shape.groups},
                     {"chunks", simulated.shape.chunks},
                     {"micro_batches", simulated.shape.micro_batches},
                     {"seconds", simulation.seconds},
                     {"bubble_share", simulation.bubble_share},
                     {"by_group", std::move(groups)}};
  return json.dump(1) + "\n";
}

}  // namespace meshwright
