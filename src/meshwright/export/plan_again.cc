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

bool HasExperts(const transformer::Model& model) {
  for (const transformer::Stack& stack : model.stacks) {
    for (const transformer::Layer& layer : stack.kinds) {
      if (layer.moe.has_value()) return true;
    }
  }
  return false;
}

std::vector<std::string> FixesOf(const Configuration& to, const transformer::Model& model) {
  std::vector<std::string> fixes;
  const auto add = [&](std::string_view key) {
    fixes.push_back(StrCat(key, "=", transformer::FixValue(to, key)));
  };
  add("tp");
  if (to.tp > 1) add("sp");
  add("cp");
  if (to.cp > 1) add("context");
  for (const char* const key : {"dp", "pp"}) add(key);
  if (to.pp > 1) {
    add("vp");
    add("schedule");
  }
  if (HasExperts(model)) {
    add("ep");
    add("etp");
  }
  for (const char* const key : {"mbs", "zero"}) add(key);
  if (to.zero > 0) add("shard");
  add("recompute");
  if (to.recompute == transformer::Recompute::kFull) add("recompute_layers");
  add("place");
  if (to.offload_optimizer) {
    add("offload_optimizer");
    add("offload_percent");
  }
  if (to.offload_activations) {
    add("offload_activations");
    add("offload_layers");
  }
  return fixes;
}

}  // namespace

AskedOptions AskedWith(const Plan& plan, const Configuration& to, const transformer::Model& model) {
  const AskedOptions usual;
  AskedOptions asked = AskedOf(plan);
  asked.fixes = FixesOf(to, model);
  asked.dtype = std::string(transformer::PrecisionName(to.precision));
  asked.gradients = usual.gradients;
  asked.moments = usual.moments;
  asked.fused_loss = usual.fused_loss;
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
