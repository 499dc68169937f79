#include "meshwright/inter/layers/layer_clustering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace meshwright {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
constexpr double kTie = 1 + 1e-4;
constexpr int64_t kFewestHeavy = 3;

// A square table over positions between operators.
class Table {
 public:
  Table(size_t size, float value) : size_(size), cells_(size * size, value) {}
  float& at(size_t i, size_t j) { return cells_[i * size_ + j]; }
  float at(size_t i, size_t j) const { return cells_[i * size_ + j]; }

 private:
  size_t size_;
  std::vector<float> cells_;
};

// (end, begin): bytes made before `begin` and used in [begin, end). Edges of one value count once.
Table EnteringBytes(const ClusteringProblem& problem) {
  const size_t n = problem.cost.size();
  using Edge = ClusteringProblem::Edge;
  std::vector<Edge> edges = problem.edges;
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.from, a.value, a.to) < std::tie(b.from, b.value, b.to);
  });
  // A use counts for those beginnings that no earlier use of the same value lies behind.
  struct Use {
    int32_t first = 0, last = 0;  // beginnings
    double bytes = 0;
  };
  std::vector<std::vector<Use>> uses(n);  // by user
  for (size_t i = 0; i < edges.size(); ++i) {
    const bool same =
        i > 0 && edges[i - 1].from == edges[i].from && edges[i - 1].value == edges[i].value;
    const int32_t first = same ? edges[i - 1].to + 1 : edges[i].from + 1;
    uses[edges[i].to].push_back({first, edges[i].to, edges[i].bytes});
  }
  Table bytes(n + 1, 0);
  std::vector<double> entering(n + 1, 0);  // by beginning, for the end at hand
  for (size_t end = 1; end <= n; ++end) {
    for (const Use& use : uses[end - 1]) {
      for (int32_t begin = use.first; begin <= use.last; ++begin) entering[begin] += use.bytes;
    }
    for (size_t begin = 0; begin < end; ++begin) {
      bytes.at(end, begin) = static_cast<float>(entering[begin]);
    }
  }
  return bytes;
}

double CostLimit(const ClusteringProblem& problem) {
  const double average =
      std::accumulate(problem.cost.begin(), problem.cost.end(), 0.0) / problem.layers;
  const double limit = average * (1 + problem.imbalance);
  return problem.criterion == ClusteringProblem::Criterion::kCount ? std::max(limit, average + 5)
                                                                   : limit;
}

// (end, begin): 0 where [begin, end) may be a slice, else infinite.
Table Forbidden(const ClusteringProblem& problem) {
  const size_t n = problem.cost.size();
  const double limit = CostLimit(problem);
  const int64_t heavy = std::count(problem.heavy.begin(), problem.heavy.end(), true);
  const int64_t fewest = std::min<int64_t>(kFewestHeavy, heavy / problem.layers);
  Table forbidden(n + 1, kFloatInfinity);
  for (size_t begin = 0; begin < n; ++begin) {
    int64_t count = 0;
    double cost = 0;
    for (size_t end = begin + 1; end <= n; ++end) {
      const bool is_heavy = problem.heavy[end - 1];
      if (is_heavy) {
        ++count;
        cost += problem.cost[end - 1];
      }
      if (count < fewest) {
        if (cost >= limit) forbidden.at(end, begin) = 0;
        continue;
      }
      if (cost >= limit && is_heavy && count > fewest) break;
      forbidden.at(end, begin) = 0;
    }
  }
  return forbidden;
}

// The best way to cut operators [0, end) into so many slices.
struct State {
  float most = kFloatInfinity, sum = kFloatInfinity, imbalance = kFloatInfinity;
  int32_t last = -1;  // where the last slice begins
};

}  // namespace

std::optional<Clustering> ClusterLayers(const ClusteringProblem& problem) {
  const size_t n = problem.cost.size();
  const size_t layers = static_cast<size_t>(std::max(problem.layers, 0));
  if (layers == 0 || layers > n) return std::nullopt;
  const Table entering = EnteringBytes(problem);
  const Table forbidden = Forbidden(problem);
  std::vector<std::vector<State>> best(layers + 1, std::vector<State>(n + 1));
  for (State& state : best[0]) state.imbalance = 0;
  best[0][0] = {0, 0, 0, -1};
  for (size_t q = 1; q <= layers; ++q) {
    for (size_t end = 1; end <= n; ++end) {
      State& state = best[q][end];
      const double r = static_cast<double>(end), slices = static_cast<double>(q);
      for (size_t begin = 0; begin < end; ++begin) {
        const State& before = best[q - 1][begin];
        const float here = forbidden.at(end, begin) + entering.at(end, begin);
        const float most = std::max(before.most, here);
        if (most > state.most * kTie) continue;
        const float sum = before.sum + forbidden.at(end, begin) + entering.at(end, begin);
        // Sum of squared lengths less the square of their sum over their number, step by step.
        const double k = static_cast<double>(begin);
        const double imbalance =
            before.imbalance + k * k / slices - r * r / (slices + 1) + (r - k) * (r - k);
        if (most < state.most || sum < state.sum ||
            (sum <= state.sum * kTie && imbalance < state.imbalance)) {
          state = {most, sum, static_cast<float>(imbalance), static_cast<int32_t>(begin)};
        }
      }
    }
  }
  Clustering clustering;
  clustering.max_boundary_bytes = best[layers][n].most;
  size_t end = n;
  for (size_t q = layers; q > 0; --q) {
    const int32_t begin = best[q][end].last;
    if (begin < 0) return std::nullopt;
    clustering.slices.emplace_back(begin, static_cast<int32_t>(end));
    end = static_cast<size_t>(begin);
  }
  if (end != 0 || std::isinf(clustering.max_boundary_bytes)) return std::nullopt;
  std::reverse(clustering.slices.begin(), clustering.slices.end());
  return clustering;
}

}  // namespace meshwright
