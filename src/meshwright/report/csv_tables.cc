#include "meshwright/report/csv_tables.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/csv.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/plan/document/simulate_plan.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/plan/text/transformer_table.h"
#include "meshwright/report/device_programs.h"
#include "meshwright/report/headline.h"
#include "meshwright/report/segment_graph.h"

namespace meshwright {
namespace {

using CsvCells = std::vector<std::string>;
using AddRow = std::function<void(CsvCells)>;

// Reads back to the same value.
std::string NumberCell(double value) { return absl::StrFormat("%.17g", value); }
std::string NumberCell(int64_t value) { return absl::StrCat(value); }
template <typename T>
std::string NumberCell(const std::optional<T>& value) {
  return value.has_value() ? NumberCell(*value) : "";
}
std::string WordsCell(const std::vector<std::string>& words) { return absl::StrJoin(words, " "); }
std::string NumbersCell(const std::vector<int64_t>& numbers) { return absl::StrJoin(numbers, " "); }

// "x=2 y=4".
std::string MeshCell(const std::vector<PlanAxis>& mesh) {
  return absl::StrJoin(mesh, " ", [](std::string* out, const PlanAxis& axis) {
    absl::StrAppend(out, axis.name, "=", axis.size);
  });
}

CsvCells MemoryHeader(CsvCells header) {
  for (size_t i = 0; i < kMemoryCategories; ++i) {
    header.push_back(absl::StrCat(kWords<MemoryCategory>[i].data(), "_bytes"));
  }
  return header;
}

void AppendMemory(const MemoryByCategory& memory, CsvCells& row) {
  for (const int64_t bytes : memory) row.push_back(NumberCell(bytes));
}

void PlanRows(const Plan& plan, const AddRow& add) {
  CsvCells row = {ProgramName(plan),
                  plan.cluster.name,
                  MeshCell(plan.mesh),
                  plan.schedule(),
                  NumberCell(static_cast<int64_t>(plan.stages().size())),
                  NumberCell(plan.micro_batches),
                  NumberCell(plan.bubble_share),
                  NumberCell(plan.step_seconds),
                  NumberCell(plan.objective_seconds),
                  NumberCell(plan.bound_seconds),
                  NumberCell(plan.gap),
                  NumberCell(plan.compute_seconds),
                  NumberCell(plan.communication_seconds),
                  NumberCell(plan.peak_bytes),
                  NumberCell(plan.budget_bytes),
                  plan.peak_at,
                  plan.options.cost_model};
  AppendMemory(plan.memory_by_category, row);
  add(std::move(row));
}

// "before 0 1 2": what users call the layers, which run from the last to the first in the backward
// phase.
std::string LayersCell(const LayerLabels& labels, std::vector<int64_t> layers) {
  std::erase_if(layers, [](int64_t layer) { return layer < 0; });
  return WordsCell(labels.Words(layers));
}

void StageRows(const Plan& plan, const AddRow& add) {
  const LayerLabels labels = LabelsOf(ProgramsOf(plan));
  for (size_t i = 0; i < plan.stages().size(); ++i) {
    const PlanStage& stage = plan.stages()[i];
    CsvCells row = {NumberCell(static_cast<int64_t>(i)),
                    LayersText(stage, labels),
                    stage.device,
                    NumbersCell(stage.devices),
                    MeshCell(stage.mesh),
                    stage.recompute ? "1" : "0",
                    NumberCell(stage.seconds.forward),
                    NumberCell(stage.seconds.backward),
                    NumberCell(stage.seconds.weight_gradient),
                    NumberCell(stage.seconds.update),
                    NumberCell(stage.bytes.fixed),
                    NumberCell(stage.bytes.in_flight),
                    NumberCell(stage.bytes.peak),
                    NumberCell(stage.bytes.peak_of_group),
                    NumberCell(stage.budget_bytes),
                    NumberCell(stage.max_in_flight),
                    NumberCell(stage.same_as)};
    AppendMemory(stage.memory_by_category, row);
    add(std::move(row));
  }
}

void TransferRows(const Plan& plan, const AddRow& add) {
  for (const PlanTransfer& one : plan.transfers()) {
    add({NumberCell(one.from), NumberCell(one.to), std::string(Word(one.phase)),
         NumberCell(one.bytes_per_device), NumberCell(one.seconds)});
  }
}

// Calls `add_program(program, stage)` for each distinct program; `stage` is "" without a pipeline.
template <typename AddProgram>
void ForEachProgram(const Plan& plan, const AddProgram& add_program) {
  const DevicePrograms all = ProgramsOf(plan);
  for (size_t p = 0; p < all.programs.size(); ++p) {
    size_t stage = 0;
    while (stage < all.of_stage.size() && all.of_stage[stage] != p) ++stage;
    add_program(all.programs[p], all.of_stage.empty() ? "" : absl::StrCat(stage));
  }
}

void CollectiveRows(const Plan& plan, const AddRow& add) {
  ForEachProgram(plan, [&](const PlanPart& program, const std::string& stage) {
    for (const PlanCollective& one : program.collectives) {
      add({stage, one.kind, WordsCell(one.axes), NumberCell(one.count),
           NumberCell(one.bytes_per_device), NumberCell(one.seconds)});
    }
  });
}

// `kinds`: by tensor how it is parallel; empty: the table does not say it.
void TensorRows(const std::string& stage, const std::vector<PlanTensor>& tensors,
                const std::vector<std::string>& kinds, const AddRow& add) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const PlanTensor& one = tensors[i];
    CsvCells row = {stage,
                    NumberCell(one.index),
                    one.name,
                    one.dtype,
                    NumbersCell(one.shape),
                    SpecText(one.spec),
                    NumberCell(one.bytes_per_device),
                    std::string(Word(one.category))};
    if (!kinds.empty()) row.push_back(kinds[i]);
    add(std::move(row));
  }
}

