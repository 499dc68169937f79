// A group of n nodes in which stages have up to two different degrees is two groups of the same
// nodes, in some way to write n as a sum, with the group's own link between them. So the search
// with the same degrees on each group, run on all such ways, is an oracle for degrees by stage.

#include "bench/heterogeneous/degrees_by_stage.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/hetero/search.h"
#include "meshwright/model/model_reader.h"

namespace meshwright::transformer {
namespace {

constexpr int64_t kMostParts = 2;  // of a group

// The ways to write `nodes` as a sum of up to `parts` numbers, the first the largest.
void ListSums(int64_t nodes, int64_t most, int64_t parts, std::vector<int64_t>* sum,
              std::vector<std::vector<int64_t>>* all) {
  if (nodes == 0) return all->push_back(*sum);
  if (parts == 0) return;
  for (int64_t n = std::min(nodes, most); n >= 1; --n) {
    sum->push_back(n);
    ListSums(nodes - n, n, parts - 1, sum, all);
    sum->pop_back();
  }
}

// The cluster with each group in parts.
MixedCluster Split(const MixedCluster& cluster, const std::vector<std::vector<int64_t>>& parts) {
  MixedCluster split;
  std::vector<size_t> from;
  for (size_t group = 0; group < cluster.groups.size(); ++group) {
    for (const int64_t nodes : parts[group]) {
      NodeGroup& part = split.groups.emplace_back(cluster.groups[group]);
      part.cluster.nodes = nodes;
      absl::StrAppend(&part.name, "/", from.size());
      from.push_back(group);
    }
  }
  for (const size_t a : from) {
    std::vector<Link>& links = split.links.emplace_back();
    for (const size_t b : from) links.push_back(cluster.links[a][b]);
  }
  return split;
}

std::string PlanText(const transformer::hetero::Problem& problem,
                     const transformer::hetero::Choice& choice) {
  std::string text;
  for (size_t i = 0; i < choice.plan.stages.size();) {
    size_t end = i;
    std::string layers;
    for (; end < choice.plan.stages.size() &&
           choice.plan.stages[end].stage_class == choice.plan.stages[i].stage_class;
         ++end) {
      absl::StrAppend(&layers, end == i ? "" : ",", choice.plan.stages[end].layers);
    }
    const int32_t stage_class = choice.plan.stages[i].stage_class;
    const size_t group = choice.plan.family.Group(stage_class);
    const transformer::hetero::StageDegrees& degrees = choice.plan.family.degrees[stage_class];
    absl::StrAppendFormat(&text, "%s%s tp%d dp%d mbs%d: %s", i == 0 ? "" : " | ",
                          problem.cluster.groups[group].cluster.device.name, degrees.tp, degrees.dp,
                          degrees.micro_batch, layers);
    i = end;
  }
  return text;
}

struct Case {
  const char* model;
  const char* cluster;
  int64_t sequence, batch;
};
constexpr Case kCases[] = {
    {"gpt2-xl", "3x4xa10g+1x4xa100-40g", 1024, 64},
    {"gpt2-xl", "5x4xv100+2x8xa100-40g", 1024, 64},
    {"llama3-8b", "2x8xa100-40g+3x8xa10g", 4096, 64},
    {"llama3-8b", "3x8xa100-40g+1x8xh100-sxm", 4096, 64},
    {"llama3-8b", "4x8xa10g+1x8xh100-sxm", 8192, 32},
    {"llama3-8b", "5x4xa10g+3x4xa100-40g", 2048, 128},
    {"gpt3-13b", "4x8xv100+3x8xa100-40g", 2048, 64},
    {"gpt3-20b", "3x8xa100-40g+3x8xa100-80g", 2048, 128},
    {"llama3-70b", "5x8xa100-80g+3x8xh100-sxm", 4096, 64},
    {"llama3-70b", "6x8xa100-40g+4x8xh200", 4096, 128},
};

// The best of all ways to divide each group's nodes.
absl::StatusOr<double> BestOfSplits(const transformer::hetero::Problem& problem, double best) {
  std::vector<std::vector<std::vector<int64_t>>> sums;
  for (const NodeGroup& group : problem.cluster.groups) {
    std::vector<int64_t> sum;
    ListSums(group.cluster.nodes, group.cluster.nodes, kMostParts, &sum, &sums.emplace_back());
  }
  std::vector<size_t> chosen(sums.size());
  while (true) {
    std::vector<std::vector<int64_t>> parts;
    for (size_t group = 0; group < sums.size(); ++group) {
      parts.push_back(sums[group][chosen[group]]);
    }
    transformer::hetero::Problem split = problem;
    split.cluster = Split(problem.cluster, parts);
    MW_ASSIGN_OR_RETURN(const transformer::hetero::Result result,
                        SearchPlans(split, {.most_seconds = best, .by_stage = false}));
    if (!result.front.empty()) best = std::min(best, result.front[0].seconds);
    size_t group = 0;
    while (group < sums.size() && ++chosen[group] == sums[group].size()) chosen[group++] = 0;
    if (group == sums.size()) return best;
  }
}

}  // namespace

absl::Status CompareDegreesByStage() {
  std::printf("%-10s %-26s %5s %5s %8s %8s %7s %6s %8s %7s\n", "model", "cluster", "seq", "batch",
              "by group", "by stage", "better", "gap", "oracle", "plan");
  for (const Case& one : kCases) {
    transformer::hetero::Problem problem;
    MW_ASSIGN_OR_RETURN(problem.model, LoadModel(one.model));
    problem.workload = {one.sequence, one.batch};
    MW_ASSIGN_OR_RETURN(problem.cluster, ParseMixedCluster(one.cluster));
    MW_ASSIGN_OR_RETURN(const transformer::hetero::Result by_group,
                        SearchPlans(problem, {.by_stage = false}));
    const auto start = std::chrono::steady_clock::now();
    MW_ASSIGN_OR_RETURN(const transformer::hetero::Result by_stage, SearchPlans(problem, {}));
    const std::chrono::duration<double> planning = std::chrono::steady_clock::now() - start;
    if (by_group.front.empty()) return absl::NotFoundError("no plan fits");
    const double before = by_group.front[0].seconds, after = by_stage.front[0].seconds;
    MW_ASSIGN_OR_RETURN(const double oracle, BestOfSplits(problem, before));
    std::printf("%-10s %-26s %5d %5d %7.3fs %7.3fs %6.2f%% %5.1f%% %7.3fs %6.2fs  %s -> %s\n",
                one.model, one.cluster, static_cast<int>(one.sequence), static_cast<int>(one.batch),
                before, after, 100 * (1 - after / before), 100 * (1 - by_stage.bound / after),
                oracle, planning.count(), PlanText(problem, by_group.front[0]).c_str(),
                PlanText(problem, by_stage.front[0]).c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace meshwright::transformer
