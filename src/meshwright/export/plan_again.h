#ifndef MESHWRIGHT_EXPORT_PLAN_AGAIN_H_
#define MESHWRIGHT_EXPORT_PLAN_AGAIN_H_

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/export/command_text.h"
#include "meshwright/export/export_options.h"
#include "meshwright/export/target.h"

// The commands that plan a model again, for a target, and launch what they find.

namespace meshwright {

// The plan's cluster as --cluster takes it: the name or the file that it was given by.
std::string ClusterWord(const Plan& plan);

// What --fix says, beside what `plan --for` keeps to by itself, so that `to` is all that is left.
std::vector<std::string> FixesOf(const transformer::Configuration& to,
                                 const transformer::Model& model);

// `meshwright plan` with what `plan` was asked for, on `cluster`, for `target` and with `fixes`;
// and, where something has to be said to it, `meshwright export`. `more`: other options.
struct PlanAgain {
  std::string cluster;
  std::vector<std::string> fixes;
  std::vector<CommandWords> more = {};
  transformer::Precision precision = transformer::Precision::kBf16;
  bool needs_script = false;
  bool over_groups = false;  // as the plan is
};
std::string PlanAgainText(const Plan& plan, const ExportTarget& target, const PlanAgain& again);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_PLAN_AGAIN_H_
