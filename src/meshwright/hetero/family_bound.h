#ifndef MESHWRIGHT_HETERO_FAMILY_BOUND_H_
#define MESHWRIGHT_HETERO_FAMILY_BOUND_H_

#include <cstdint>
#include <vector>

#include "meshwright/hetero/problem.h"

// Lower bounds of plans of a family, by the fastest layer of each stage class alone.

namespace meshwright::transformer::hetero {

struct StageClass {
  size_t group = 0;
  StageDegrees degrees;
  int64_t slots = 0;         // stages, at most MostStages, if it has all nodes of its group
  double layer_seconds = 0;  // of both passes of the fastest layer
  double layer_dollars = 0;
  double price_per_hour = 0;                     // of the nodes of one stage, at least
  double forward_share = 0;                      // of a stage's passes, at most
  double update_seconds = 0, fixed_seconds = 0;  // at least, behind the last backward pass

  double speed() const { return static_cast<double>(slots) / layer_seconds; }
};

// Common figures of the pipelines.
struct Pipelines {
  int64_t layers = 0, micro_batches = 0;
  int64_t most_stages = 0;  // with a layer; beside them there may be one at either end without
  double sends = 0;         // of a micro-batch, there and back, at least
};

// Some stages that together deal with `speed` layers in a second at most, none of them with a layer
// in less than `layer_seconds`.
struct StagePool {
  double layer_seconds = 0, speed = 0;
};
// Pipelines of any number of such stages up to the last backward pass, whose stages' passes are
// forward by `forward_share` at most. For many choices of pools: what does not depend on them is
// made once.
class PooledBound {
 public:
  PooledBound(const Pipelines& pipelines, double forward_share);

  // `pools` in ascending order of layer_seconds; at least one.
  double LeastSeconds(const std::vector<StagePool>& pools) const;

 private:
  // The bound for one number of stages (family_bound.cc).
  struct Stages {
    double c = 0, best_x = 0;
    double least = 0;  // seconds times speed, whatever the pools
  };
  struct Block {  // numbers of stages, and the c of the last
    int64_t first = 0, last = 0;
    double c = 0;
  };

  double layers_;
  int64_t micro_batches_;
  double forward_share_;
  std::vector<Stages> stages_;  // from 1 on
  std::vector<Block> blocks_;
  int64_t best_ = 1;  // stages, of which the least is least
};

// Stages of these stage classes, the fastest of them, perfectly balanced but for layers being
// whole, as many as are best. Those of one group, at most two, are neighbours and share its nodes.
double LeastFamilySeconds(const std::vector<NodeGroup>& groups,
                          std::vector<StageClass> stage_classes, const Pipelines& pipelines);

// Most layers a second of two stage classes that share their group's nodes, each with a stage.
double MostSharedSpeed(const NodeGroup& group, const StageClass& a, const StageClass& b,
                       int64_t layers);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_FAMILY_BOUND_H_
