#ifndef MESHWRIGHT_HETERO_LAGRANGIAN_BOUND_H_
#define MESHWRIGHT_HETERO_LAGRANGIAN_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwright/hetero/bounds.h"
#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/problem.h"

namespace meshwright::transformer::hetero {

// Whether pipelines whose every stage has one of many degrees may be fast enough, by Lagrange's
// relaxation of the nodes that there are; so for families of degrees at once, and for each in a
// fraction of the time that its own bounds take.
class LagrangianBound {
 public:
  // `costs` are Coster::CostsOfAny of all stage classes that there may be, `groups` of the cluster;
  // both must outlive it.
  LagrangianBound(const std::vector<NodeGroup>& groups, const Costs& costs, int64_t least_stages,
                  int64_t most_stages);

  // From here on steps of less than `cutoff` seconds are asked for; false if there are none.
  bool SetCutoff(double cutoff);
  // Whether there may be one on these stage classes and on any of the groups from `group` on.
  bool MayHold(const std::vector<size_t>& stage_classes, size_t group);
  // ... on these stage classes alone, by multipliers of nodes that are theirs. Slower.
  bool MayHold(const std::vector<size_t>& stage_classes);
  // Stages and stage classes that MayHold of a group went through so far.
  int64_t steps() const { return steps_; }
  // A lower bound of a step, up to the cutoff.
  double LeastSeconds();

 private:
  // A pipeline of one number of stages.
  struct Pipeline {
    int64_t stages = 0;
    Bounds::LayersByPlace most;
    std::vector<double> multipliers;  // of a group's nodes, in layers
    // By stage class, then place: layers that a stage holds less its nodes' multiplier; minus
    // infinity where it may not lie. And the best of the groups from each on.
    std::vector<std::vector<double>> worth, best_from;
  };

  // Both passes of a micro-batch on all stages, at least.
  double LeastPasses(const Pipeline& pipeline) const;
  // Finds the most layers and multipliers; false if no slack is left.
  bool Fill(double cutoff, Pipeline* pipeline) const;
  // Changes `multipliers` until they show that the classes cannot hold all layers: then false.
  bool AdjustMultipliers(const Pipeline& pipeline, const std::vector<size_t>& stage_classes,
                         int rounds, std::vector<double>* multipliers) const;

  const std::vector<NodeGroup>& groups_;
  const Costs& costs_;
  Bounds bounds_;
  std::vector<double> nodes_;  // of a stage, by stage class
  std::vector<size_t> all_;    // stage classes
  int64_t least_stages_, most_stages_;
  double cutoff_ = 0;
  int64_t steps_ = 0;
  std::vector<Pipeline> pipelines_;  // those that are possible
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_LAGRANGIAN_BOUND_H_
