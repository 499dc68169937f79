#include "meshwright/plan/make/plan_model.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/goodput.h"
#include "meshwright/degrees/precision_support.h"
#include "meshwright/degrees/space.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/model/check_model.h"
#include "meshwright/plan/make/begin_model_plan.h"
#include "meshwright/plan/make/plan_by_nersc.h"
#include "meshwright/plan/make/time_use.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::RankedConfiguration;
using transformer::Ranking;
using transformer::SearchResult;
using transformer::Space;
using transformer::StepCost;
using transformer::StepCoster;
using transformer::StepTime;

// How often the cluster is doubled to find one on which the model fits.
constexpr int kMostDoublings = 4;

// Of the time that is left, for one search of several.
constexpr double kShareOfSearches = 0.5;

// When the searches of a request have to end.
class SearchTime {
 public:
  explicit SearchTime(const ModelRequest& request)
      : request_(request), end_(Now() + request.deadline_seconds) {}

  // For a search that may take `share` of what is left.
  std::function<bool()> Stop(double share) const {
    const double now = Now();
    return [this, end = now + share * std::max(0.0, end_ - now)] {
      return interrupted() || Now() >= end;
    };
  }
  bool interrupted() const { return request_.stop && request_.stop(); }

 private:
  static double Now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }

  const ModelRequest& request_;
  double end_;
};

SearchResult SearchOn(const ModelRequest& request, const Cluster& cluster, Ranking ranking,
                      int64_t top, std::optional<int64_t> budget, std::function<bool()> stop) {
  const Space space(request.model, request.workload, cluster.devices(), request.fixes,
                    request.precision, cluster.devices_per_node, cluster.fabric.unit_nodes);
  const transformer::DeviceParameters device =
      transformer::BuiltinCostParameters().Device(cluster.device.measured_as());
  return Search(space,
                [&] {
                  return transformer::CalibratedCosts(request.model, request.workload, cluster,
                                                      request.framework);
                },
                {.top = top,
                 .ranking = ranking,
                 .budget_bytes = budget,
                 .host_bytes = static_cast<int64_t>(device.host_bytes),
                 .threads = request.threads,
                 .takes = request.takes,
                 .stop = std::move(stop)});
}

absl::Status CheckOn(const ModelRequest& request, const Cluster& cluster) {
  return CheckSpace(request.model, request.workload, cluster.devices(), request.fixes,
                    request.precision, cluster.devices_per_node, cluster.fabric.unit_nodes);
}

// What is said of something that an ended search did not get to.
std::string_view NotFoundBy(const SearchTime& time) {
  return time.interrupted()
             ? " was not found before the interrupt"
             : " was not found before the deadline; --deadline gives the search more time";
}

absl::Status ModelShortage(const ModelRequest& request, const SearchTime& time) {
  const int64_t budget = request.budget_bytes.value_or(0);
  std::string text = absl::StrFormat("%s does not fit into %s a GPU on %s", request.model.name,
                                     BytesText(budget), Counted(request.cluster.devices(), "GPU"));
  const SearchResult least = SearchOn(request, request.cluster, Ranking::kMemory, 1, std::nullopt,
                                      time.Stop(kShareOfSearches));
  if (!least.best.empty()) {
    const RankedConfiguration& smallest = least.best.front();
    absl::StrAppendFormat(
        &text, "; the least that any %sof %s needs is %s (%s)",
        least.complete ? "" : "that was looked at ", Counted(least.counts.legal, "configuration"),
        BytesText(smallest.peak_bytes), ConfigurationText(smallest.configuration));
  }
  Cluster larger = request.cluster;
  bool decided = true;
  for (int i = 0; i < kMostDoublings && larger.devices() * 2 <= kMaxDevices; ++i) {
    larger.nodes *= 2;
    if (!CheckOn(request, larger).ok()) continue;
    const SearchResult found =
        SearchOn(request, larger, Ranking::kMemory, 1, budget, time.Stop(kShareOfSearches));
    decided = decided && found.complete;
    if (found.best.empty()) continue;
    absl::StrAppend(&text, "; it fits on ", larger.devices(), " GPUs (",
                    ConfigurationText(found.best.front().configuration), ")");
    return absl::ResourceExhaustedError(text);
  }
  if (!decided) {
    StrAppend(&text, "; how many would do", NotFoundBy(time));
  } else {
    absl::StrAppend(&text, "; ", larger.devices(), " GPUs are not enough either");
  }
  return absl::ResourceExhaustedError(text);
}

absl::Status NothingInTime(const ModelRequest& request, const SearchTime& time) {
  return absl::DeadlineExceededError(
      StrCat("a configuration of ", request.model.name, " that fits", NotFoundBy(time)));
}

