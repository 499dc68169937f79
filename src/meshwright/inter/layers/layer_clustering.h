#ifndef MESHWRIGHT_INTER_LAYERS_LAYER_CLUSTERING_H_
#define MESHWRIGHT_INTER_LAYERS_LAYER_CLUSTERING_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// Alpa's clustering of operators into layers (Zheng et al., OSDI 2022, section 5.2; its
// `cluster_jaxpr_by_cost`): operators in a fixed order are cut into consecutive segments of
// balanced cost so that the most bytes that enter any segment are as few as can be.

namespace meshwright {

struct ClusteringProblem {
  // What balances the segments. kCount allows segments of up to 5 heavy operators above the
  // average.
  enum class Criterion { kFlops, kCount, kInputMemory };
  struct Edge {
    int32_t from = 0, to = 0;  // operators, from < to
    double bytes = 0;
    int32_t value = 0;  // which result of `from`: it enters a segment once
  };
  std::vector<double> cost;  // by operator
  std::vector<bool> heavy;   // by operator: matmuls and convolutions
  std::vector<Edge> edges;
  int32_t layers = 1;
  double imbalance = 0.5;  // a segment's cost may exceed the average by this share
  Criterion criterion = Criterion::kFlops;
};

struct Clustering {
  std::vector<std::pair<int32_t, int32_t>> slices;  // [begin, end)
  double max_boundary_bytes = 0;                    // of values that enter a slice
};

// Minimises the most bytes that enter a slice, then the sum of them, then the variance of the
// slices' lengths, each to 1e-4 and by dynamic programming in the arithmetic of the original
// (tables of 32-bit floats, first of equals), so that its ties are broken as there. A slice has at
// least three heavy operators, or as many as there are for each if those are fewer, unless it is
// expensive enough without. nullopt: no such slices. O(operators^2 * layers).
std::optional<Clustering> ClusterLayers(const ClusteringProblem& problem);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_LAYER_CLUSTERING_H_
