// Plans over groups of nodes of different devices.
//
//   heterogeneous_bench nodes [time|cost|pareto [MODEL]]
//                                       the search as the cluster grows from 64 to 1,024 nodes of
//                                       four types: a row each, seconds and memory; gaps among all
//                                       plans, those with the same degrees on all stages of each
//                                       group ("group"), and on all groups ("same")
//   heterogeneous_bench random          gaps of 40 random clusters of up to 24 nodes
//   heterogeneous_bench degrees         what degrees that differ between stages of one group would
//                                       gain (degrees_by_stage.h)
//   heterogeneous_bench fasop           on the inputs of FASOP's published runs: FASOP's own choice
//                                       (the fastest that it does not mark as too large), costed by
//                                       our model, beside our plan; and the published sweep over 80
//                                       clusters
//
// In the second, layers take what FASOP's authors measured, with the growth that they measured for
// larger micro-batches, or what the calibrated model says.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/heterogeneous/degrees_by_stage.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/search.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/published/fasop/fasop.h"

namespace meshwright::transformer {
namespace {

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double PeakMib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

absl::StatusOr<transformer::hetero::Objective> FindObjective(std::string_view name) {
  if (name == "time") return transformer::hetero::Objective::kTime;
  if (name == "cost") return transformer::hetero::Objective::kCost;
  if (name == "pareto") return transformer::hetero::Objective::kPareto;
  return absl::InvalidArgumentError("objectives are time, cost and pareto");
}

// How much better than the best found a plan could be.
double Gap(const transformer::hetero::Result& result, transformer::hetero::Objective objective) {
  if (result.front.empty()) return 0;
  const transformer::hetero::Choice& best = result.front[0];
  const double value =
      objective == transformer::hetero::Objective::kCost ? best.step_dollars() : best.seconds;
  return 1 - result.bound / value;
}

absl::Status Nodes(std::string_view objective_name, const std::string& model) {
  MW_ASSIGN_OR_RETURN(const transformer::hetero::Objective objective,
                      FindObjective(objective_name));
  std::printf("%6s %6s %9s %9s %9s %9s %9s %6s %8s %9s\n", "nodes", "GPUs", "step (s)", "step ($)",
              "gap (%)", "group (%)", "same (%)", "front", "plan (s)", "peak MiB");
  for (int64_t each = 16; each <= 256; each *= 2) {
    transformer::hetero::Problem problem;
    MW_ASSIGN_OR_RETURN(problem.model, LoadModel(model));
    problem.workload = {.sequence = 4096, .global_batch = 2048};
    MW_ASSIGN_OR_RETURN(problem.cluster,
                        ParseMixedCluster(absl::StrCat(each, "x8xh200+", each, "x8xh100-sxm+", each,
                                                       "x8xa100-80g+", each, "x8xa100-40g")));
    constexpr double kDollars[] = {5, 4, 2.5, 2};  // an hour of a device
    for (size_t i = 0; i < problem.cluster.groups.size(); ++i) {
      problem.cluster.groups[i].on_demand_price = kDollars[i];
    }
    const auto start = std::chrono::steady_clock::now();
    MW_ASSIGN_OR_RETURN(const transformer::hetero::Result result,
                        SearchPlans(problem, {.objective = objective}));
    const double seconds = Since(start);
    if (result.front.empty()) return absl::NotFoundError("no plan fits");
    const transformer::hetero::Choice& best = result.front[0];
    const double value =
        objective == transformer::hetero::Objective::kCost ? best.step_dollars() : best.seconds;
    const auto gap = [&](double bound) { return 100 * std::max(0.0, 1 - bound / value); };
    std::printf("%6d %6d %9.3f %9.2f %9.1f %9.1f %9.1f %6d %8.2f %9.0f\n",
                static_cast<int>(4 * each), static_cast<int>(32 * each), best.seconds,
                best.step_dollars(), 100 * Gap(result, objective), gap(result.by_group_bound),
                gap(result.common_bound), static_cast<int>(result.front.size()), seconds,
                PeakMib());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

// Two or three types of nodes, some of each; a model and a batch.
absl::Status Random() {
  constexpr int kClusters = 40;
  constexpr const char* kDevices[] = {"a10g", "v100", "a100-40g", "h100-sxm", "h200"};
  constexpr const char* kModels[] = {"gpt2-xl", "llama3-8b"};
  std::vector<double> gaps, by_group;
  double total = 0;
  for (int i = 0; i < kClusters; ++i) {
    std::mt19937_64 random(i);
    const auto below = [&](uint64_t n) { return random() % n; };
    transformer::hetero::Problem problem;
    MW_ASSIGN_OR_RETURN(problem.model, LoadModel(kModels[below(2)]));
    problem.workload = {.sequence = 1024, .global_batch = int64_t{32} << below(4)};
    const size_t first = below(5), types = 2 + below(2);
    std::string cluster;
    for (size_t t = 0; t < types; ++t) {
      absl::StrAppend(&cluster, cluster.empty() ? "" : "+", 1 + below(8), "x", 4 << below(2), "x",
                      kDevices[(first + t) % 5]);
    }
    MW_ASSIGN_OR_RETURN(problem.cluster, ParseMixedCluster(cluster));
    const auto start = std::chrono::steady_clock::now();
    MW_ASSIGN_OR_RETURN(const transformer::hetero::Result result, SearchPlans(problem, {}));
    total += Since(start);
    if (result.front.empty()) continue;
    gaps.push_back(100 * Gap(result, transformer::hetero::Objective::kTime));
    by_group.push_back(100 * std::max(0.0, 1 - result.by_group_bound / result.front[0].seconds));
  }
  std::printf("%d clusters with a plan, %.1f s in all\n", static_cast<int>(gaps.size()), total);
  for (auto* const of : {&gaps, &by_group}) {
    std::sort(of->begin(), of->end());
    const auto none = std::count_if(of->begin(), of->end(), [](double gap) { return gap < 1e-6; });
    std::printf("%-22s no gap %d; gap (%%) median %.1f, 90th of 100 %.1f, most %.1f\n",
                of == &gaps ? "all plans" : "same degrees in groups", static_cast<int>(none),
                (*of)[of->size() / 2], (*of)[of->size() * 9 / 10], of->back());
  }
  return absl::OkStatus();
}

struct PublishedRun {
  const char* table;
  const char* published;  // model
  const char* model;      // ours
  int64_t a100, a10;      // nodes
};
constexpr PublishedRun kRuns[] = {{"gpt2XL.homo", "gpt2XL", "gpt2-xl", 0, 8},
                                  {"gpt2XL.het", "gpt2XL", "gpt2-xl", 1, 7},
                                  {"bert.homo", "bert", "bert-large", 0, 4},
                                  {"bert.het", "bert", "bert-large", 1, 3},
                                  {"T5.homo", "T5", "t5-large", 0, 8}};

// FASOP's nodes with its bandwidths. A node's network is shared by its GPUs, and ours are of a GPU.
std::string ClusterText(const PublishedRun& run) {
  std::string text = "groups:\n";
  const auto add = [&](const char* name, const char* device, fasop::Gpu gpu, int64_t nodes) {
    if (nodes == 0) return;
    const fasop::Node node = MakeNode(fasop::Setup::kDefault, gpu);
    absl::StrAppendFormat(
        &text,
        "  - {name: %s, device: %s, nodes: %d, devices_per_node: 4,\n"
        "     intra_node: {bandwidth: %gGbit/s, efficiency: 1}, inter_node: {bandwidth: %gGbit/s, "
        "efficiency: 1}}\n",
        name, device, nodes, node.intra_bits / 1e9,
        node.inter_bits / 1e9 / static_cast<double>(GpusPerNode(fasop::Setup::kDefault)));
  };
  add("A100", "a100-40g", fasop::Gpu::kA100, run.a100);
  add("A10", "a10g", fasop::Gpu::kA10, run.a10);
  return text + "between_groups: {bandwidth: 10Gbit/s, latency: 10us, efficiency: 1}\n";
}

std::string ProfileText(const fasop::Model& model) {
  constexpr int64_t kMostMeasured = 64;
  std::string text = "gpu,tp,micro_batch,layer_id,forward_seconds\n";
  for (const auto& [key, seconds] : PublishedProfile(model)) {
    for (int64_t b = 1; b <= kMostMeasured; b *= 2) {
      for (size_t i = 0; i < seconds.size(); ++i) {
        const double factor = MicroBatchFactor(model, key.first, model.kinds[i], b);
        absl::StrAppendFormat(&text, "%s,%d,%d,%d,%.17g\n",
                              key.first == fasop::Gpu::kA100 ? "A100" : "A10", key.second, b, i,
                              factor * seconds[i]);
      }
    }
  }
  return text;
}

// FASOP's plan in our terms: embeddings and head are no layers of their own. Empty if a stage would
// have no layer.
transformer::hetero::Plan ToGroupsPlan(const fasop::Model& model, const PublishedRun& run,
                                       const fasop::Row& row) {
  const fasop::Degrees& d = row.degrees;
  transformer::hetero::Plan plan;
  const size_t groups = run.a100 > 0 && run.a10 > 0 ? 2 : 1;
  plan.family.degrees.assign(groups, {d.tp, d.dp, d.micro_batch});
  const size_t nodes = row.placement.size();
  size_t entry = 0;
  for (size_t i = 0; i < row.estimate.partition.size(); ++i) {
    int32_t layers = 0;
    for (int n = 0; n < row.estimate.partition[i]; ++n, ++entry) {
      const fasop::LayerKind kind = model.kinds[entry];
      const bool end = kind == fasop::LayerKind::kEmbedding || kind == fasop::LayerKind::kPost;
      layers += end ? 0 : 1;
    }
    if (layers == 0) return {};
    const char node = row.placement[i * nodes / row.estimate.partition.size()];
    plan.stages.push_back({run.a100 > 0 && node == 'B' ? 1 : 0, layers});
  }
  return plan;
}

std::string DegreesText(const transformer::hetero::Problem& problem,
                        const transformer::hetero::Plan& plan) {
  std::string text = absl::StrFormat("pp%d", plan.stages.size());
  for (size_t i = 0; i < plan.family.degrees.size(); ++i) {
    const transformer::hetero::StageDegrees& d = plan.family.degrees[i];
    if (!d.used()) continue;
    absl::StrAppendFormat(&text, " %s: tp%d dp%d mbs%d",
                          problem.cluster.groups[plan.family.Group(i)].name, d.tp, d.dp,
                          d.micro_batch);
  }
  return text;
}

absl::Status Compare(const PublishedRun& run, bool measured) {
  MW_ASSIGN_OR_RETURN(const fasop::Model* const published, fasop::FindModel(run.published));
  transformer::hetero::Problem problem;
  MW_ASSIGN_OR_RETURN(problem.model, LoadModel(run.model));
  problem.workload = {published->sequence, published->global_batch};
  MW_ASSIGN_OR_RETURN(problem.cluster, ParseMixedClusterYaml(ClusterText(run), "cluster"));
  if (measured) {
    MW_ASSIGN_OR_RETURN(problem.profile, transformer::hetero::LayerProfile::Parse(
                                             ProfileText(*published), "profile",
                                             {.model = run.model, .sequence = 0, .dtype = ""}));
  }
  const auto start = std::chrono::steady_clock::now();
  MW_ASSIGN_OR_RETURN(const transformer::hetero::Result ours, SearchPlans(problem, {}));
  const double seconds = Since(start);
  transformer::hetero::Coster coster(problem);
  for (const fasop::Row& row : Search(*published, PublishedProfile(*published),
                                      fasop::Setup::kDefault, run.a100, run.a10)) {
    if (row.estimate.over_memory) continue;
    const transformer::hetero::Plan plan = ToGroupsPlan(*published, run, row);
    if (plan.stages.empty()) continue;
    const transformer::hetero::Figures figures = coster.FiguresOf(plan);
    const transformer::hetero::Choice& best = ours.front[0];
    std::printf("%-12s %-10s %8.3f %8.3f %-5s %8.3f %6.3f %7.1f %7.1f %7.2f  %s -> %s\n", run.table,
                measured ? "measured" : "calibrated", row.estimate.seconds, figures.seconds,
                figures.fits ? "" : "(!)", best.seconds, best.seconds / figures.seconds,
                100 * (1 - ours.bound / best.seconds),
                100 * std::max(0.0, 1 - ours.by_group_bound / best.seconds), seconds,
                absl::StrFormat("%s tp%d dp%d pp%d mbs%d", row.placement, row.degrees.tp,
                                row.degrees.dp, row.degrees.pp, row.degrees.micro_batch)
                    .c_str(),
                DegreesText(problem, best.plan).c_str());
    return absl::OkStatus();
  }
  return absl::NotFoundError("FASOP has no plan that fits");
}

absl::Status Fasop() {
  std::printf("%-12s %-10s %8s %8s %-5s %8s %6s %7s %7s %7s  %s\n", "run", "layers", "FASOP",
              "by ours", "", "our step", "ratio", "gap (%)", "group", "plan (s)", "plans");
  for (const PublishedRun& run : kRuns) {
    for (const bool measured : {true, false}) MW_RETURN_IF_ERROR(Compare(run, measured));
  }
  MW_ASSIGN_OR_RETURN(const fasop::Model* const model, fasop::FindModel("T5"));
  const auto start = std::chrono::steady_clock::now();
  const size_t rows =
      Sweep(*model, PublishedProfile(*model), fasop::Setup::kPareto, /*most=*/8).size();
  std::printf("sweep over 80 clusters: %d configurations in %.2f s\n", static_cast<int>(rows),
              Since(start));
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  absl::Status status = absl::InvalidArgumentError(
      "usage: heterogeneous_bench nodes [time|cost|pareto [MODEL]]|random|degrees|fasop");
  if (what == "nodes") {
    status = Nodes(argc > 2 ? argv[2] : "time", argc > 3 ? argv[3] : "llama3-70b");
  }
  if (what == "random") status = Random();
  if (what == "degrees") status = CompareDegreesByStage();
  if (what == "fasop") status = Fasop();
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return ExitCode(status);
}

}  // namespace
}  // namespace meshwright::transformer

int main(int argc, char** argv) { return meshwright::transformer::Main(argc, argv); }
