#include "meshwright/plan/make/model_sweep.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::StatusOr<Cluster> Resized(Cluster cluster, int64_t gpus) {
  if (gpus < cluster.devices_per_node) {
    cluster.nodes = 1;
    cluster.devices_per_node = gpus;
  } else if (gpus % cluster.devices_per_node == 0) {
    cluster.nodes = gpus / cluster.devices_per_node;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep: ", gpus, " GPUs are not whole nodes of ", cluster.devices_per_node));
  }
  cluster.name =
      absl::StrCat(cluster.nodes, "x", cluster.devices_per_node, "x", cluster.device.name);
  return cluster;
}

double TokensPerSecond(const Plan& plan) {
  const PlanTransformer& part = *plan.model;
  return static_cast<double>(part.global_batch) * static_cast<double>(part.sequence) /
         plan.step_seconds;
}

// By SweepAxis.
constexpr int64_t kMostOf[] = {kMaxDevices, kMaxGlobalBatch, transformer::kMaxSequence};

void FillRates(std::vector<SweepRow>& rows) {
  double first = 0;
  for (SweepRow& row : rows) {
    if (!row.plan.has_value()) continue;
    row.tokens_per_second = TokensPerSecond(*row.plan);
    const double each = row.tokens_per_second / static_cast<double>(row.gpus);
    if (first == 0) first = each;
    row.efficiency = first > 0 ? each / first : 0;
  }
}

}  // namespace

absl::StatusOr<SweepRange> ParseSweep(std::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(ToAbsl(text), absl::MaxSplits('=', 1));
  const std::optional<SweepAxis> axis = FromWord<SweepAxis>(FromAbsl(parts.first));
  const std::vector<absl::string_view> ends = absl::StrSplit(parts.second, "..");
  SweepRange range;
  range.axis = axis.value_or(SweepAxis::kGpus);
  if (axis.has_value() && ends.size() == 2 && absl::SimpleAtoi(ends[0], &range.first) &&
      absl::SimpleAtoi(ends[1], &range.last) && range.first >= 1 && range.last >= range.first &&
      range.last <= kMostOf[static_cast<size_t>(*axis)]) {
    return range;
  }
  return absl::InvalidArgumentError(StrCat(
      "--sweep: found \"", text, "\", expected ", WordList<SweepAxis>(),
      " and a range, as gpus=64..4096 of at most ", kMaxDevices, " GPUs, batch=64..1024 of ",
      kMaxGlobalBatch, " sequences, seq=2048..16384 of ", transformer::kMaxSequence, " tokens"));
}

absl::StatusOr<std::vector<SweepRow>> SweepModel(const ModelRequest& request,
                                                 const SweepRange& range, bool weak,
                                                 const ModelPlanner& planner) {
  std::vector<SweepRow> rows;
  absl::Status last_shortage = absl::OkStatus();
  bool any = false;
  for (int64_t value = range.first; value <= range.last; value *= 2) {
    ModelRequest one = request;
    if (range.axis == SweepAxis::kBatch) one.workload.global_batch = value;
    if (range.axis == SweepAxis::kSequence) one.workload.sequence = value;
    if (range.axis == SweepAxis::kGpus) {
      MW_ASSIGN_OR_RETURN(one.cluster, Resized(request.cluster, value));
      if (weak) one.workload.global_batch *= value / range.first;
    }
    absl::StatusOr<Plan> plan = planner(one);
    SweepRow& row = rows.emplace_back();
    row.gpus = one.cluster.devices();
    row.global_batch = one.workload.global_batch;
    row.sequence = one.workload.sequence;
    if (plan.ok()) {
      row.plan = *std::move(plan);
      any = true;
    } else {
      last_shortage = plan.status();
      row.in_time = !absl::IsDeadlineExceeded(plan.status());
    }
    if (request.stop && request.stop()) break;
  }
  if (!any) return last_shortage;
  FillRates(rows);
  return rows;
}

Plan SweptPlan(const std::vector<SweepRow>& rows) {
  Plan swept;
  std::vector<PlanSweepRow> sweep;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].plan.has_value()) continue;
    swept = *rows[i].plan;
    sweep.push_back({rows[i].gpus, rows[i].global_batch, rows[i].sequence,
                     swept.model->configuration, swept.step_seconds, rows[i].tokens_per_second,
                     swept.model->mfu, rows[i].efficiency, swept.peak_bytes});
  }
  swept.model->sweep = std::move(sweep);
  return swept;
}

}  // namespace meshwright
