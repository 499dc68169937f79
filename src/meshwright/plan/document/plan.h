#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/input_file.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan_segments.h"
#include "meshwright/plan/document/plan_transformer.h"

// The Plan: what a search decided, as plain values that mean the same on every machine and without
// the program at hand. Every command reads or writes it. plan_json.h gives its JSON form,
// docs/plan-schema.md documents each key. Two runs on the same inputs with the same options give
// equal plans apart from `planning_seconds`, as long as no deadline cut the search off.

namespace meshwright {

// Version of the JSON form. A reader refuses any other.
inline constexpr int64_t kPlanSchema = 8;

// One list of mesh axis names, major to minor, for each dimension; empty: that dimension is not
// sharded.
using PlanSpec = std::vector<std::vector<std::string>>;

// Nodes with devices of one type.
struct PlanClusterPart {
  std::string device;
  int64_t nodes = 1, devices_per_node = 1;
  int64_t device_memory_bytes = 0;
  int64_t devices() const { return nodes * devices_per_node; }
  friend bool operator==(const PlanClusterPart&, const PlanClusterPart&) = default;
};

struct PlanCluster {
  std::string name;  // as the user wrote it
  // At least one; more only with a pipeline. Devices are numbered one part after the other.
  std::vector<PlanClusterPart> parts = std::vector<PlanClusterPart>(1);
  friend bool operator==(const PlanCluster&, const PlanCluster&) = default;
};

// What was asked for, so that the search can be repeated. Numbers that may be left to the search
// are text: "auto" or the number.
struct PlanOptions {
  std::string mesh;                    // "auto" or as the user wrote it
  std::string memory = "device";       // or "unlimited", or bytes
  std::string pipeline;                // "off", "auto" or the number of stages
  std::string micro_batches = "auto";  // of pipelines, as are the next four
  std::string schedule = "1f1b";       // or "auto"
  int64_t layers = 0;                  // 0: as the program repeats
  std::vector<std::string> data;       // patterns of parameters that hold the batch
  bool recompute = true;               // allowed
  std::string cost_model;              // "roofline", "alpha_beta"
  std::string rest = "least-cost";     // shardings that were not given: this or "xla"
  double deadline_seconds = 0;
  int64_t threads = 1;
  uint64_t seed = 1;
  std::vector<std::string> fixes;       // "NAME=SPEC", in order
  std::optional<std::string> database;  // of profiles, path
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

struct PlanAxis {
  std::string name;
  int64_t size = 1;
  friend bool operator==(const PlanAxis&, const PlanAxis&) = default;
};

// Collectives of one kind over the same axes; every figure is the sum over one step.
struct PlanCollective {
  std::string kind;               // "all-reduce", ...
  std::vector<std::string> axes;  // that a group spans
  int64_t count = 0;              // executions
  int64_t bytes_per_device = 0;   // of the full buffers, see docs/plan-schema.md
  double seconds = 0;
  std::string value;  // of an instruction: the operator whose result is moved; else empty
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
  friend bool operator==(const PlanTensor&, const PlanTensor&) = default;
};

// Type of an array.
struct PlanType {
  std::string dtype;  // in HLO's spelling
  std::vector<int64_t> shape;
  friend bool operator==(const PlanType&, const PlanType&) = default;
};

// Where the user's program says what an instruction does.
struct PlanSource {
  int64_t file = 0;  // position in the list `source_files` beside the instructions
  int64_t line = 0;
  friend bool operator==(const PlanSource&, const PlanSource&) = default;
};

// What an instruction's results hold of the memory when that is fullest.
struct PlanResident {
  int64_t bytes = 0;                                       // on one device
  MemoryCategory category = MemoryCategory::kTemporaries;  // of the largest of them
  friend bool operator==(const PlanResident&, const PlanResident&) = default;
};

struct PlanInstruction {
  std::string name;
  std::string opcode;
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
  // Where known: the layer (of those that repeat, or that a pipeline is cut between), the phase
  // ("forward", "backward", "update"; else empty), and the dimension of the (first) result that
  // runs over the batch.
  std::optional<int64_t> layer;
  std::string phase;
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
  friend bool operator==(const PlanInstruction&, const PlanInstruction&) = default;
};

// Memory of one device at one time.
struct PlanMemoryPoint {
  int64_t time = 0;         // position in the order in which the instructions run
  int64_t instruction = 0;  // that runs then: position in the list of instructions
  double seconds = 0;       // that all before it take, one after the other
  MemoryByCategory bytes = {};
  friend bool operator==(const PlanMemoryPoint&, const PlanMemoryPoint&) = default;
};

// Memory of one device over the step: at most kMemoryPoints points. Each is the fullest time of the
// stretch that it stands for, so the peak is among them as it is; so are the first and the last.
inline constexpr int64_t kMemoryPoints = 256;
struct PlanMemoryTimeline {
  int64_t length = 0;  // number of times
  std::vector<PlanMemoryPoint> points;
  friend bool operator==(const PlanMemoryTimeline&, const PlanMemoryTimeline&) = default;
};

// Seconds of one stage: of one micro-batch, but `update` once a step.
struct PlanStageSeconds {
  double forward = 0, backward = 0;
  double weight_gradient = 0;  // of `backward`, what no other stage waits for
  double update = 0;           // reducing what was summed over micro-batches, and the optimizer
  friend bool operator==(const PlanStageSeconds&, const PlanStageSeconds&) = default;
};

// Memory of one device of a stage.
struct PlanStageBytes {
  int64_t fixed = 0;          // whatever is in flight
  int64_t in_flight = 0;      // for each micro-batch between its forward and its backward phase
  int64_t peak = 0;           // of this stage by itself
  int64_t peak_of_group = 0;  // with the other stages that run on the same devices
  friend bool operator==(const PlanStageBytes&, const PlanStageBytes&) = default;
};

struct PlanStage {
  int64_t first_layer = 0, end_layer = 0;  // [first_layer, end_layer)
  std::string device;                      // type
  int64_t device_memory_bytes = 0;         // that a device has
  std::optional<int64_t> budget_bytes;     // that a device may use; none: unlimited
  std::vector<int64_t> devices;            // numbers, in the order of the mesh, row-major
  std::vector<PlanAxis> mesh;
  bool recompute = false;  // activations are computed again for the backward phase
  PlanStageSeconds seconds;
  PlanStageBytes bytes;
  int64_t max_in_flight = 0;                 // micro-batches of this stage
  MemoryByCategory memory_by_category = {};  // what bytes.peak_of_group consists of
  // What the stage runs in a step, as in Plan. Empty if `same_as` names an earlier stage
  // that runs the same, under other names.
  std::optional<int64_t> same_as;
  std::vector<PlanCollective> collectives;
  std::vector<PlanTensor> parameters, outputs;
  // With `same_as`: what its own parameters and outputs are called, in the order of that stage's.
  std::vector<std::string> parameter_names, output_names;
  std::vector<PlanInstruction> instructions;
  std::vector<std::string> op_names, source_files;
  // Of the phases of one micro-batch, one after the other.
  std::optional<PlanMemoryTimeline> memory_timeline;
  friend bool operator==(const PlanStage&, const PlanStage&) = default;
};

// What one micro-batch's phase hands on to the next stage.
struct PlanTransfer {
  int64_t from = 0, to = 0;      // stages
  std::string phase;             // "forward", "backward"
  int64_t bytes_per_device = 0;  // of the sending stage
  double seconds = 0;
  friend bool operator==(const PlanTransfer&, const PlanTransfer&) = default;
};

struct Plan {
  int64_t schema = kPlanSchema;
  std::string tool_version;
  std::vector<InputFile> inputs;
  PlanOptions options;
  PlanCluster cluster;
  std::vector<PlanAxis> mesh;

