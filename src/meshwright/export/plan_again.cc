#include "meshwright/export/plan_again.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/export/command_text.h"
#include "meshwright/request/asked_of_plan.h"

namespace meshwright {
namespace {

using transformer::Configuration;

constexpr const char* kNearestFile = "nearest.json";

}  // namespace

AskedOptions AskedWith(const Plan& plan, const Configuration& to, const transformer::Model& model) {
  AskedOptions asked = AskedOf(plan);
  asked.fixes = FixTexts(to, model);
  asked.dtype = std::string(transformer::PrecisionName(to.precision));
  return asked;
}

AskedOptions AskedOnNodes(const Plan& plan, const NodesOfOneType& nodes, const Configuration& to,
                          const transformer::Model& model) {
  AskedOptions asked = AskedWith(plan, to, model);
  asked.cluster = absl::StrCat(nodes.nodes, "x", nodes.devices_per_node, "x", nodes.device);
  // What is said of groups of nodes and of what they cost.
  const AskedOptions usual;
  asked.objective = usual.objective;
  asked.profile = usual.profile;
  asked.steps = usual.steps;
  asked.max_time = usual.max_time;
  asked.max_cost = usual.max_cost;
  return asked;
}

std::string PlanAgainText(const Plan& plan, const ExportTarget& target, AskedOptions asked,
                          bool needs_script) {
  asked.launch_targets = target.name;
  // The target implies the framework.
  const AskedOptions unasked;
  asked.framework = unasked.framework;
  asked.release = unasked.release;
  asked.attention = unasked.attention;
  if (!target.writes_state) {
    asked.gradients = unasked.gradients;
    asked.moments = unasked.moments;
    asked.loss = unasked.loss;
  }
  const std::vector<std::string> fixes = std::move(asked.fixes);
  asked.fixes.clear();
  std::vector<CommandWords> words = {{"meshwright", "plan", SubjectOf(plan).name}};
  const auto add = [&](const std::vector<CommandWords>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  AskedOptions usual;
  add(OptionWords(PlanOptionRows(asked), PlanOptionRows(usual)));
  add(FixWords(fixes));
  words.push_back({"-o", kNearestFile});
  std::string text = CommandText(words);
  if (needs_script) {
    StrAppend(&text, CommandText({{"meshwright", "export", kNearestFile},
                                  {"--to", target.name},
                                  {"--script", "YOUR_PROGRAM.py"}}));
  }
  return text;
}

}  // namespace meshwright