void ParameterRows(const Plan& plan, const AddRow& add) {
  ForEachProgram(plan, [&](const PlanPart& program, const std::string& stage) {
    TensorRows(stage, program.parameters, ParameterKinds(program), add);
  });
}

void OutputRows(const Plan& plan, const AddRow& add) {
  ForEachProgram(plan, [&](const PlanPart& program, const std::string& stage) {
    TensorRows(stage, program.outputs, {}, add);
  });
}

void InstructionRows(const Plan& plan, const AddRow& add) {
  const LayerLabels labels = LabelsOf(ProgramsOf(plan));
  ForEachProgram(plan, [&](const PlanPart& program, const std::string& stage) {
    const SegmentGraph graph = SegmentsOf(program, plan.micro_batches);
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const PlanInstruction& one = program.instructions[i];
      double communication = 0;
      for (const PlanCollective& move : one.collective) communication += move.seconds;
      add({stage, one.name, std::string(Word(one.opcode)), one.type.dtype,
           NumbersCell(one.type.shape), SpecText(one.spec), one.strategy, NumbersCell(one.operands),
           LayersCell(labels, {graph.layer_of[i]}), PhaseText(graph.phase_of[i]),
           NumberCell(one.executions), NumberCell(one.seconds), NumberCell(communication),
           MetadataName(program, one), SourceText(program, one)});
    }
  });
}

void InstructionCollectiveRows(const Plan& plan, const AddRow& add) {
  ForEachProgram(plan, [&](const PlanPart& program, const std::string& stage) {
    for (const PlanInstruction& one : program.instructions) {
      for (const PlanCollective& move : one.collective) {
        add({stage, one.name, move.value, move.kind, WordsCell(move.axes), NumberCell(move.count),
             NumberCell(move.bytes_per_device), NumberCell(move.seconds)});
      }
    }
  });
}

void SegmentRows(const Plan& plan, const AddRow& add) {
  const LayerLabels labels = LabelsOf(ProgramsOf(plan));
  ForEachProgram(plan, [&](const PlanPart& program, const std::string& stage) {
    const SegmentGraph graph = SegmentsOf(program, plan.micro_batches);
    for (const SegmentNode& node : graph.nodes) {
      const DrawnSegment& segment = graph.segments[node.segment];
      add({stage, PhaseText(segment.phase), LayersCell(labels, node.layers),
           NumberCell(static_cast<int64_t>(node.layers.size())), NumberCell(segment.rounds),
           NumberCell(segment.operators), NumberCell(segment.seconds),
           NumberCell(segment.communication_seconds)});
    }
  });
}

void MemoryRows(const Plan& plan, const AddRow& add) {
  ForEachProgram(plan, [&](const PlanPart& program, const std::string& stage) {
    if (!program.memory_timeline.has_value()) return;
    for (const PlanMemoryPoint& point : program.memory_timeline->points) {
      CsvCells row = {stage, NumberCell(point.time), NumberCell(point.seconds),
                      program.instructions[point.instruction].name};
      AppendMemory(point.bytes, row);
      add(std::move(row));
    }
  });
}

