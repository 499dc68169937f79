#ifndef MESHWRIGHT_INTRA_JOINED_AXES_H_
#define MESHWRIGHT_INTRA_JOINED_AXES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/intra/problem_builder.h"
#include "meshwright/sharding/sharding.h"
#include "meshwright/solve/solver.h"

// Plans for a mesh from plans for the same devices with two neighbouring axes joined into one. What
// shards along the joined axis shards along both, major to minor, at the same price. There are far
// fewer strategies, so that good plans are found where the mesh itself is too much for the search.

namespace meshwright {

// Prices of `whole` on its mesh with axes `axis` and `axis` + 1 joined. Keeps a reference to it.
class JoinedCostModel : public CostModel {
 public:
  JoinedCostModel(const CostModel& whole, AxisIndex axis);

  std::string name() const override { return whole_.name(); }
  bool in_seconds() const override { return whole_.in_seconds(); }
  double ComputeSeconds(const Work& work) const override { return whole_.ComputeSeconds(work); }
  double CollectiveSeconds(CollectiveKind kind, const AxisList& axes, int64_t bytes) const override;
  std::optional<Overlap> overlap() const override { return whole_.overlap(); }
  double RearrangeSeconds(int64_t bytes) const override { return whole_.RearrangeSeconds(bytes); }
  double ParameterSeconds(const Shape& shape, const Sharding& sharding) const override;

 private:
  const CostModel& whole_;
  AxisIndex axis_;
};

// `sharding` of the joined mesh on the whole one.
Sharding SplitAxis(Sharding sharding, AxisIndex axis);
// The other way; nullopt if it uses the two axes otherwise than as one.
std::optional<Sharding> JoinAxis(Sharding sharding, AxisIndex axis);

// Choices for `problem` (built from `inputs` and `sets`) to start a search from: one from each way
// to join two neighbouring axes longer than 1, on a mesh of three of them or more. Each gets a
// share of what `solver` may spend. They may break pins that a joined mesh cannot express.
std::vector<std::vector<int32_t>> ChoicesOfJoinedAxes(const ProblemInputs& inputs,
                                                      const CandidateSets& sets,
                                                      const PlanningProblem& problem,
                                                      const solve::SolverOptions& solver);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_JOINED_AXES_H_