// Parts of a cluster that are clusters: GPUs of one node, and whole nodes, each a divisor of all.
std::vector<Cluster> Subclusters(const Cluster& cluster) {
  std::vector<Cluster> parts;
  for (int64_t devices = 1; devices < cluster.devices_per_node; ++devices) {
    if (cluster.devices_per_node % devices != 0) continue;
    parts.push_back(cluster);
    parts.back().nodes = 1;
    parts.back().devices_per_node = devices;
  }
  for (int64_t nodes = 1; nodes <= cluster.nodes; ++nodes) {
    if (cluster.nodes % nodes != 0) continue;
    parts.push_back(cluster);
    parts.back().nodes = nodes;
  }
  return parts;
}

// `a`, less `b`.
PlanStepParts DifferenceOf(const StepTime& a, const StepTime& b) {
  return {a.compute - b.compute,
          a.tensor_communication - b.tensor_communication,
          a.context_communication - b.context_communication,
          a.expert_communication - b.expert_communication,
          a.data_communication - b.data_communication,
          a.pipeline_communication - b.pipeline_communication,
          a.host_communication - b.host_communication,
          a.bubble - b.bubble,
          a.optimizer - b.optimizer};
}

StepCoster CosterOn(const ModelRequest& request, const Cluster& cluster) {
  return StepCoster(request.model, request.workload, cluster, transformer::BuiltinCostParameters(),
                    request.framework);
}

std::vector<PlanSensitivity> Sensitivity(const ModelRequest& request, const Cluster& cluster,
                                         const Configuration& configuration, double seconds) {
  constexpr double kMore = 1.1;
  std::vector<PlanSensitivity> all;
  const auto add = [&](std::string change, const auto& apply) {
    Cluster changed = cluster;
    apply(changed);
    StepCoster coster = CosterOn(request, changed);
    all.push_back({std::move(change), coster.Cost(configuration).time.seconds / seconds - 1});
  };
  add("peak flops +10 %", [](Cluster& c) {
    for (auto& [type, flops] : c.device.peak_flops) flops *= kMore;
  });
  add("memory bandwidth +10 %", [](Cluster& c) { c.device.memory_bytes_per_second *= kMore; });
  add(absl::StrCat(cluster.intra_node.name, " bandwidth +10 %"),
      [](Cluster& c) { c.intra_node.bandwidth_bytes_per_second *= kMore; });
  add(absl::StrCat(cluster.intra_node.name, " latency +10 %"),
      [](Cluster& c) { c.intra_node.latency_seconds *= kMore; });
  if (cluster.nodes == 1) return all;
  add(absl::StrCat(cluster.inter_node.name, " bandwidth +10 %"),
      [](Cluster& c) { c.inter_node.bandwidth_bytes_per_second *= kMore; });
  add(absl::StrCat(cluster.inter_node.name, " latency +10 %"),
      [](Cluster& c) { c.inter_node.latency_seconds *= kMore; });
  return all;
}

void SetModelMemory(const StepCost& cost, Plan& plan) {
  plan.peak_bytes = cost.peak_bytes;
  for (const transformer::StageMemory& memory : cost.memory) {
    plan.model->memory.push_back(ToGroupBytes(memory));
    if (memory.total() == cost.peak_bytes) SetMemoryByCategory(memory, plan);
  }
}

// By how much what the search did not come to may be better.
void SetGap(const SearchResult& result, Ranking ranking, Plan& plan) {
  const RankedConfiguration& best = result.best.front();
  const double least = ranking == Ranking::kMemory ? static_cast<double>(result.unsearched.bytes) /
                                                         static_cast<double>(best.peak_bytes)
                                                   : result.unsearched.seconds / best.seconds;
  plan.gap = std::max(0.0, 1 - least);
  plan.bound_seconds = plan.step_seconds * (1 - plan.gap);
}

Plan BuildModelPlan(const ModelRequest& request, const Cluster& cluster,
                    const SearchResult& result) {
  StepCoster coster = CosterOn(request, cluster);
  const Configuration& best = result.best.front().configuration;
  const StepCost cost = coster.Cost(best);
  const StepTime& time = cost.time;

  Plan plan = BeginModelPlan(request, cluster, best);
  plan.options.cost_model = "calibrated";
  plan.objective_seconds = plan.bound_seconds = plan.step_seconds = time.seconds;
  plan.compute_seconds = time.compute;
  plan.communication_seconds = time.tensor_communication + time.context_communication +
                               time.expert_communication + time.data_communication +
                               time.pipeline_communication;
  plan.bubble_share = time.bubble / time.seconds;

  PlanTransformer& part = *plan.model;
  part.model_flops = time.model_flops;
  SetFramework(request.framework, request.mtp, part);
  part.mfu = time.mfu;
  part.hfu = time.hfu;
  part.seconds = DifferenceOf(time, StepTime());
  SetModelMemory(cost, plan);
  part.search = {result.counts.legal, result.counts.evaluated, result.counts.fitting,
                 result.counts.pruned};
  for (size_t i = 1; i < result.best.size(); ++i) {
    const StepCost other = coster.Cost(result.best[i].configuration);
    part.alternatives.push_back({WithoutUsualPlacement(result.best[i].configuration),
                                 other.time.seconds, other.peak_bytes, other.time.mfu,
                                 DifferenceOf(other.time, time)});
  }
  part.sensitivity = Sensitivity(request, cluster, best, time.seconds);
  SetModelErrors(
      ErrorOfModel(transformer::BuiltinCostParameters().Knows(cluster.device.measured_as())),
      &plan);
  return plan;
}

