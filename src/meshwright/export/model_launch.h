#ifndef MESHWRIGHT_EXPORT_MODEL_LAUNCH_H_
#define MESHWRIGHT_EXPORT_MODEL_LAUNCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/export/node_ranks.h"
#include "meshwright/model/model.h"
#include "meshwright/plan/document/plan.h"

// The part of a plan that launches are written from.

namespace meshwright {

// A plan of a model, in the types of transformer/.
struct ModelLaunch {
  transformer::Model model;
  std::string description;      // of the model, as the plan has it
  bool is_huggingface = false;  // the description is a config.json
  transformer::Workload workload;
  transformer::Configuration configuration;
  transformer::StateOptions state;
  // Over groups whose nodes run different numbers of processes: all processes on one node.
  int64_t nodes = 1, devices_per_node = 1;
  std::string device;                   // type; over groups the first stage's
  std::optional<int64_t> budget_bytes;  // that a device may use; none: unlimited
  NodeRanks ranks;
  // A plan over groups of nodes. The configuration's degrees are the first stage's then.
  std::optional<StagesOverGroups> over_groups;

  void SetDescription(std::string text);
  int64_t MicroBatches(const transformer::Configuration& c) const {
    return workload.global_batch / (c.dp * c.micro_batch);
  }
};

// `alternative`: 0 is the plan's best, 1 the next best, ... Errors: the plan is not of a model, is
// of several device types without being over groups, its parts contradict each other, or it has a
// degree that this layer does not know.
absl::StatusOr<ModelLaunch> ReadModelLaunch(const Plan& plan, int64_t alternative);

// Nodes of a plan of one device type, whatever it is of.
struct NodeCounts {
  int64_t nodes = 1, devices_per_node = 1;
};
absl::StatusOr<NodeCounts> CountNodes(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_MODEL_LAUNCH_H_
