#ifndef MESHWRIGHT_PLAN_MAKE_GROUPS_TEXT_H_
#define MESHWRIGHT_PLAN_MAKE_GROUPS_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/cost/stated_error.h"
#include "meshwright/plan/make/plan_groups.h"

// Words for plans over groups of nodes.

namespace meshwright {

// "2 of fast, 4 of a10"; groups without a node are left out.
std::string NodesText(const GroupsRequest& request, const std::vector<int64_t>& nodes);
// "tp=2 sp dp=4 pp=16 mbs=1 zero=1 recompute=full"; where they differ "pp=16 zero=1, fast tp=4 sp
// dp=2 mbs=2, slow tp=2 sp dp=4 mbs=1".
std::string GroupsDegreesText(const GroupsRequest& request, const transformer::hetero::Plan& plan);
// What has to be said of the chosen plan: of the model, and of devices that it takes.
std::vector<std::string> GroupsWarnings(const GroupsRequest& request, const GroupsAnswer& answer);
// How far off the chosen plan's step may be: as of all devices that it takes were measured runs, or
// layers; else twice that, and where measured layers are extrapolated at least what that makes.
ClassError GroupsError(const GroupsRequest& request, const GroupsAnswer& answer);
bool HasPrices(const GroupsRequest& request);
// "12.3 d and $1234.56 on 2 of fast, 4 of a10 (tp=2 ...)"; of a step without a number of steps.
std::string ChoiceText(const GroupsRequest& request, const transformer::hetero::Choice& choice);

// A choice of nodes beside the front.
struct DominatedNodes {
  std::vector<int64_t> nodes;
  // Of a step: of the best plan, or what no plan takes less than.
  double seconds = 0, dollars = 0;
  const transformer::hetero::Choice* choice = nullptr;  // the best plan; null: a bound
  // Of the front: a plan that is no slower and no dearer; -1: none, the effort did not suffice to
  // tell.
  int32_t by = -1;
};
// In the order of nodes; they point into `answer`.
std::vector<DominatedNodes> Dominated(const GroupsAnswer& answer);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_GROUPS_TEXT_H_
