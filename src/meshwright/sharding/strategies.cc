#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "meshwright/sharding/rule.h"

// Enumeration of a rule's strategies: a depth-first walk over the mesh axes, each taking every
// factor it can still cut. What makes a complete assignment inexpressible does not depend on shapes
// but on two kinds of facts, gathered once per rule:
//  * a factor that is minor in some dimension needs every factor before it cut completely;
//  * one result cannot be unreduced by two different reductions, and of one dimension the joint
//    factor is cut or the others are.
// So a leaf costs a few comparisons and no Sharding is ever built. Time is proportional to the
// number of assignments that respect divisibility.

namespace meshwright {
namespace {

// `minor` may be cut only where `major` is cut into pieces of one element.
struct Nesting {
  FactorIndex major = kNoFactor, minor = kNoFactor;
  friend bool operator==(const Nesting&, const Nesting&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Nesting& n) {
    return H::combine(std::move(h), n.major, n.minor);
  }
};

class StrategyWalk {
 public:
  StrategyWalk(const Rule& rule, const Mesh& mesh)
      : rule_(rule),
        mesh_(mesh),
        fixed_(rule.factors.size(), false),
        cut_(rule.factors.size(), 1),
        strategy_(mesh.rank(), kNoFactor) {
    CollectNestings(rule.operands);
    CollectNestings(rule.results);
    CollectMixedReductions();
    CollectCandidates();
  }

  std::vector<Strategy> Run() {
    Assign(0);
    return std::move(found_);
  }

 private:
  bool CanTake(FactorIndex f, int64_t axis_size) const {
    const Factor& factor = rule_.factors[f];
    if (factor.kind == FactorKind::kWhole || fixed_[f]) return false;
    if (factor.kind == FactorKind::kPending) return true;
    if (factor.uneven) return factor.size / cut_[f] >= axis_size;
    int64_t rest = factor.size / cut_[f];
    return rest >= axis_size && rest % axis_size == 0;
  }

  void CollectNestings(const std::vector<TensorFactors>& tensors) {
    absl::flat_hash_set<Nesting> seen(nestings_.begin(), nestings_.end());
    for (const TensorFactors& tensor : tensors) {
      for (const auto& dim : tensor.dims) {
        for (size_t i = 1; i < dim.size(); ++i) {
          if (rule_.factors[dim[i]].kind == FactorKind::kWhole) continue;
          for (size_t j = 0; j < i; ++j) {
            if (rule_.factors[dim[i]].joint) {
              exclusive_.push_back({dim[j], dim[i]});
              continue;
            }
            if (rule_.factors[dim[j]].kind == FactorKind::kWhole) fixed_[dim[i]] = true;
            if (Nesting nesting{dim[j], dim[i]}; seen.insert(nesting).second) {
              nestings_.push_back(nesting);
            }
          }
        }
      }
    }
  }

  // Pairs of factors that would leave one result unreduced in two ways.
  void CollectMixedReductions() {
    auto partial = [&](FactorIndex f, const TensorFactors& result) {
      return (rule_.factors[f].kind == FactorKind::kReduction && result.unreduced &&
              !HasFactor(result, f)) ||
             (rule_.factors[f].kind == FactorKind::kPending && result.pending);
    };
    std::vector<FactorIndex> reducing;
    for (size_t f = 0; f < rule_.factors.size(); ++f) {
      if (rule_.factors[f].reduction != Reduction::kNone)
        reducing.push_back(static_cast<FactorIndex>(f));
    }
    for (FactorIndex f : reducing) {
      for (FactorIndex g : reducing) {
        if (f >= g || rule_.factors[f].reduction == rule_.factors[g].reduction) continue;
        bool clash =
            std::any_of(rule_.results.begin(), rule_.results.end(),
                        [&](const TensorFactors& r) { return partial(f, r) && partial(g, r); });
        if (clash) exclusive_.push_back({f, g});
      }
    }
  }

