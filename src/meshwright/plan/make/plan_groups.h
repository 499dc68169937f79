#ifndef MESHWRIGHT_PLAN_MAKE_PLAN_GROUPS_H_
#define MESHWRIGHT_PLAN_MAKE_PLAN_GROUPS_H_

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/degrees/search.h"
#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/search.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// A model over groups of nodes, with prices or without.
struct GroupsRequest {
  transformer::hetero::Problem problem;
  transformer::hetero::SearchOptions options;
  bool has_steps = false;   // options.steps was given
  std::string description;  // text that the model was read from
  std::string memory = "device";
  std::vector<InputFile> inputs;
  std::optional<int64_t> mtp;  // see ModelRequest
  std::string launch_targets;  // likewise
  int64_t point = 0;           // the plan of the front that is chosen
  // Of the search; what it found by then counts.
  double deadline_seconds = std::numeric_limits<double>::infinity();
  std::function<bool()> stop;  // null: never
};

struct GroupsAnswer {
  transformer::hetero::Result result;
  std::vector<transformer::hetero::Figures> figures;  // of each plan of the front
  size_t chosen = 0;                                  // of the front: the one that is written
  // A plan that is faster than the first of the front, on its nodes, of those that are not searched
  // over groups.
  std::optional<transformer::RankedConfiguration> faster;
  double planning_seconds = 0;
};

// At least one plan. Errors: invalid argument for what cannot be asked, resource exhausted where no
// plan is within the limits or the memory (the message names the cheapest that works, or the
// fastest), or the front has no such point; deadline exceeded if the search was ended before it
// found one.
absl::StatusOr<GroupsAnswer> PlanGroups(const GroupsRequest& request);

// The chosen plan and its stages; with a front, its plans and why the other choices of nodes are
// not among them.
std::string GroupsTable(const GroupsRequest& request, const GroupsAnswer& answer);
// One row for each choice of nodes that was looked at, those of the front first.
std::string GroupsCsv(const GroupsRequest& request, const GroupsAnswer& answer);
// The front and the others as a chart of time and cost: a Vega-Lite document with its data.
std::string GroupsPlot(const GroupsRequest& request, const GroupsAnswer& answer);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_PLAN_GROUPS_H_