void TaskRows(const Plan& plan, const AddRow& add) {
  constexpr const char* kKinds[] = {"forward", "backward", "weight gradient", "update"};
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(plan, "", 0);
  if (!simulated.ok()) return;  // too long to be simulated; the page says so
  for (const SimulatedTask& task : simulated->simulation.tasks) {
    const bool update = task.task.kind == TaskKind::kUpdate;
    add({NumberCell(int64_t{task.group}), NumberCell(int64_t{task.task.stage}),
         kKinds[static_cast<int>(task.task.kind)],
         update ? "" : NumberCell(int64_t{task.task.micro_batch}), NumberCell(task.start),
         NumberCell(task.end)});
  }
}

void PartRows(const Plan& plan, const AddRow& add) {
  PlanStepParts::VisitMembers(plan.model->seconds,
                              [&](const char* part, double seconds, MemberForm = {}) {
                                add({part, NumberCell(seconds)});
                              });
}

void AlternativeRows(const Plan& plan, const AddRow& add) {
  const PlanTransformer& model = *plan.model;
  add({"0", transformer::ConfigurationText(model.configuration), NumberCell(plan.step_seconds),
       NumberCell(plan.peak_bytes), NumberCell(model.mfu)});
  for (size_t i = 0; i < model.alternatives.size(); ++i) {
    const PlanAlternative& one = model.alternatives[i];
    add({NumberCell(static_cast<int64_t>(i + 1)), transformer::ConfigurationText(one.configuration),
         NumberCell(one.step_seconds), NumberCell(one.peak_bytes), NumberCell(one.mfu)});
  }
}

void SensitivityRows(const Plan& plan, const AddRow& add) {
  for (const PlanSensitivity& one : plan.model->sensitivity) {
    add({one.change, NumberCell(one.step_change)});
  }
}

void SweepRows(const Plan& plan, const AddRow& add) {
  for (const PlanSweepRow& row : plan.model->sweep) {
    add({NumberCell(row.gpus), NumberCell(row.global_batch), NumberCell(row.sequence),
         transformer::ConfigurationText(row.configuration), NumberCell(row.step_seconds),
         NumberCell(row.tokens_per_second), NumberCell(row.mfu), NumberCell(row.efficiency),
         NumberCell(row.peak_bytes)});
  }
}

void ProfiledSegmentRows(const Plan& plan, const AddRow& add) {
  for (const PlanSegment& one : plan.segments) {
    add({one.fingerprint, NumberCell(one.occurrences), one.choice, std::string(Word(one.basis)),
         NumberCell(one.seconds), NumberCell(one.spread), NumberCell(one.samples),
         NumberCell(one.model_seconds), NumberCell(one.peak_bytes)});
  }
}

void NodeGroupRows(const Plan& plan, const AddRow& add) {
  for (const PlanNodeGroup& group : plan.groups->groups) {
    add({group.name, group.device, NumberCell(group.nodes), NumberCell(group.devices_per_node),
         NumberCell(group.used_nodes), NumberCell(group.stages), NumberCell(group.tp),
         NumberCell(group.dp), NumberCell(group.micro_batch), NumberCell(group.dollars_per_hour)});
  }
}

void NodeChoiceRows(const Plan& plan, const AddRow& add) {
  const std::vector<PlanNodeChoice>& choices = plan.groups->choices;
  for (size_t i = 0; i < choices.size(); ++i) {
    const PlanNodeChoice& one = choices[i];
    add({NumberCell(static_cast<int64_t>(i)), NumbersCell(one.nodes), NumberCell(one.step_seconds),
         NumberCell(one.step_dollars), one.is_bound ? "1" : "0", one.on_front ? "1" : "0",
         NumberCell(one.beaten_by), one.degrees, NumbersCell(one.groups), NumbersCell(one.layers)});
  }
}

void GroupMemoryRows(const Plan& plan, const AddRow& add) {
  for (size_t g = 0; g < plan.model->memory.size(); ++g) {
    CsvCells row = {NumberCell(static_cast<int64_t>(g))};
    PlanGroupBytes::VisitMembers(
        plan.model->memory[g],
        [&](const char*, int64_t bytes, MemberForm = {}) { row.push_back(NumberCell(bytes)); });
    add(std::move(row));
  }
}

