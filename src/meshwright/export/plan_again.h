#ifndef MESHWRIGHT_EXPORT_PLAN_AGAIN_H_
#define MESHWRIGHT_EXPORT_PLAN_AGAIN_H_

#include <cstdint>
#include <string>

#include "meshwright/export/export_options.h"
#include "meshwright/export/target.h"
#include "meshwright/request/plan_options.h"

// The commands that plan a model again, for a target, and launch what they find.

namespace meshwright {

// What the plan was asked for, with fixes beside what `plan --for` keeps to by itself, so that `to`
// is all that is left, and with what frameworks can launch in place of other states.
AskedOptions AskedWith(const Plan& plan, const transformer::Configuration& to,
                       const transformer::Model& model);

// The same on nodes of one built-in type.
struct NodesOfOneType {
  int64_t nodes = 1, devices_per_node = 1;
  std::string device;
};
AskedOptions AskedOnNodes(const Plan& plan, const NodesOfOneType& nodes,
                          const transformer::Configuration& to, const transformer::Model& model);

// `meshwright plan` with the plan's model, `asked`, for `target`; and, where something has to be
// said to it, `meshwright export`.
std::string PlanAgainText(const Plan& plan, const ExportTarget& target, AskedOptions asked,
                          bool needs_script = false);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_PLAN_AGAIN_H_
