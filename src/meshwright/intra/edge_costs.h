#ifndef MESHWRIGHT_INTRA_EDGE_COSTS_H_
#define MESHWRIGHT_INTRA_EDGE_COSTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

struct PlanningEdge;

// Whether what `edge.also[i]` wants under the user's strategy is already wanted by an operand
// before it.
bool WantedBefore(const ShardingLists& lists, const PlanningEdge& edge, size_t i, int32_t strategy);

// Cost matrices of edges: the price of resharding a value from each of its producer's shardings to
// each of its user's. Repeated layers ask for the same matrices again and again; each is made once
// and shared.
class EdgeCosts {
 public:
  EdgeCosts(const CostModel& cost_model, const ShardingLists& lists, double ticks)
      : cost_model_(cost_model), lists_(lists), ticks_(ticks) {}

  // Cost in the model's unit as the problem's integer; what is impossible or too large is
  // kForbidden.
  int64_t Ticks(double cost) const;
  // Whether a cost that is possible was too large.
  bool overflowed() const { return overflowed_; }

  // Rows and columns are strategies of the edge's two sides, in that order.
  std::shared_ptr<const solve::Matrix> MatrixFor(const Shape& shape, const PlanningEdge& edge,
                                                 const std::vector<int32_t>& rows,
                                                 const std::vector<int32_t>& columns);

 private:
  // Prices of moving a value of `shape` from one sharding to those of `to` that `columns` names,
  // infinite if impossible.
  std::vector<double> Prices(const Shape& shape, const Sharding& from,
                             const std::vector<Sharding>& to, const std::vector<int32_t>& columns);
  // What such a price depends on: the value's size, and of the dimensions that either sharding cuts
  // what they take, in any order; their sizes only where they do not divide by every mesh axis.
  using PriceKey = absl::InlinedVector<uint16_t, 40>;
  PriceKey PriceKeyOf(const Shape& shape, const Sharding& from, const Sharding& to) const;

  const CostModel& cost_model_;
  const ShardingLists& lists_;
  double ticks_;
  mutable bool overflowed_ = false;
  absl::flat_hash_map<std::string, std::shared_ptr<const solve::Matrix>> matrices_;
  absl::flat_hash_map<PriceKey, double> prices_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_EDGE_COSTS_H_
