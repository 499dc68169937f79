#include "meshwright/export/plan_again.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"

namespace meshwright {
namespace {

using transformer::Configuration;

constexpr const char* kNearestFile = "nearest.json";

// The file of one kind that the plan was made from; empty: none.
std::string InputOf(const Plan& plan, std::string_view kind) {
  for (const InputFile& input : plan.inputs) {
    if (input.kind == kind) return input.path;
  }
  return "";
}

bool HasExperts(const transformer::Model& model) {
  for (const transformer::Stack& stack : model.stacks) {
    for (const transformer::Layer& layer : stack.kinds) {
      if (layer.moe.has_value()) return true;
    }
  }
  return false;
}

// --memory, unless a device's own is meant.
std::vector<CommandWords> MemoryWords(const Plan& plan) {
  const bool groups = plan.transformer->over_groups.has_value();
  const std::string& memory = plan.options.memory;
  const bool own = groups ? memory == "device"
                          : memory == absl::StrCat(plan.cluster.parts[0].device_memory_bytes);
  if (own) return {};
  return {{"--memory", memory}};
}

}  // namespace

std::string ClusterWord(const Plan& plan) {
  const std::string file = InputOf(plan, "cluster_yaml");
  return file.empty() ? plan.cluster.name : file;
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

std::string PlanAgainText(const Plan& plan, const ExportTarget& target, const PlanAgain& again) {
  const PlanTransformer& part = *plan.transformer;
  const std::string file = InputOf(plan, "model"), profile = InputOf(plan, "layer_profile");
  std::vector<CommandWords> words = {{"meshwright", "plan", file.empty() ? part.model : file},
                                     {"--cluster", again.cluster},
                                     {"--global-batch", absl::StrCat(part.global_batch)},
                                     {"--seq", absl::StrCat(part.sequence)}};
  const auto add = [&](const std::vector<CommandWords>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (again.precision != transformer::Precision::kBf16) {
    words.push_back({"--dtype", std::string(transformer::PrecisionName(again.precision))});
  }
  add(MemoryWords(plan));
  if (again.over_groups && !profile.empty()) words.push_back({"--profile", profile});
  add(again.more);
  words.push_back({"--for", target.name});
  add(FixWords(again.fixes));
  words.push_back({"-o", kNearestFile});
  std::string text = CommandText(words);
  if (again.needs_script) {
    StrAppend(&text, CommandText({{"meshwright", "export", kNearestFile},
                                  {"--to", target.name},
                                  {"--script", "YOUR_PROGRAM.py"}}));
  }
  return text;
}

}  // namespace meshwright
