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

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("name", self.name);
    visit("device", self.device);
    visit("nodes", self.nodes);
    visit("devices_per_node", self.devices_per_node);
    visit("used_nodes", self.used_nodes);
    visit("stages", self.stages);
    visit("tp", self.tp);
    visit("dp", self.dp);
    visit("micro_batch", self.micro_batch);
    visit("dollars_per_hour", self.dollars_per_hour);
  }
  friend bool operator==(const PlanNodeGroup&, const PlanNodeGroup&) = default;
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

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("nodes", self.nodes);
    visit("step_seconds", self.step_seconds);
    visit("step_dollars", self.step_dollars);
    visit("degrees", self.degrees);
    visit("is_bound", self.is_bound);
    visit("on_front", self.on_front);
    visit("beaten_by", self.beaten_by);
    visit("groups", self.groups);
    visit("layers", self.layers);
  }
  friend bool operator==(const PlanNodeChoice&, const PlanNodeChoice&) = default;
};

struct PlanOverGroups {
  std::vector<PlanNodeGroup> groups;                 // all of the cluster
  std::vector<int64_t> stage_groups;                 // by stage: position among `groups`
  std::optional<double> steps;                       // of the whole run
  std::optional<double> most_seconds, most_dollars;  // that it may take
  std::optional<double> step_dollars;
  bool proven = false;                  // nothing better was left open
  std::vector<PlanNodeChoice> choices;  // with a front: its plans, the fastest first, then others

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("groups", self.groups);
    visit("stage_groups", self.stage_groups);
    visit("steps", self.steps);
    visit("most_seconds", self.most_seconds);
    visit("most_dollars", self.most_dollars);
    visit("step_dollars", self.step_dollars);
    visit("proven", self.proven);
    visit("choices", self.choices);
  }
  friend bool operator==(const PlanOverGroups&, const PlanOverGroups&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_OVER_GROUPS_H_
