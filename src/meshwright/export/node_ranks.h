#ifndef MESHWRIGHT_EXPORT_NODE_RANKS_H_
#define MESHWRIGHT_EXPORT_NODE_RANKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// Nodes with neighbouring ranks that are of one kind.
struct NodeRun {
  size_t kind = 0;  // of NodeRanks::kinds
  int64_t nodes = 1;
  int64_t processes = 1;  // on each: devices that stages use
  friend bool operator==(const NodeRun&, const NodeRun&) = default;
};

// Which node has which rank, and which process.
struct NodeRanks {
  struct Kind {
    std::string name, device;
    int64_t devices_per_node = 1;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  std::vector<Kind> kinds;
  std::vector<NodeRun> runs;  // in the order of ranks

  int64_t nodes() const;
  int64_t nodes_of(size_t kind) const;
  int64_t processes() const;
  // The processes of every node, where that is one number; else 0.
  int64_t equal_processes() const;
};

NodeRanks EqualNodes(const std::string& device, int64_t nodes, int64_t devices_per_node);

// A plan over groups of nodes, as launches need it.
struct StagesOverGroups {
  NodeRanks ranks;
  // Ranks follow the pipeline: those of a stage are neighbours, behind those of the stage before.
  bool in_order = false;
  bool same_degrees = false;
  struct Stage {
    int64_t layers = 0, tp = 1, dp = 1, micro_batch = 1;
    std::string device;
    std::vector<int64_t> ranks;
  };
  std::vector<Stage> stages;
};

// Nodes are numbered along the pipeline where each one's stages follow each other; else group by
// group.
StagesOverGroups ReadStagesOverGroups(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_NODE_RANKS_H_
