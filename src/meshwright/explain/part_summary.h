#ifndef MESHWRIGHT_EXPLAIN_PART_SUMMARY_H_
#define MESHWRIGHT_EXPLAIN_PART_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/explain/parallelism.h"
#include "meshwright/explain/parameter_groups.h"
#include "meshwright/explain/plan_part.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

struct RoleShare {
  AxisRole role = AxisRole::kReplicated;
  double share = 0;  // of the weights' bytes, before they are cut
};

// What an axis of more than one device is used for.
struct AxisSummary {
  std::string axis;
  int64_t devices = 1;
  std::vector<RoleShare> roles;  // the largest share first; empty: the part has no weights
};

// Consecutive layers whose weights are treated alike.
struct LayerRange {
  // None: of what is used in no layer of its own (inside loops over layers, or by all).
  std::optional<int64_t> first, last;
  std::vector<AxisSummary> axes;
};

// Collectives of one kind and reason at one place of the source, summed over repeated layers.
struct CollectiveGroup {
  PlanCollective sum;
  std::string cause;   // "reduces partial sums of .../dot_general"
  std::string source;  // "model.py:17" of the operator that causes it; may be empty
  std::string phase;   // may be empty
  int64_t places = 0;  // operators
  size_t at = 0;       // position of the first operator that causes it
};

// What instructions of one name and place in the source hold of memory at its peak.
struct ResidentGroup {
  std::string name, source;  // the name folded
  bool exact = true;         // see FoldedName
  MemoryCategory category = MemoryCategory::kTemporaries;
  int64_t count = 0;
  double bytes = 0;
};

// Serial seconds a step of one phase, which may be read off names (layers_by_name.h). Of a stage: a
// reduction of what is summed over micro-batches is a part of the update, as in its `seconds`
// (docs/plan-schema.md).
struct PhaseSeconds {
  std::string phase;  // "forward", "recomputation", "backward", "update"; empty: not known
  double compute = 0, communication = 0;
};

// What a part does, of a device in a step. Parameters have the names of all stages that are the
// part, everything else those of the first.
struct PartSummary {
  std::vector<AxisSummary> axes;
  std::vector<ParameterGroup> parameters;    // weights, inputs, state; the largest first of each
  std::vector<LayerRange> layers;            // ascending; at the end what is of none
  std::vector<CollectiveGroup> collectives;  // the most expensive first
  std::vector<ResidentGroup> residents;      // the largest first
  std::vector<int32_t> phase_of;             // by instruction, see FindPhasesAndLayers
  std::vector<PhaseSeconds> phases;          // see PhasesOf
  double contraction_seconds = 0, other_seconds = 0;  // of computing
  bool divides_work = false;  // an operator is cut along an axis, or devices talk to each other
};

// `judged`: see JudgeParameters.
PartSummary Summarize(const PlanPart& part, const std::vector<ParameterParallelism>& judged);
inline PartSummary Summarize(const PlanPart& part) {
  return Summarize(part, JudgeParameters(part));
}

// The phases of `part` that take time, in the order of PhaseSeconds.
std::vector<PhaseSeconds> PhasesOf(const PlanPart& part);

// "tensor parallelism over y (4)", "mixed parallelism: FSDP over x (2), tensor over y (4)", "no
// parallelism: every device does the same work".
std::string Headline(const PartSummary& summary);

// "FSDP 98 %, data 2 %".
std::string SharesText(const std::vector<RoleShare>& roles);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_PART_SUMMARY_H_
