#ifndef MESHWRIGHT_INTRA_PARTITIONER_H_
#define MESHWRIGHT_INTRA_PARTITIONER_H_

#include <optional>
#include <span>
#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/sharding.h"

// What XLA's SPMD partitioner makes of a program in which every value has a sharding: how each
// operator is computed, and by which collectives values are moved. It weighs bytes, not seconds.

namespace meshwright {

// The strategy by which the partitioner computes an operator of this rule whose operands and first
// result are sharded like that; what its result then is gets resharded to `result`, its operands
// from `operands`. An operand that is made again wherever it is needed has no sharding (nullptr).
// nullopt where it depends on more than that, or the rule cannot express it. partitioner.cc says
// how operators are told apart.
std::optional<Strategy> PartitionedStrategy(const Graph& graph, const Op& op, const Rule& rule,
                                            const std::vector<const Sharding*>& operands,
                                            const Sharding& result, const Mesh& mesh);

// The prices of another model for the collectives that the partitioner reshards by: those of the
// path that moves the fewest bytes, instead of the fastest one.
class PartitionerModel : public CostModel {
 public:
  // `prices` must outlive it.
  explicit PartitionerModel(const CostModel& prices);

  std::string name() const override { return prices_.name(); }
  bool in_seconds() const override { return prices_.in_seconds(); }
  double ComputeSeconds(const Work& work) const override { return prices_.ComputeSeconds(work); }
  double CollectiveSeconds(CollectiveKind kind, const AxisList& axes,
                           int64_t bytes) const override {
    return prices_.CollectiveSeconds(kind, axes, bytes);
  }
  std::optional<Overlap> overlap() const override { return prices_.overlap(); }
  double RearrangeSeconds(int64_t bytes) const override { return prices_.RearrangeSeconds(bytes); }
  double ParameterSeconds(const Shape& shape, const Sharding& sharding) const override {
    return prices_.ParameterSeconds(shape, sharding);
  }
  Resharding Reshard(const Shape& shape, const Sharding& from, const Sharding& to) const override;
  std::vector<double> ReshardSeconds(const Shape& shape, const Sharding& from,
                                     std::span<const Sharding> to) const override;

 private:
  const CostModel& prices_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PARTITIONER_H_