  double objective_seconds = 0;  // one step; in the cost model's own unit if that has none
  double bound_seconds = 0;      // no plan on this mesh within the budget takes less
  double gap = 0;                // (objective - bound) / objective
  double compute_seconds = 0, communication_seconds = 0;
  double step_seconds = 0;  // of one step, with what runs side by side

  int64_t peak_bytes = 0;                    // on one device
  std::optional<int64_t> budget_bytes;       // none: unlimited
  std::string peak_at;                       // instruction that runs when memory is fullest
  MemoryByCategory memory_by_category = {};  // what `peak_bytes` consists of

  std::vector<PlanCollective> collectives;
  std::vector<PlanTensor> parameters, outputs;
  std::vector<PlanInstruction> instructions;
  std::vector<std::string> op_names, source_files;    // each once, see PlanInstruction
  std::optional<PlanMemoryTimeline> memory_timeline;  // none: no program, or stages have it

  // Pipelines. Without one there are no stages and the rest is as it is here.
  std::optional<std::string> schedule;  // of the stages' tasks: "1f1b", ...
  int64_t micro_batches = 1;
  int64_t chunks = 1;       // stages that a group of devices runs
  double bubble_share = 0;  // of all groups' time, the part in which they do nothing
  std::vector<PlanStage> stages;
  std::vector<PlanTransfer> cross_stage;

  // Plans of models: the degrees of their training. There is no program then, so neither
  // parameters, outputs and instructions, nor stages but over groups of nodes.
  std::optional<PlanTransformer> transformer;

  // Plans with a profile database: by distinct segment and choice, in order of first appearance.
  std::vector<PlanSegment> segments;
  std::optional<PlanProfile> profile;

  std::vector<std::string> warnings;
  double planning_seconds = 0;  // wall clock; the only figure that differs between equal runs

  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_H_
