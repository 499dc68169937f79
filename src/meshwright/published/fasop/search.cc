#include <algorithm>

#include "meshwright/published/fasop/fasop.h"

namespace meshwright::transformer::fasop {
namespace {

// Bits a second: a node's network, and the links between its GPUs.
constexpr Node kDefaultNodes[kGpuKinds] = {{Gpu::kA100, 40e9F, 1840e9F},
                                           {Gpu::kA10, 40e9F, 128e9F}};
constexpr Node kParetoNodes[kGpuKinds] = {{Gpu::kA100, 400e9F, 1840e9F},
                                          {Gpu::kA10, 100e9F, 252e9F}};
constexpr int64_t kMostTensorDegree = 4;  // that was profiled

std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i) {
    if (number % i == 0) divisors.push_back(i);
  }
  return divisors;
}

void SortBySeconds(std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) {
    return a.estimate.seconds < b.estimate.seconds;
  });
}

}  // namespace

int64_t GpusPerNode(Setup setup) { return setup == Setup::kPareto ? 8 : 4; }

Node MakeNode(Setup setup, Gpu gpu) {
  return (setup == Setup::kPareto ? kParetoNodes : kDefaultNodes)[static_cast<size_t>(gpu)];
}

double NodePricePerHour(Setup setup, Gpu gpu) {
  if (gpu == Gpu::kA100) return 32.7726;
  return setup == Setup::kPareto ? 9.773 : 8.144;
}

std::vector<Placement> Placements(int64_t a100_nodes, int64_t a10_nodes) {
  Placement placement = Placement(a100_nodes, 'A') + Placement(a10_nodes, 'B');
  if (a100_nodes == 0 || a10_nodes == 0) return {placement};
  std::vector<Placement> placements;
  for (size_t i = 0; i < placement.size(); ++i) {
    placements.push_back(placement.substr(i) + placement.substr(0, i));
  }
  return placements;
}

std::vector<Degrees> AllDegrees(const Model& model, Setup setup, int64_t nodes) {
  std::vector<Degrees> all;
  const int64_t per_node = GpusPerNode(setup);
  for (const int64_t tp : Divisors(std::min(per_node, kMostTensorDegree))) {
    for (const int64_t dp : Divisors(per_node * nodes / tp)) {
      const int64_t pp = per_node * nodes / (tp * dp);
      if (model.global_batch % dp != 0 || pp > model.layers) continue;
      for (const int64_t micro_batch : Divisors(model.global_batch / dp)) {
        all.push_back({tp, dp, pp, micro_batch});
      }
    }
  }
  return all;
}

std::vector<Row> Search(const Model& model, const Profile& profile, Setup setup, int64_t a100_nodes,
                        int64_t a10_nodes) {
  std::vector<Row> rows;
  for (const Placement& placement : Placements(a100_nodes, a10_nodes)) {
    for (const Degrees& degrees : AllDegrees(model, setup, a100_nodes + a10_nodes)) {
      rows.push_back({placement, degrees, Evaluate(model, profile, setup, placement, degrees)});
    }
  }
  SortBySeconds(&rows);
  return rows;
}

std::vector<Row> Sweep(const Model& model, const Profile& profile, Setup setup, int64_t most) {
  std::vector<Row> rows;
  for (int64_t a100 = 0; a100 <= most; ++a100) {
    for (int64_t a10 = a100 == 0 ? 1 : 0; a10 <= most; ++a10) {
      const std::vector<Row> more = Search(model, profile, setup, a100, a10);
      rows.insert(rows.end(), more.begin(), more.end());
    }
  }
  SortBySeconds(&rows);
  return rows;
}

}  // namespace meshwright::transformer::fasop
