// Plans programs on meshes and prints a row each: how large the problem was, how long reading and
// planning took, and how good the answer is. Costs are those that `meshwright plan` would take.
//
//   plan_bench PROGRAM... [--cluster 8xh100-sxm] [--mesh 2x4]... [--cost-model roofline]
//              [--steps N: the most work of the search]

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/intra/planner.h"

namespace meshwright {
namespace {

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

int64_t PeakResidentMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return ExitCode(status);
}

int Run(const std::vector<std::string>& programs, const std::string& cluster_spec,
        const std::vector<std::string>& meshes, const std::string& model, int64_t steps) {
  std::printf("%-34s %-8s %7s %7s %7s %7s %8s %8s %11s %7s %9s %6s\n", "program", "mesh", "ops",
              "nodes", "edges", "reduced", "read s", "plan s", "step ms", "gap %", "peak GB",
              "RSS MB");
  const absl::StatusOr<Cluster> cluster = ParseCluster(cluster_spec);
  if (!cluster.ok()) return Fail(cluster.status());
  const CostModelRow* const costs =
      FindCostModel(model.empty() ? DefaultCostModel(*cluster) : std::string_view(model));
  if (costs == nullptr)
    return Fail(absl::InvalidArgumentError("--cost-model: unknown cost model \"" + model + "\""));
  PlannerOptions options;
  options.space = costs->space;
  if (steps > 0) options.solver.max_search_steps = steps;
  for (const std::string& path : programs) {
    const auto read_start = std::chrono::steady_clock::now();
    const absl::StatusOr<Module> module = ReadHlo(path);
    if (!module.ok()) return Fail(module.status());
    const double read_seconds = Seconds(read_start);
    const absl::StatusOr<Graph> graph = BuildGraph(*module);
    if (!graph.ok()) return Fail(graph.status());
    for (const std::string& mesh_spec : meshes) {
      const absl::StatusOr<Mesh> mesh = ParseMesh(mesh_spec, *cluster);
      if (!mesh.ok()) return Fail(mesh.status());
      const auto plan_start = std::chrono::steady_clock::now();
      const absl::StatusOr<IntraPlan> plan = PlanIntra(*graph, *costs->make(*mesh), options);
      if (!plan.ok()) return Fail(plan.status());
      std::printf("%-34s %-8s %7zu %7lld %7lld %7lld %8.3f %8.2f %11.3f %7.3f %9.2f %6lld\n",
                  path.substr(path.rfind('/') + 1).c_str(), mesh_spec.c_str(), graph->ops.size(),
                  static_cast<long long>(plan->nodes), static_cast<long long>(plan->edges),
                  static_cast<long long>(plan->reduced_nodes), read_seconds, Seconds(plan_start),
                  plan->objective * 1e3, plan->gap * 100,
                  static_cast<double>(plan->peak.bytes) / 1e9,
                  static_cast<long long>(PeakResidentMegabytes()));
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  std::vector<std::string> programs, meshes;
  std::string cluster = "8xh100-sxm", model;
  int64_t steps = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--cluster") == 0 && i + 1 < argc) {
      cluster = argv[++i];
    } else if (std::strcmp(argv[i], "--mesh") == 0 && i + 1 < argc) {
      meshes.push_back(argv[++i]);
    } else if (std::strcmp(argv[i], "--cost-model") == 0 && i + 1 < argc) {
      model = argv[++i];
    } else if (std::strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
      steps = std::strtoll(argv[++i], nullptr, 10);
    } else {
      programs.push_back(argv[i]);
    }
  }
  if (meshes.empty()) meshes = {"8", "2x4"};
  return meshwright::Run(programs, cluster, meshes, model, steps);
}
