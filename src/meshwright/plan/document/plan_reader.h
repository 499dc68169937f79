#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_READER_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_READER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/json_value.h"
#include "meshwright/plan/document/json_reader.h"
#include "meshwright/plan/document/plan.h"

// What the readers of a plan's parts have in common; plan_json.h is what others use.

namespace meshwright {

// The object {"axes": [...]}.
struct MeshMember {
  std::vector<PlanAxis>& axes;
};

// The object that plan.h has as an array.
struct MemoryMember {
  MemoryByCategory& bytes;
};

absl::Status ReadJson(const InputJson& json, const std::string& path, MeshMember& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, MemoryCategory& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, MemoryMember& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, PlanMemoryTimeline& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, PlanCollective& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, PlanTensor& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, PlanInstruction& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, PlanStage& value);
absl::Status ReadJson(const InputJson& json, const std::string& path, PlanTransfer& value);

// What holds across a document of which every part has been read.

// Axes named in specs and collectives are those of the mesh, each once in one array.
absl::Status CheckAxes(const Plan& plan, const std::string& path);
absl::Status CheckAxes(const PlanStage& stage, const std::string& path);
// Positions of instructions, names and files are those of the lists that they point into.
absl::Status CheckReferences(const Plan& plan, const std::string& path);
absl::Status CheckReferences(const PlanStage& stage, const std::string& path);
absl::Status CheckPipeline(const Plan& plan);
// Of a plan over groups of nodes, which must be one: every stage is on a group that has nodes, and
// the parts of the cluster are the groups that do.
absl::Status CheckOverGroups(const Plan& plan);
// Figures are ones that a plan can have.
absl::Status CheckAmounts(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_READER_H_
