#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_OVER_GROUPS_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_OVER_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The part of a Plan that only plans of models over groups of nodes have: which nodes it takes, of
// those that there are, what that costs, and the other choices. Listed as in plan_transformer.h.

namespace meshwright {

// Nodes that are alike, and what the stages on them have in common.
struct PlanNodeGroup {
  std::string name, device;
  int64_t nodes = 0, devices_per_node = 0;              // that there are
  int64_t used_nodes = 0;                               // 0: no stage is on them
  int64_t stages = 0, tp = 0, dp = 0, micro_batch = 0;  // 0 where there is none
  std::optional<double> dollars_per_hour;  // of the nodes that are used; none: no price

  MESHWRIGHT_MEMBERS(PlanNodeGroup, name, device, nodes, devices_per_node, used_nodes, stages, tp,
                     dp, micro_batch, dollars_per_hour)
};

// Another choice of nodes.
struct PlanNodeChoice {
  std::vector<int64_t> nodes;  // of each group
  double step_seconds = 0;
  std::optional<double> step_dollars;
  std::string degrees;    // as in tables; empty where a bound showed that it is of no use
  bool is_bound = false;  // no plan on these nodes takes less, and none was made
  bool on_front = false;  // nothing is both faster and cheaper
  std::optional<int64_t> beaten_by;     // position in this list of one no slower and no dearer
  std::vector<int64_t> groups, layers;  // by stage; of the front only

  MESHWRIGHT_MEMBERS(PlanNodeChoice, nodes, step_seconds, step_dollars, degrees, is_bound, on_front,
                     beaten_by, groups, layers)
};

struct PlanOverGroups {
  std::vector<PlanNodeGroup> groups;                 // all of the cluster
  std::vector<int64_t> stage_groups;                 // by stage: position among `groups`
  std::optional<double> steps;                       // of the whole run
  std::optional<double> most_seconds, most_dollars;  // that it may take
  std::optional<double> step_dollars;
  bool proven = false;                  // nothing better was left open
  std::vector<PlanNodeChoice> choices;  // with a front: its plans, the fastest first, then others

  MESHWRIGHT_MEMBERS(PlanOverGroups, groups, stage_groups, steps, most_seconds, most_dollars,
                     step_dollars, proven, choices)
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_OVER_GROUPS_H_
