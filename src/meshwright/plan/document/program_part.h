#ifndef MESHWRIGHT_PLAN_DOCUMENT_PROGRAM_PART_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PROGRAM_PART_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/json_members.h"
#include "meshwright/inter/layers/phase.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan_opcode.h"

// The part of a Plan that says how a program lies on one mesh: of a plan without a pipeline, and of
// each stage of one with it.

namespace meshwright {

// One list of mesh axis names, major to minor, for each dimension; empty: that dimension is not
// sharded.
using PlanSpec = std::vector<std::vector<std::string>>;

struct PlanAxis {
  std::string name;
  int64_t size = 1;

  MESHWRIGHT_MEMBERS(PlanAxis, name, size)
};

// Collectives of one kind over the same axes; every figure is the sum over one step.
struct PlanCollective {
  std::string kind;               // "all-reduce", ...
  std::vector<std::string> axes;  // that a group spans
  int64_t count = 0;              // executions
  int64_t bytes_per_device = 0;   // of the full buffers, see docs/plan-schema.md
  double seconds = 0;
  std::string value;  // of an instruction: the operator whose result is moved; else empty

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("kind", self.kind);
    visit("axes", self.axes);
    visit("count", self.count);
    visit("bytes_per_device", self.bytes_per_device);
    visit("seconds", self.seconds);
    visit("value", self.value, kMayBeAbsent);
  }
  friend bool operator==(const PlanCollective&, const PlanCollective&) = default;
};

// One leaf of the program's parameters or outputs.
struct PlanTensor {
  int64_t index = 0;  // parameter number; of outputs the position among the leaves
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  PlanSpec spec;
  int64_t bytes_per_device = 0;
  MemoryCategory category = MemoryCategory::kInputs;

  MESHWRIGHT_MEMBERS(PlanTensor, index, name, dtype, shape, spec, bytes_per_device, category)
};

// Type of an array.
struct PlanType {
  std::string dtype;  // in HLO's spelling
  std::vector<int64_t> shape;

  MESHWRIGHT_MEMBERS(PlanType, dtype, shape)
};

// Where the user's program says what an instruction does.
struct PlanSource {
  int64_t file = 0;  // position in the list `source_files` beside the instructions
  int64_t line = 0;
  friend bool operator==(const PlanSource&, const PlanSource&) = default;
};

// What an instruction's results hold of the memory at its peak.
struct PlanResident {
  int64_t bytes = 0;                                       // on one device
  MemoryCategory category = MemoryCategory::kTemporaries;  // of the largest of them

  MESHWRIGHT_MEMBERS(PlanResident, bytes, category)
};

struct PlanInstruction {
  std::string name;
  PlanOpcode opcode = PlanOpcode::kParameter;
  // Of the (first) result; of outputs that of the array that leaves the program.
  PlanType type;
  std::vector<PlanType> other_types;  // of the further results, if there are any
  // What it reads: positions in the list that this instruction is in, before its own. A
  // loop-parameter reads the value before the loop and, behind it, the one that the next iteration
  // starts with; a loop-exit reads the latter.
  std::vector<int64_t> operands;
  std::vector<int64_t> operand_results;  // which result of each; empty: the first of all
  // From the program's metadata, where that says it: position in the list `op_names` beside.
  std::optional<int64_t> op_name;
  std::optional<PlanSource> source;
  // Where known: the layer (of those that repeat, or that a pipeline is cut between), the phase,
  // and the dimension of the (first) result that runs over the batch.
  std::optional<int64_t> layer;
  std::optional<Phase> phase;
  std::optional<int64_t> batch_dimension;
  std::optional<PlanResident> at_peak;  // none: nothing
  PlanSpec spec;                        // of the (first) result
  std::vector<PlanSpec> other_specs;    // of the further results, if there are any
  // How the operator needs its operands and computes its results, before what it moves; empty if
  // that is how the values are kept.
  std::vector<PlanSpec> operand_specs, computed_specs;
  // Where several steps move an operand to how it is needed, or a result to how it is kept: the
  // specs between, for each operand or result; empty if one step does for all.
  std::vector<std::vector<PlanSpec>> operand_paths, result_paths;
  // Parameters: how all users see it, where it is moved once for all of them.
  std::optional<PlanSpec> shared_spec;
  // Axes along which it adds partial sums and leaves them partial, see docs/plan-schema.md.
  std::vector<std::string> pending_axes;
  // Axes that cut a dimension over which it sums (or takes the maximum of, ...).
  std::vector<std::string> reduced_axes;
  std::string strategy;    // in factor terms, "m=x, k=y"; "replicated"; see docs/plan-schema.md
  int64_t executions = 1;  // a step
  double seconds = 0;      // of computing, all executions of one step
  std::vector<PlanCollective> collective;  // that it needs before or after itself, in order

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("name", self.name);
    visit("opcode", self.opcode);
    visit("dtype", self.type.dtype);
    visit("shape", self.type.shape);
    visit("other_types", self.other_types, kMayBeAbsent);
    visit("operands", self.operands);
    visit("operand_results", self.operand_results, kMayBeAbsent);
    visit("op_name", self.op_name, kMayBeAbsent);
    visit("source", self.source, kMayBeAbsent);
    visit("layer", self.layer, kMayBeAbsent);
    visit("phase", self.phase, kMayBeAbsent);
    visit("batch_dimension", self.batch_dimension, kMayBeAbsent);
    visit("at_peak", self.at_peak, kMayBeAbsent);
    visit("spec", self.spec);
    visit("other_specs", self.other_specs, kMayBeAbsent);
    visit("operand_specs", self.operand_specs, kMayBeAbsent);
    visit("computed_specs", self.computed_specs, kMayBeAbsent);
    visit("operand_paths", self.operand_paths, kMayBeAbsent);
    visit("result_paths", self.result_paths, kMayBeAbsent);
    visit("shared_spec", self.shared_spec, kMayBeAbsent);
    visit("pending_axes", self.pending_axes, kMayBeAbsent);
    visit("reduced_axes", self.reduced_axes, kMayBeAbsent);
    visit("strategy", self.strategy);
    visit("executions", self.executions);
    visit("seconds", self.seconds);
    visit("collective", self.collective);
  }
  friend bool operator==(const PlanInstruction&, const PlanInstruction&) = default;
};

