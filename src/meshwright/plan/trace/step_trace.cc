#include "meshwright/plan/trace/step_trace.h"

#include <algorithm>
#include <iterator>
#include <set>
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

enum StepRow { kStepCompute, kStepCommunication, kStepOverhead };
constexpr const char* kStepRowNames[] = {"compute", "communication", "overhead"};

// Without overlap: each instruction after its collectives, one after the other.
PlanStepTimeline SerialTimeline(const ProgramPart& program) {
  PlanStepTimeline timeline;
  double now = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const PlanInstruction& instruction = program.instructions[i];
    for (size_t k = 0; k < instruction.collective.size(); ++k) {
      timeline.collectives.push_back({now,
                                      instruction.collective[k].seconds,
                                      {static_cast<int64_t>(i)},
                                      {static_cast<int64_t>(k)}});
      now += instruction.collective[k].seconds;
    }
    timeline.start.push_back(now);
    now += instruction.seconds;
  }
  return timeline;
}

struct Step {
  explicit Step(const ProgramPart& program)
      : timeline(program.step_timeline.has_value() ? *program.step_timeline
                                                   : SerialTimeline(program)) {
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const PlanInstruction& instruction = program.instructions[i];
      operators += instruction.seconds > 0;
      compute += instruction.seconds;
      end = std::max(end, timeline.start[i] + instruction.seconds);
      for (const PlanCollective& collective : instruction.collective) {
        ++collectives;
        communication += collective.seconds;
      }
    }
    for (const PlanCollectiveRun& run : timeline.collectives)
      end = std::max(end, run.start + run.seconds);
  }

  // What no kernel hides, and what the hidden takes from kernels.
  double exposed() const { return std::max(0.0, end - compute) + timeline.contention_seconds; }
  double seconds() const { return end + timeline.contention_seconds + timeline.launch_seconds; }

  PlanStepTimeline timeline;
  int64_t operators = 0, collectives = 0;  // that take time; distinct ones, not executions
  double compute = 0, communication = 0;   // serial
  double end = 0;                          // of the last operator or collective
};

Json RunBox(const Plan& plan, const PlanCollectiveRun& run) {
  PlanCollective sum;
  std::set<std::string> users, values, names;
  for (size_t k = 0; k < run.instructions.size(); ++k) {
    const PlanInstruction& user =
        plan.program.instructions[static_cast<size_t>(run.instructions[k])];
    const PlanCollective& one = user.collective[static_cast<size_t>(run.positions[k])];
    sum.kind = one.kind;
    sum.count += one.count;
    sum.bytes_per_device += one.bytes_per_device;
    names.insert(absl::StrCat(one.kind, " ", absl::StrJoin(one.axes, ",")));
    users.insert(user.name);
    values.insert(one.value);
  }
  std::string name = absl::StrJoin(names, " + ");
  if (run.instructions.size() > 1) absl::StrAppend(&name, " x", run.instructions.size());
  Json box =
      Box(std::move(name), sum.kind, 0, kStepCommunication, run.start, run.start + run.seconds);
  box["args"] = {{"for", absl::StrJoin(users, ", ")},
                 {"moves", absl::StrJoin(values, ", ")},
                 {"count", sum.count},
                 {"bytes_per_device", sum.bytes_per_device},
                 {"seconds", run.seconds}};
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
  const ProgramPart& program = plan.program;
  const Step step(program);
  TraceWriter trace;
  trace.Name(0, "device", {kStepRowNames, std::size(kStepRowNames)});
  for (const PlanCollectiveRun& run : step.timeline.collectives) {
    if (run.seconds > 0) trace.Add(RunBox(plan, run));
  }
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const PlanInstruction& instruction = program.instructions[i];
    if (instruction.seconds > 0) trace.Add(OperatorBox(plan, instruction, step.timeline.start[i]));
  }
  double now = step.end;
  for (const auto& [name, seconds] : {std::pair("contention", step.timeline.contention_seconds),
                                      std::pair("launch overhead", step.timeline.launch_seconds)}) {
    if (seconds > 0) trace.Add(Box(name, "overhead", 0, kStepOverhead, now, now + seconds));
    now += seconds;
  }
  if (program.memory_timeline.has_value()) {
    now = 0;  // an instruction may start before one that the memory's order has before it
    for (const PlanMemoryPoint& point : program.memory_timeline->points) {
      now = std::max(now, step.timeline.start[static_cast<size_t>(point.instruction)]);
      trace.AddCounter("memory", 0, now, MemoryValues(point.bytes));
    }
  }
  return std::move(trace).Write(Json::object());
}

std::string StepTable(const Plan& plan) {
  const Step step(plan.program);
  const auto row = [](const char* what, double seconds, const std::string& note) {
    return absl::StrFormat("  %-21s %10s%s\n", what, SecondsText(seconds),
                           note.empty() ? "" : absl::StrCat("  ", note));
  };
  std::string text =
      absl::StrCat("one step: ", SecondsText(step.seconds()),
                   plan.program.step_timeline.has_value() ? "" : " serial", "\n",
                   row("computation", step.compute, Counted(step.operators, "operator")),
                   row("exposed communication", step.exposed(),
                       absl::StrCat(Counted(step.collectives, "collective"), ", ",
                                    SecondsText(step.communication), " serial")));
  if (step.timeline.launch_seconds > 0)
    absl::StrAppend(&text, row("launch overhead", step.timeline.launch_seconds, ""));
  return text;
}

std::string StepJson(const Plan& plan) {
  const Step step(plan.program);
  const Json json = {{"operators", step.operators},
                     {"collectives", step.collectives},
                     {"compute_seconds", step.compute},
                     {"communication_seconds", step.communication},
                     {"exposed_communication_seconds", step.exposed()},
                     {"launch_seconds", step.timeline.launch_seconds},
                     {"seconds", step.seconds()}};
  return json.dump(1) + "\n";
}

}  // namespace meshwright