// Kinds of plans, as a set of bits.
constexpr unsigned Bit(PlanKind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr unsigned kGroups = Bit(PlanKind::kGroups), kModels = Bit(PlanKind::kModel) | kGroups,
                   kPipelines = Bit(PlanKind::kPipeline) | kGroups, kAllPlans = ~0U;

struct TableOfPlans {
  const char* name;
  CsvCells header;
  void (*rows)(const Plan& plan, const AddRow& add);
  unsigned kinds = kAllPlans;  // that have rows in it
};

std::vector<TableOfPlans> Tables() {
  const CsvCells tensor = {"stage",   "index", "name", "dtype", "shape", "spec", "bytes_per_device",
                           "category"};
  CsvCells parameter = tensor;
  parameter.emplace_back("parallelism");
  return {
      {"plans",
       MemoryHeader({"program", "cluster", "mesh", "schedule", "stages", "micro_batches",
                     "bubble_share", "step_seconds", "objective_seconds", "bound_seconds", "gap",
                     "compute_seconds", "communication_seconds", "peak_bytes", "budget_bytes",
                     "peak_at", "cost_model"}),
       &PlanRows},
      {"stages",
       MemoryHeader({"stage", "layers", "device", "devices", "mesh", "recompute", "forward_seconds",
                     "backward_seconds", "weight_gradient_seconds", "update_seconds", "fixed_bytes",
                     "in_flight_bytes", "peak_bytes", "peak_of_group_bytes", "budget_bytes",
                     "max_in_flight", "same_as"}),
       &StageRows},
      {"transfers", {"from", "to", "phase", "bytes_per_device", "seconds"}, &TransferRows},
      {"collectives",
       {"stage", "kind", "axes", "count", "bytes_per_device", "seconds"},
       &CollectiveRows},
      {"parameters", parameter, &ParameterRows},
      {"outputs", tensor, &OutputRows},
      {"instructions",
       {"stage", "name", "opcode", "dtype", "shape", "spec", "strategy", "operands", "layer",
        "phase", "executions", "seconds", "communication_seconds", "op_name", "source"},
       &InstructionRows},
      {"instruction_collectives",
       {"stage", "instruction", "value", "kind", "axes", "count", "bytes_per_device", "seconds"},
       &InstructionCollectiveRows},
      {"segments",
       {"stage", "phase", "layers", "times", "rounds", "operators", "seconds",
        "communication_seconds"},
       &SegmentRows},
      {"memory", MemoryHeader({"stage", "time", "seconds", "instruction"}), &MemoryRows},
      {"timeline",
       {"group", "stage", "kind", "micro_batch", "start_seconds", "end_seconds"},
       &TaskRows,
       kPipelines},
      {"step_parts", {"part", "seconds"}, &PartRows, kModels},
      {"group_memory",
       {"group", "weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes",
        "logits_bytes", "communication_bytes", "framework_bytes", "host_bytes"},
       &GroupMemoryRows,
       kModels},
      {"alternatives",
       {"rank", "degrees", "step_seconds", "peak_bytes", "mfu"},
       &AlternativeRows,
       kModels},
      {"sensitivity", {"change", "step_change"}, &SensitivityRows, kModels},
      {"sweep",
       {"gpus", "global_batch", "sequence", "degrees", "step_seconds", "tokens_per_second", "mfu",
        "efficiency", "peak_bytes"},
       &SweepRows,
       kModels},
      {"profiled_segments",
       {"fingerprint", "occurrences", "choice", "basis", "seconds", "spread", "samples",
        "model_seconds", "peak_bytes"},
       &ProfiledSegmentRows},
      {"node_groups",
       {"group", "device", "nodes", "devices_per_node", "used_nodes", "stages", "tp", "dp",
        "micro_batch", "dollars_per_hour"},
       &NodeGroupRows,
       kGroups},
      {"node_choices",
       {"choice", "nodes", "step_seconds", "step_dollars", "is_bound", "on_front", "beaten_by",
        "degrees", "groups", "layers"},
       &NodeChoiceRows,
       kGroups},
  };
}

}  // namespace

std::vector<CsvFile> CsvTables(const ReportDocuments& documents) {
  std::vector<CsvFile> files;
  for (TableOfPlans& table : Tables()) {
    std::string rows;
    for (const auto& [file, plan] : documents.plans) {
      if ((table.kinds & Bit(plan.kind())) == 0) continue;
      table.rows(plan, [&, &name = file](CsvCells row) {
        row.insert(row.begin(), name);
        rows += CsvLine(row);
      });
    }
    if (rows.empty()) continue;
    table.header.insert(table.header.begin(), "plan");
    files.push_back({absl::StrCat(table.name, ".csv"), absl::StrCat(CsvLine(table.header), rows)});
  }
  return files;
}

}  // namespace meshwright
