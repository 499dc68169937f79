#include "meshwright/plan/trace/step_trace.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/trace/trace_writer.h"

namespace meshwright {
namespace {

enum StepRow { kStepCompute, kStepCommunication };
constexpr const char* kStepRowNames[] = {"compute", "communication"};

struct StepSums {
  int64_t operators = 0, collectives = 0;  // that take time; distinct ones, not executions
  double compute = 0, communication = 0;
  double seconds() const { return compute + communication; }
};

StepSums Sums(const Plan& plan) {
  StepSums sums;
  for (const PlanInstruction& instruction : plan.program.instructions) {
    sums.operators += instruction.seconds > 0;
    sums.compute += instruction.seconds;
    for (const PlanCollective& collective : instruction.collective) {
      ++sums.collectives;
      sums.communication += collective.seconds;
    }
  }
  return sums;
}

Json CollectiveBox(const PlanCollective& collective, const std::string& user, double start) {
  Json box = Box(absl::StrCat(collective.kind, " ", absl::StrJoin(collective.axes, ",")),
                 collective.kind, 0, kStepCommunication, start, start + collective.seconds);
  box["args"] = {{"for", user},
                 {"moves", collective.value},
                 {"count", collective.count},
                 {"bytes_per_device", collective.bytes_per_device},
                 {"seconds", collective.seconds}};
  return box;
}

Json OperatorBox(const Plan& plan, const PlanInstruction& instruction, double start) {
  Json box = Box(instruction.name, Word(instruction.opcode), 0, kStepCompute, start,
                 start + instruction.seconds);
  box["args"] = {{"opcode", Word(instruction.opcode)},
                 {"spec", SpecText(instruction.spec)},
                 {"strategy", instruction.strategy},
                 {"executions", instruction.executions},
                 {"seconds", instruction.seconds}};
  if (instruction.layer.has_value()) box["args"]["layer"] = *instruction.layer;
  if (instruction.phase.has_value()) box["args"]["phase"] = Word(instruction.phase);
  if (const std::optional<PlanSource>& source = instruction.source; source.has_value()) {
    box["args"]["source"] =
        absl::StrCat(plan.program.source_files[source->file], ":", source->line);
  }
  return box;
}

Json MemoryValues(const MemoryByCategory& bytes) {
  Json values = Json::object();
  for (size_t i = 0; i < bytes.size(); ++i) {
    values[kWords<MemoryCategory>[i].data()] = bytes[i];
  }
  return values;
}

}  // namespace

absl::Status CheckHasStep(const Plan& plan) {
  if (!plan.program.instructions.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the plan has neither a pipeline nor instructions; plans of programs have them, plans of "
      "models do not");
}

std::string StepTrace(const Plan& plan) {
  TraceWriter trace;
  trace.Name(0, "device", {kStepRowNames, std::size(kStepRowNames)});
  double now = 0;
  for (const PlanInstruction& instruction : plan.program.instructions) {
    for (const PlanCollective& collective : instruction.collective) {
      if (collective.seconds <= 0) continue;
      trace.Add(CollectiveBox(collective, instruction.name, now));
      now += collective.seconds;
    }
    if (instruction.seconds <= 0) continue;
    trace.Add(OperatorBox(plan, instruction, now));
    now += instruction.seconds;
  }
  if (plan.program.memory_timeline.has_value()) {
    for (const PlanMemoryPoint& point : plan.program.memory_timeline->points) {
      trace.AddCounter("memory", 0, point.seconds, MemoryValues(point.bytes));
    }
  }
  return std::move(trace).Write(Json::object());
}

std::string StepTable(const Plan& plan) {
  const StepSums sums = Sums(plan);
  return absl::StrFormat("one step: %s serial\n  %-14s %10s  %s\n  %-14s %10s  %s\n",
                         SecondsText(sums.seconds()), "computation", SecondsText(sums.compute),
                         Counted(sums.operators, "operator"), "communication",
                         SecondsText(sums.communication), Counted(sums.collectives, "collective"));
}

std::string StepJson(const Plan& plan) {
  const StepSums sums = Sums(plan);
  const Json json = {{"operators", sums.operators},
                     {"collectives", sums.collectives},
                     {"compute_seconds", sums.compute},
                     {"communication_seconds", sums.communication},
                     {"seconds", sums.seconds()}};
  return json.dump(1) + "\n";
}

}  // namespace meshwright
