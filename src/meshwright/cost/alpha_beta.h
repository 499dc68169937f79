#ifndef MESHWRIGHT_COST_ALPHA_BETA_H_
#define MESHWRIGHT_COST_ALPHA_BETA_H_

#include <optional>
#include <vector>

#include "meshwright/cost/cost_model.h"

namespace meshwright {

// Whose variant of the formulas.
enum class AlphaBetaFlavour {
  kPlayground,   // Alpa's Python solver playground
  kLogicalMesh,  // alpa.shard_parallel's LogicalDeviceMesh
  kAlpaCpp,      // Alpa's fork of XLA
  kXla,          // XLA's auto_sharding
};

struct AlphaBetaOptions {
  // Cost of a message and of a byte along each mesh axis; 1 for axes beyond the lists.
  std::vector<double> alpha, beta;
  AlphaBetaFlavour flavour = AlphaBetaFlavour::kPlayground;
  // Constants that replace a formula, as Alpa's tests use them to forbid a collective.
  std::optional<double> force_all_gather, force_all_reduce, force_reduce_scatter;
};

// What Alpa's C++ charges for what it does not support ("INF").
inline constexpr double kAlpaInfinity = 1e13;

// Alpa's unitless model, to reproduce published optima (Zheng et al., "Alpa", OSDI 2022):
// computation is free, a collective costs alpha + beta x bytes x a factor, plus a fraction that
// tells the kinds apart in a total (0.1 all-gather, 0.01 all-reduce, 0.001 reduce-scatter and
// all-to-all). alpha_beta.cc has the formulas.
class AlphaBetaCostModel : public CostModel {
 public:
  AlphaBetaCostModel(const Mesh& mesh, AlphaBetaOptions options);

  std::string name() const override { return "alpha_beta"; }
  bool in_seconds() const override { return false; }
  double ComputeSeconds(const Work& work) const override { return 0; }
  double CollectiveSeconds(CollectiveKind kind, const AxisList& axes, int64_t bytes) const override;
  double ParameterSeconds(const Shape& shape, const Sharding& sharding) const override;
  // Unreduced axes of `from` that `to` lacks cost an all-reduce each of what a device holds; the
  // change of dimensions follows as the flavour prices it. What the flavour cannot do costs
  // kAlpaInfinity.
  Resharding Reshard(const Shape& shape, const Sharding& from, const Sharding& to) const override;
  std::vector<double> ReshardSeconds(const Shape& shape, const Sharding& from,
                                     std::span<const Sharding> to) const override;

 private:
  double Alpha(AxisIndex axis) const;
  double Beta(AxisIndex axis) const;
  double Flat(CollectiveKind kind, double members, double alpha, double beta, double bytes) const;
  double Collective(CollectiveKind kind, const AxisList& axes, double bytes) const;

  void Add(CollectiveKind kind, const AxisList& axes, double bytes, Resharding* result) const;
  void ReduceAll(const Shape& shape, const Sharding& from, const AxisList& axes,
                 Resharding* result) const;
  void GatherByAxis(const Shape& shape, const Sharding& from, const Sharding& to,
                    Resharding* result) const;
  void GatherByDimension(const Shape& shape, const Sharding& from, const Sharding& to,
                         Resharding* result) const;

  AlphaBetaOptions options_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_ALPHA_BETA_H_
