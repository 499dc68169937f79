#include "meshwright/export/refusal.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/export/nearest_plan.h"
#include "meshwright/export/plan_again.h"
#include "meshwright/export/usual_choices.h"

namespace meshwright {
namespace {

using transformer::Configuration;

// Sentences that every layer adds to are many; the first few say what is wrong.
constexpr size_t kMostSentences = 6;
// How many other sizes of the cluster are tried where it has nothing to offer.
constexpr int kMostDoublings = 4;
constexpr int64_t kMostSmaller = 16;

// Whether a launch is run by a program of the user's own only, and there is none.
bool LacksScript(const ModelLaunch& launch, const Configuration& c, const ExportTarget& target,
                 bool has_script) {
  return !has_script && target.needs_script != nullptr && target.needs_script(launch, c);
}

// The first of the plan's alternatives that the target can express, 0 if none.
int64_t FirstAlternative(const Plan& plan, const ExportTarget& target, bool has_script) {
  const auto count = static_cast<int64_t>(plan.model->alternatives.size());
  for (int64_t i = 1; i <= count; ++i) {
    const absl::StatusOr<ModelLaunch> other = ReadModelLaunch(plan, i);
    if (!other.ok() || LacksScript(*other, other->configuration, target, has_script)) continue;
    Findings findings(/*wording=*/false);
    target.check_configuration(*other, other->configuration, findings);
    RequireState(other->state, target.writes_state, findings);
    if (findings.ok()) return i;
  }
  return 0;
}

// The launch on other nodes of the same kind.
ModelLaunch OnNodes(ModelLaunch launch, int64_t nodes, int64_t devices_per_node) {
  launch.nodes = nodes;
  launch.devices_per_node = devices_per_node;
  return launch;
}

// Larger clusters, each twice the last, or smaller ones: nodes fewer, then parts of one.
std::vector<ModelLaunch> OtherSizes(const ModelLaunch& launch, bool larger) {
  std::vector<ModelLaunch> sizes;
  if (larger) {
    int64_t nodes = launch.nodes;
    for (int i = 0; i < kMostDoublings; ++i) {
      nodes *= 2;
      if (nodes * launch.devices_per_node > kMaxDevices) break;
      sizes.push_back(OnNodes(launch, nodes, launch.devices_per_node));
    }
    return sizes;
  }
  const int64_t step = std::max<int64_t>(1, launch.nodes / kMostSmaller);
  for (int64_t nodes = launch.nodes - step; nodes >= 1; nodes -= step) {
    sizes.push_back(OnNodes(launch, nodes, launch.devices_per_node));
  }
  for (int64_t devices = launch.devices_per_node / 2; devices >= 1; devices /= 2) {
    sizes.push_back(OnNodes(launch, 1, devices));
  }
  return sizes;
}

// A configuration that the target takes, and where.
struct Nearest {
  ModelLaunch launch;
  Configuration configuration;
};

std::optional<Nearest> NearestOn(const std::vector<ModelLaunch>& sizes, const ExportTarget& target,
                                 const NearestOptions& options) {
  for (const ModelLaunch& launch : sizes) {
    const std::optional<Configuration> found = NearestExpressible(launch, target, options);
    if (found.has_value()) return Nearest{launch, *found};
  }
  return std::nullopt;
}

std::string GpusText(const ModelLaunch& launch) {
  const int64_t gpus = launch.nodes * launch.devices_per_node;
  return absl::StrCat(gpus, gpus == 1 ? " GPU" : " GPUs");
}

// What plans the nearest on as many GPUs as the plan has; the cluster is the plan's own, or the
// part of it that the plan takes.
std::string OwnCommand(const Plan& plan, const Nearest& nearest, const ExportTarget& target,
                       bool needs_script) {
  AskedOptions asked = AskedWith(plan, nearest.configuration, nearest.launch.model);
  const absl::StatusOr<Cluster> whole = ParseCluster(asked.cluster);
  const bool part = whole.ok() && whole->devices() != nearest.launch.ranks.processes();
  asked.objective = part ? "gpus" : "time";
  return PlanAgainText(plan, target, asked, needs_script);
}

std::string CommandOnSize(const Plan& plan, const Nearest& nearest, const ExportTarget& target,
                          bool needs_script) {
  const ModelLaunch& launch = nearest.launch;
  const AskedOptions asked =
      AskedOnNodes(plan, {launch.nodes, launch.devices_per_node, launch.device},
                   nearest.configuration, launch.model);
  return PlanAgainText(plan, target, asked, needs_script);
}

// What there is in place of the configuration of `launch`.
std::string NearestText(const Plan& plan, const ModelLaunch& launch, const ExportTarget& target,
                        const ExportOptions& options) {
  const NearestOptions own = {.has_script = !options.script.empty()};
  const auto needs_script = [&](const Nearest& nearest) {
    return LacksScript(nearest.launch, nearest.configuration, target, own.has_script);
  };
  const auto described = [&](const Nearest& nearest) {
    const std::string changes = ChangesText(launch.configuration, nearest.configuration);
    return StrCat(transformer::ConfigurationText(nearest.configuration), " (",
                  changes.empty() ? "the same degrees" : changes, ")",
                  needs_script(nearest)
                      ? StrCat(", which ", target.name, " runs by a program of your own only")
                      : "");
  };
  std::optional<Nearest> nearest = NearestOn({launch}, target, own);
  if (nearest.has_value()) {
    return StrCat("the nearest that it can is ", described(*nearest), ", which is planned by",
                  OwnCommand(plan, *nearest, target, needs_script(*nearest)),
                  "\n  (without --fix: the best that it can)");
  }
  const std::optional<Configuration> too_large =
      NearestExpressible(launch, target, {.has_script = own.has_script, .has_to_fit = false});
  std::string text =
      too_large.has_value()
          ? StrCat("it can express ", transformer::ConfigurationText(*too_large),
                   ", but neither that nor any other that it can fits into memory on ",
                   GpusText(launch))
          : StrCat("nor any other configuration on ", GpusText(launch));
  // Other sizes can be named only of devices that have a name.
  const absl::StatusOr<Cluster> named =
      ParseCluster(absl::StrCat(launch.nodes, "x", launch.devices_per_node, "x", launch.device));
  if (!named.ok() || named->device.memory_bytes != plan.cluster.parts[0].device_memory_bytes) {
    return text;
  }
  nearest = NearestOn(OtherSizes(launch, too_large.has_value()), target, own);
  if (!nearest.has_value()) {
    return StrCat(text, too_large.has_value() ? "" : " or fewer", ", with a global batch of ",
                  launch.workload.global_batch, " sequences of ", launch.workload.sequence,
                  " tokens");
  }
  return StrCat(text, "; the nearest that it can is on ", GpusText(nearest->launch), ": ",
                described(*nearest), ", which is planned by",
                CommandOnSize(plan, *nearest, target, needs_script(*nearest)));
}

}  // namespace

std::string SentencesText(const Findings& findings) {
  std::vector<std::string> shown;
  for (const std::string& sentence : findings.sentences()) {
    if (std::find(shown.begin(), shown.end(), sentence) == shown.end()) shown.push_back(sentence);
  }
  const size_t more = shown.size() > kMostSentences ? shown.size() - kMostSentences : 0;
  shown.resize(shown.size() - more);
  return absl::StrCat(absl::StrJoin(shown, "; "), more > 0 ? "; ..." : "");
}

std::string StepAgainst(const Plan& plan, double seconds) {
  const double longer = seconds / plan.step_seconds - 1;
  return absl::StrFormat(", whose step takes %s, %.2f %% %s", SecondsText(seconds),
                         100 * std::abs(longer), longer < 0 ? "shorter" : "longer");
}

void CheckRunsAsItIs(const ModelLaunch& launch, const ExportTarget& target,
                     const ExportOptions& options, Findings& findings) {
  if (!LacksScript(launch, launch.configuration, target, !options.script.empty())) return;
  const std::optional<Configuration> other = NearestExpressible(launch, target);
  findings.Require(!other.has_value() || LacksScript(launch, *other, target, /*has_script=*/false),
                   "script: this is run by a program of your own only, which --script names");
}

absl::Status RefuseConfiguration(const Plan& plan, const ModelLaunch& launch,
                                 const ExportTarget& target, const ExportOptions& options,
                                 const Findings& findings) {
  std::string text = absl::StrCat("--to ", target.name, " cannot express ",
                                  transformer::ConfigurationText(launch.configuration), ": ",
                                  SentencesText(findings), "; ");
  const int64_t alternative = FirstAlternative(plan, target, !options.script.empty());
  if (alternative > 0) {
    const double seconds = plan.model->alternatives[alternative - 1].step_seconds;
    absl::StrAppend(&text, "of this plan's alternatives the best that it can is number ",
                    alternative, StepAgainst(plan, seconds), ": --alternative ", alternative, "; ");
  }
  return absl::InvalidArgumentError(absl::StrCat(text, NearestText(plan, launch, target, options)));
}

}  // namespace meshwright