// Every model's parameters fit twice into 64 bits.
void SetGoodput(const ModelRequest& request, Plan& plan) {
  const FailureRequest& failures = *request.failures;
  PlanTransformer& part = *plan.model;
  const auto gpus = static_cast<double>(plan.cluster.parts[0].devices());
  const transformer::Failures all = {
      .mtbf_seconds = failures.gpu_mtbf_seconds / gpus,
      .checkpoint_seconds =
          CheckpointBytes(part.parameters, request.framework.state, request.precision) /
          (gpus * failures.checkpoint_bytes_per_second),
      .restart_seconds = failures.restart_seconds};
  const transformer::Goodput goodput = transformer::GoodputOf(all);
  const double tokens = static_cast<double>(part.global_batch) * static_cast<double>(part.sequence);
  part.goodput = PlanGoodput{all.mtbf_seconds,    all.checkpoint_seconds,
                             all.restart_seconds, goodput.interval_seconds,
                             goodput.share,       goodput.share * tokens / plan.step_seconds};
}

absl::StatusOr<Plan> PlanCalibrated(const ModelRequest& request) {
  const bool fewest = request.objective == ModelObjective::kGpus;
  absl::Status legal = CheckOn(request, request.cluster);
  ModelRequest within = request;
  // Fixed degrees may be those of a part of the cluster.
  for (const Cluster& part :
       fewest && !legal.ok() ? Subclusters(request.cluster) : std::vector<Cluster>{}) {
    if (!CheckOn(request, part).ok()) continue;
    within.cluster = part;
    legal = absl::OkStatus();
  }
  MW_RETURN_IF_ERROR(legal);
  const Ranking ranking =
      request.objective == ModelObjective::kMemory ? Ranking::kMemory : Ranking::kTime;
  const SearchTime time(request);
  const std::vector<Cluster> clusters =
      fewest ? Subclusters(request.cluster) : std::vector<Cluster>{request.cluster};
  bool decided = true;  // that smaller ones do not do
  for (size_t i = 0; i < clusters.size(); ++i) {
    const double share = i + 1 < clusters.size() ? kShareOfSearches : 1;
    const SearchResult result = SearchOn(request, clusters[i], ranking, request.top,
                                         request.budget_bytes, time.Stop(share));
    if (!result.best.empty()) {
      Plan plan = BuildModelPlan(request, clusters[i], result);
      SetGap(result, ranking, plan);
      if (!decided) {
        plan.warnings.push_back(StrCat("whether fewer GPUs would do", NotFoundBy(time)));
      }
      return plan;
    }
    decided = decided && result.complete;
  }
  if (!decided) return NothingInTime(request, time);
  if (request.takes) {
    const SearchResult any = SearchOn(within, within.cluster, Ranking::kMemory, 1, std::nullopt,
                                      time.Stop(kShareOfSearches));
    if (any.best.empty() && any.complete) {
      const std::string unsupported = PrecisionWarning(within.cluster.device, request.precision);
      return absl::InvalidArgumentError(
          absl::StrCat(request.taken_by, ": no configuration of ", request.model.name, " on ",
                       within.cluster.devices(),
                       " GPUs can be expressed; other numbers of GPUs, batches or fixes may",
                       unsupported.empty() ? "" : "; ", unsupported));
    }
  }
  return ModelShortage(within, time);
}

}  // namespace

double CheckpointBytes(int64_t parameters, const transformer::StateOptions& state,
                       transformer::Precision precision) {
  return static_cast<double>(parameters) *
         (transformer::ElementBytes(precision) + transformer::MasterCopyBytes(precision) +
          2 * state.moment_bytes);
}

absl::StatusOr<Plan> PlanModel(const ModelRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  MW_RETURN_IF_ERROR(CheckModel(request.model));
  MW_RETURN_IF_ERROR(CheckSequence(request.model, request.workload.sequence));
  MW_ASSIGN_OR_RETURN(Plan plan, request.cost == ModelCost::kNersc ? PlanByNersc(request)
                                                                   : PlanCalibrated(request));
  if (request.failures.has_value()) SetGoodput(request, plan);
  plan.planning_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

}  // namespace meshwright