  // Per axis the factors it could cut at all; the smallest factors go until the product of the
  // choices is within kMaxStrategies.
  void CollectCandidates() {
    std::vector<FactorIndex> factors;
    for (size_t f = 0; f < rule_.factors.size(); ++f)
      factors.push_back(static_cast<FactorIndex>(f));
    std::stable_sort(factors.begin(), factors.end(), [&](FactorIndex a, FactorIndex b) {
      return rule_.factors[a].size > rule_.factors[b].size;
    });
    candidates_.assign(mesh_.rank(), {});
    for (FactorIndex f : factors) {
      double assignments = 1;
      for (size_t a = 0; a < mesh_.rank(); ++a) {
        bool takes = mesh_.axes[a].size > 1 && CanTake(f, mesh_.axes[a].size);
        assignments *= static_cast<double>(1 + candidates_[a].size() + (takes ? 1 : 0));
      }
      if (assignments > static_cast<double>(kMaxStrategies)) break;
      for (size_t a = 0; a < mesh_.rank(); ++a) {
        if (mesh_.axes[a].size > 1 && CanTake(f, mesh_.axes[a].size)) candidates_[a].push_back(f);
      }
    }
    for (std::vector<FactorIndex>& list : candidates_) std::sort(list.begin(), list.end());
  }

  bool Expressible() const {
    for (const Nesting& n : nestings_) {
      if (cut_[n.minor] > 1 && cut_[n.major] != rule_.factors[n.major].size) return false;
    }
    auto used = [&](FactorIndex f) {
      return std::find(strategy_.begin(), strategy_.end(), f) != strategy_.end();
    };
    return std::none_of(exclusive_.begin(), exclusive_.end(),
                        [&](const auto& pair) { return used(pair.first) && used(pair.second); });
  }

  void Assign(size_t axis) {
    if (axis == mesh_.rank()) {
      if (Expressible()) found_.push_back(strategy_);
      return;
    }
    Assign(axis + 1);
    int64_t size = mesh_.axes[axis].size;
    for (FactorIndex f : candidates_[axis]) {
      if (!CanTake(f, size)) continue;
      bool cuts = rule_.factors[f].kind != FactorKind::kPending;
      strategy_[axis] = f;
      if (cuts) cut_[f] *= size;
      Assign(axis + 1);
      if (cuts) cut_[f] /= size;
    }
    strategy_[axis] = kNoFactor;
  }

  const Rule& rule_;
  const Mesh& mesh_;
  std::vector<bool> fixed_;  // by factor: minor to a kWhole factor, so never cut
  std::vector<Nesting> nestings_;
  std::vector<std::pair<FactorIndex, FactorIndex>> exclusive_;  // never cut both
  std::vector<std::vector<FactorIndex>> candidates_;            // by axis, ascending
  std::vector<int64_t> cut_;  // by factor: pieces it is cut into so far
  Strategy strategy_;
  std::vector<Strategy> found_;
};

// `strategy` with the axes that `order` names first, in its order, wherever several shard a factor.
Strategy Reordered(const Rule& rule, Strategy strategy, const AxisList& order, const Mesh& mesh) {
  const auto place = [&](AxisIndex axis) {
    return std::pair(std::find(order.begin(), order.end(), axis) - order.begin(), axis);
  };
  AxisList all;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].kind == FactorKind::kPending) continue;
    AxisList axes = AxesOf(static_cast<FactorIndex>(f), strategy, mesh);
    std::sort(axes.begin(), axes.end(),
              [&](AxisIndex a, AxisIndex b) { return place(a) < place(b); });
    if (!std::is_sorted(axes.begin(), axes.end())) all.insert(all.end(), axes.begin(), axes.end());
  }
  strategy.set_order(std::move(all));
  return strategy;
}

}  // namespace

std::vector<Strategy> EnumerateStrategies(const Rule& rule, const Mesh& mesh,
                                          absl::Span<const AxisList> orders) {
  std::vector<Strategy> strategies = StrategyWalk(rule, mesh).Run();
  const size_t count = strategies.size();
  for (size_t s = 0; s < count && !orders.empty(); ++s) {
    const size_t others = strategies.size();
    for (const AxisList& order : orders) {
      Strategy reordered = Reordered(rule, strategies[s], order, mesh);
      const bool known =
          reordered.order().empty() || std::find(strategies.begin() + static_cast<int64_t>(others),
                                                 strategies.end(), reordered) != strategies.end();
      if (!known) strategies.push_back(std::move(reordered));
    }
  }
  return strategies;
}

}  // namespace meshwright
