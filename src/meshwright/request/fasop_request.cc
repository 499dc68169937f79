#include "meshwright/request/fasop_request.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/csv.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/published/fasop/fasop.h"

namespace meshwright {
namespace {

using FasopRow = transformer::fasop::Row;
using FasopSetup = transformer::fasop::Setup;

constexpr int64_t kMostFasopNodes = 8;  // of each GPU

constexpr std::pair<const char*, const char*> kSameModels[] = {
    {"gpt2-xl", "gpt2XL"}, {"bert-large", "bert"}, {"t5-large", "T5"}};

struct FasopNodes {
  int64_t a100 = 0, a10 = 0;
  FasopSetup setup = FasopSetup::kDefault;
};

absl::StatusOr<FasopNodes> ReadFasopNodes(const std::string& spec) {
  MW_ASSIGN_OR_RETURN(const MixedCluster cluster, ParseMixedCluster(spec));
  FasopNodes nodes;
  const int64_t per_node = cluster.groups[0].cluster.devices_per_node;
  nodes.setup =
      per_node == GpusPerNode(FasopSetup::kPareto) ? FasopSetup::kPareto : FasopSetup::kDefault;
  for (const NodeGroup& group : cluster.groups) {
    const std::string& device = group.cluster.device.name;
    const bool a100 = absl::StartsWith(device, "a100"), a10 = absl::StartsWith(device, "a10");
    int64_t& count = a100 ? nodes.a100 : nodes.a10;
    count += group.cluster.nodes;
    if (!a10 || group.cluster.devices_per_node != GpusPerNode(nodes.setup) ||
        count > kMostFasopNodes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--cost-model fasop: found ", group.cluster.nodes, " nodes of ",
          group.cluster.devices_per_node, " ", device, "; FASOP has up to ", kMostFasopNodes,
          " nodes of A100 and of A10, all with 4 GPUs or all with 8, as in 1x4xa100-40g+7x4xa10g"));
    }
  }
  return nodes;
}

std::string FasopRowText(const FasopRow& row) {
  const transformer::fasop::Estimate& e = row.estimate;
  return absl::StrFormat("%-16s %3d %4d %3d %4d %10s %11.4g %8.3g%s %8.3g%s\n  layers %s\n",
                         row.placement, row.degrees.tp, row.degrees.dp, row.degrees.pp,
                         row.degrees.micro_batch, SecondsText(e.seconds), e.step_dollars,
                         e.memory_gib, e.over_memory ? "!" : " ", e.sharded_memory_gib,
                         e.sharded_over_memory ? "!" : "", absl::StrJoin(e.partition, "-"));
}

std::string FasopRowsCsv(const std::vector<FasopRow>& rows) {
  std::string csv =
      "mbs,tp,dp,pp,placement,num_a100,num_a10,partition,t,pt,dpt,et,price_per_step,is_oom,mem,"
      "is_zoom,zmem,train_cost\n";
  for (const FasopRow& row : rows) {
    const transformer::fasop::Estimate& e = row.estimate;
    const auto number = [](double value) { return absl::StrFormat("%.9g", value); };
    const auto gib = [](double value) { return absl::StrFormat("%.6g", value); };
    csv += CsvLine({absl::StrCat(row.degrees.micro_batch), absl::StrCat(row.degrees.tp),
                    absl::StrCat(row.degrees.dp), absl::StrCat(row.degrees.pp), row.placement,
                    absl::StrCat(std::count(row.placement.begin(), row.placement.end(), 'A')),
                    absl::StrCat(std::count(row.placement.begin(), row.placement.end(), 'B')),
                    absl::StrJoin(e.partition, "-"), number(e.seconds), number(e.pipeline_seconds),
                    number(e.data_seconds), number(e.embedding_seconds), number(e.step_dollars),
                    e.over_memory ? "1" : "0", gib(e.memory_gib), e.sharded_over_memory ? "1" : "0",
                    gib(e.sharded_memory_gib), number(e.training_dollars)});
  }
  return csv;
}

// Of rows sorted by time: those than which none is faster and cheaper, and that fit.
std::vector<FasopRow> FasopFront(const std::vector<FasopRow>& rows) {
  std::vector<FasopRow> front;
  for (const FasopRow& row : rows) {
    if (row.estimate.over_memory) continue;
    if (!front.empty() && row.estimate.step_dollars >= front.back().estimate.step_dollars) continue;
    front.push_back(row);
  }
  return front;
}

}  // namespace

absl::StatusOr<FasopAnswer> PlanFasop(const FasopRequest& request) {
  std::string name = request.model;
  for (const auto& [ours, published] : kSameModels) {
    if (name == ours) name = published;
  }
  MW_ASSIGN_OR_RETURN(const transformer::fasop::Model* const model,
                      transformer::fasop::FindModel(name));
  MW_ASSIGN_OR_RETURN(const FasopNodes nodes, ReadFasopNodes(request.cluster));
  const auto start = std::chrono::steady_clock::now();
  std::vector<FasopRow> rows;
  for (int64_t a100 = request.pareto ? 0 : nodes.a100; a100 <= nodes.a100; ++a100) {
    for (int64_t a10 = request.pareto ? 0 : nodes.a10; a10 <= nodes.a10; ++a10) {
      if (a100 + a10 == 0) continue;
      const std::vector<FasopRow> more =
          Search(*model, PublishedProfile(*model), nodes.setup, a100, a10);
      rows.insert(rows.end(), more.begin(), more.end());
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const FasopRow& a, const FasopRow& b) {
    return a.estimate.seconds < b.estimate.seconds;
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<FasopRow> shown = request.pareto ? FasopFront(rows) : rows;
  if (!request.pareto) {
    shown.resize(std::min(shown.size(), static_cast<size_t>(request.top)));
  }
  FasopAnswer answer;
  answer.csv = FasopRowsCsv(rows);
  answer.table = absl::StrFormat("%-16s %3s %4s %3s %4s %10s %11s %9s %9s\n", "placement", "tp",
                                 "dp", "pp", "mbs", "step", "$ a step", "GiB", "sharded");
  for (const FasopRow& row : shown) answer.table += FasopRowText(row);
  absl::StrAppendFormat(&answer.table, "%d configurations in %s; ! is more memory than there is\n",
                        rows.size(), SecondsText(seconds));
  return answer;
}

}  // namespace meshwright
