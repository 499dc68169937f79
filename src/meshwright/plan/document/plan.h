#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/input_file.h"
#include "meshwright/base/json_members.h"
#include "meshwright/inter/layers/micro_batch_rng.h"
#include "meshwright/intra/completion.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/pipeline_part.h"
#include "meshwright/plan/document/plan_over_groups.h"
#include "meshwright/plan/document/plan_segments.h"
#include "meshwright/plan/document/plan_time_class.h"
#include "meshwright/plan/document/plan_time_use.h"
#include "meshwright/plan/document/plan_transformer.h"
#include "meshwright/plan/document/program_part.h"

// The Plan: what a search decided, as plain values that mean the same on every machine and without
// the program at hand. Every command reads or writes it. plan_json.h gives its JSON form,
// docs/plan-schema.md documents each key. Two runs on the same inputs with the same options give
// equal plans apart from `planning_seconds`, as long as no deadline cut the search off.

namespace meshwright {

// Version of the JSON form. A reader refuses any other.
inline constexpr int64_t kPlanSchema = 13;

// `cost_model` of plans by NERSC's model (published/nersc/nersc.h), which no program has.
inline constexpr const char* kNerscCostModel = "nersc";

// Nodes with devices of one type.
struct PlanClusterPart {
  std::string device;
  int64_t nodes = 1, devices_per_node = 1;
  int64_t device_memory_bytes = 0;
  int64_t devices() const { return nodes * devices_per_node; }

  MESHWRIGHT_MEMBERS(PlanClusterPart, device, nodes, devices_per_node, device_memory_bytes)
};

struct PlanCluster {
  std::string name;  // as the user wrote it
  // At least one; more only with a pipeline. Devices are numbered one part after the other.
  std::vector<PlanClusterPart> parts = std::vector<PlanClusterPart>(1);

  MESHWRIGHT_MEMBERS(PlanCluster, name, parts)
};

// What was asked for, so that the search can be repeated. Numbers that may be left to the search
// are text: "auto" or the number.
struct PlanOptions {
  std::string mesh;                              // "auto" or as the user wrote it
  std::string memory = "device";                 // or "unlimited", or bytes
  std::string pipeline;                          // "off", "auto" or the number of stages
  std::string micro_batches = "auto";            // of pipelines, as are the next five
  std::optional<MicroBatchRng> micro_batch_rng;  // nothing: exact
  std::string schedule = "1f1b";                 // or "auto"
  int64_t layers = 0;                            // 0: as the program repeats
  std::vector<std::string> data;                 // patterns of parameters that hold the batch
  bool recompute = true;                         // allowed
  std::string cost_model;                        // see CostModels, or kNerscCostModel
  Completion rest = Completion::kLeastCost;
  double deadline_seconds = 0;
  int64_t threads = 1;
  uint64_t seed = 1;
  std::vector<std::string> fixes;       // "NAME=SPEC", in order
  std::optional<std::string> database;  // of profiles, path
  std::optional<std::string> network;   // bandwidth between nodes, where the user gave it

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("mesh", self.mesh);
    visit("memory", self.memory);
    visit("pipeline", self.pipeline);
    visit("micro_batches", self.micro_batches);
    visit("micro_batch_rng", self.micro_batch_rng, kMayBeAbsent);
    visit("schedule", self.schedule);
    visit("layers", self.layers);
    visit("data", self.data);
    visit("recompute", self.recompute);
    visit("cost_model", self.cost_model);
    visit("rest", self.rest);
    visit("deadline_seconds", self.deadline_seconds);
    visit("threads", self.threads);
    visit("seed", self.seed);
    visit("fixes", self.fixes);
    visit("database", self.database, kMayBeAbsent);
    visit("network", self.network, kMayBeAbsent);
  }
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

// What a plan is of, which decides which parts it has.
enum class PlanKind {
  kProgram,   // a program on one mesh
  kPipeline,  // a program cut into stages
  kModel,     // the degrees of a model's training, on devices of one kind
  kGroups,    // a model's stages over groups of nodes of several kinds
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
  double step_seconds = 0;  // of one step, with what is overlapped
  // Of programs and pipelines whose step is predicted in seconds, and not composed or measured.
  std::optional<PlanTimeUse> time_use;
  // How far off step_seconds and peak_bytes may be, as shares of them: measured steps are within
  // that in at least 85 of 100 cases (cost/stated_error.h). None: of costs without a unit.
  std::optional<double> time_error, memory_error;
  std::vector<PlanTimeClass> time_classes;  // what time_error is made of, longest first

  int64_t peak_bytes = 0;                    // on one device
  std::optional<int64_t> budget_bytes;       // none: unlimited
  std::string peak_at;                       // instruction that runs at peak memory
  MemoryByCategory memory_by_category = {};  // what `peak_bytes` consists of

  int64_t micro_batches = 1;
  int64_t chunks = 1;       // stages that a group of devices runs
  double bubble_share = 0;  // of all groups' time, the part in which they do nothing

  // The parts of each kind.
  ProgramPart program;                   // kProgram; else it is empty
  std::optional<PipelinePart> pipeline;  // kPipeline, kGroups: at least one stage
  std::optional<PlanTransformer> model;  // kModel, kGroups
  std::optional<PlanOverGroups> groups;  // kGroups

  // Programs with a profile database: by distinct segment and choice, in order of first appearance.
  std::vector<PlanSegment> segments;
  std::optional<PlanProfile> profile;

  std::vector<std::string> warnings;
  double planning_seconds = 0;  // wall clock; the only figure that differs between equal runs

  PlanKind kind() const {
    if (groups.has_value()) return PlanKind::kGroups;
    if (model.has_value()) return PlanKind::kModel;
    return pipeline.has_value() ? PlanKind::kPipeline : PlanKind::kProgram;
  }
  // The program that it was made from; nullptr: none is named.
  const InputFile* program_file() const;
  // Of the pipeline, in order of the layers; none without one.
  const std::vector<PlanStage>& stages() const {
    static const auto* const kNone = new std::vector<PlanStage>();
    return pipeline.has_value() ? pipeline->stages : *kNone;
  }
  // Of the pipeline; "" without one.
  std::string schedule() const { return pipeline.has_value() ? pipeline->schedule : ""; }
  // What its stages hand on; nothing without a pipeline.
  const std::vector<PlanTransfer>& transfers() const {
    static const auto* const kNone = new std::vector<PlanTransfer>();
    return pipeline.has_value() ? pipeline->cross_stage : *kNone;
  }
  // Whether it is of a model that is known by its sizes, without a program.
  bool of_model() const { return model.has_value(); }

  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_H_