// Memory of one device at one time.
struct PlanMemoryPoint {
  int64_t time = 0;         // position in the order in which the instructions run
  int64_t instruction = 0;  // that runs then: position in the list of instructions
  double seconds = 0;       // that all before it take without overlap
  MemoryByCategory bytes = {};
  friend bool operator==(const PlanMemoryPoint&, const PlanMemoryPoint&) = default;
};

// Memory of one device over the step: at most kMemoryPoints points. Each is the peak of the
// stretch that it stands for, so the peak is among them as it is; so are the first and the last.
inline constexpr int64_t kMemoryPoints = 256;
struct PlanMemoryTimeline {
  int64_t length = 0;  // number of times
  std::vector<PlanMemoryPoint> points;
  friend bool operator==(const PlanMemoryTimeline&, const PlanMemoryTimeline&) = default;
};

// Collectives that run as one in a step.
struct PlanCollectiveRun {
  double start = 0, seconds = 0;  // with the kernels that rearrange its buffers
  // Of each: the instruction that has it, and its position in that one's list.
  std::vector<int64_t> instructions, positions;

  MESHWRIGHT_MEMBERS(PlanCollectiveRun, start, seconds, instructions, positions)
};

// When a step's instructions and collectives run, with collectives overlapped. The step ends
// `contention_seconds` and `launch_seconds` after the last of them.
struct PlanStepTimeline {
  double contention_seconds = 0;  // what hidden collectives take from kernels
  double launch_seconds = 0;
  std::vector<double> start;                   // by instruction; each runs for its `seconds`
  std::vector<PlanCollectiveRun> collectives;  // ascending by start

  MESHWRIGHT_MEMBERS(PlanStepTimeline, contention_seconds, launch_seconds, start, collectives)
};

// How a program lies on one mesh, and what it runs there.
struct ProgramPart {
  std::vector<PlanCollective> collectives;
  std::vector<PlanTensor> parameters, outputs;
  std::vector<std::string> op_names, source_files;  // each once, see PlanInstruction
  std::vector<PlanInstruction> instructions;
  std::optional<PlanMemoryTimeline> memory_timeline;
  // Plans without a pipeline whose cost model has overlap.
  std::optional<PlanStepTimeline> step_timeline;
  bool empty() const { return *this == ProgramPart(); }
  friend bool operator==(const ProgramPart&, const ProgramPart&) = default;

  template <typename Self, typename Visitor>
  static void VisitBorders(Self& self, const Visitor& visit) {
    visit("collectives", self.collectives);
    visit("parameters", self.parameters);
    visit("outputs", self.outputs);
  }
  template <typename Self, typename Visitor>
  static void VisitInside(Self& self, const Visitor& visit) {
    visit("op_names", self.op_names);
    visit("source_files", self.source_files);
    visit("instructions", self.instructions);
    visit("memory_timeline", self.memory_timeline);
    visit("step_timeline", self.step_timeline, kMayBeAbsent);
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PROGRAM_PART_H_
