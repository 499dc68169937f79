#ifndef MESHWRIGHT_SOLVE_DUAL_BOUND_H_
#define MESHWRIGHT_SOLVE_DUAL_BOUND_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/model.h"
#include "meshwright/solve/reduce.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// A lower bound of a model by sequential message passing (TRW-S) on its pairwise part and Lagrange
// multipliers on its rows, and the choices that the messages suggest. All arithmetic is on scaled
// integers and every step is a valid reparametrisation, so the bound is safe at any moment without
// error analysis. See the .cc file.
//
// Keeps a reference to nothing: the model is copied into flat arrays, each different matrix once.
class DualBound {
 public:
  explicit DualBound(const Model& model);

  // One sweep over all nodes in alternating direction. Returns the elementary steps it took.
  int64_t Pass();

  // No feasible choice costs less. Valid after a pass with the present multipliers.
  Int128 bound() const;
  // The choice decoded during the last pass: each node in turn takes what is cheapest given the
  // earlier ones and the messages of the later ones, at the present multipliers. May be forbidden
  // or exceed capacities.
  const Choice& decoded() const { return decoded_; }

  // Like it, but a node only takes what still fits into the rows (and is not forbidden, if there is
  // such). Costs a pass; to be called after an even number of passes.
  Choice DecodeFitting() const;

  // Multipliers by row, cost per unit of usage, >= 0. Bounds are valid for any.
  const std::vector<double>& multipliers() const { return multipliers_; }
  void SetMultipliers(const std::vector<double>& multipliers);
  int32_t rows() const { return static_cast<int32_t>(capacity_.size()); }

  // allowed[v][s]: whether a feasible choice with strategy s at v can cost less than `cost`, as far
  // as the state after the last pass can tell (one pass must have been done since the last
  // SetMultipliers).
  StrategyMask AllowedBelow(Int128 cost) const;

  // The reduced cost of strategy s at v: what it looked to cost above v's best when the last pass
  // came by, in model units. A guide for searches; AllowedBelow says what may be removed.
  double ReducedCost(int32_t v, int32_t s) const {
    return static_cast<double>(total_[node_[v].at + s] - least_[v]) /
           static_cast<double>(int64_t{1} << scale_);
  }
  // The cost of v's usage with strategy s at the present multipliers, in model units.
  double UsageCost(int32_t v, int32_t s) const {
    return static_cast<double>(usage_cost_[node_[v].at + s]) /
           static_cast<double>(int64_t{1} << scale_);
  }
  // Usage by row if every node took its strategies with probabilities falling with reduced cost:
  // exp(-reduced cost / temperature), in model units.
  std::vector<double> ExpectedUsage(double temperature) const;
  int64_t steps_per_pass() const { return steps_per_pass_; }

  // `model`, which must be the one of this bound, with what the messages moved between nodes and
  // edges moved for good: every choice costs what it did, and a DualBound of the result starts
  // where this one is, but for rounding. For models that are to be reduced and bounded again.
  Model Reparametrised(Model model) const;

 private:
  struct Node {
    int32_t at = 0, k = 0;        // its strategies in cost_ and the like
    int32_t first = 0, last = 0;  // its edges in links_: earlier neighbours first
    int32_t split = 0;            // first link to a later neighbour
  };
  struct Link {  // an edge seen from one end
    int32_t other;
    int32_t mine, theirs;  // where the messages into this end and into the other start
    int32_t matrix;
    bool row;  // this end is the rows
  };
  struct Scaled {
    int32_t rows, cols;
    int64_t at;
  };

  void Pull(const Node& node, const Link& link);
  // The message that Pull would leave at `node`'s end. `scratch` holds any node's strategies.
  void PullInto(const Node& node, const Link& link, Number* scratch, Number* mine) const;
  // Fills `work` with what v's strategies cost given the choices of the nodes before it (after it
  // if not forward).
  void CostGiven(int32_t v, bool forward, const Choice& choice, Number* work) const;

  int scale_ = 0;
  Number limit_ = 0;  // of messages' magnitude
  Int128 constant_ = 0;
  std::vector<Node> node_;
  std::vector<Link> links_;
  std::vector<Scaled> matrices_;
  std::vector<Number> entries_;            // of all matrices
  std::vector<Number> cost_, usage_cost_;  // by node and strategy
  std::vector<Number> total_;    // cost, usage cost and messages, when the node was last passed
  std::vector<Number> message_;  // by end of edge and strategy
  std::vector<Number> least_;    // by node: minimum of total_
  std::vector<std::vector<Segment>> segments_;
  std::vector<Number> capacity_;
  std::vector<double> multipliers_;
  Int128 multiplier_constant_ = 0;  // -sum of multiplier * capacity, scaled, rounded down
  bool forward_ = true;
  int64_t steps_per_pass_ = 0;
  Choice decoded_;
  std::vector<Number> work_, other_work_;
};

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_DUAL_BOUND_H_
