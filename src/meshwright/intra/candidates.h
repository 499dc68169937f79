#ifndef MESHWRIGHT_INTRA_CANDIDATES_H_
#define MESHWRIGHT_INTRA_CANDIDATES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/id.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/given_cuts.h"
#include "meshwright/intra/groups.h"
#include "meshwright/intra/planner.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

struct ShardingListTag {};
using ShardingListId = Id<ShardingListTag>;

// Lists of shardings, each stored once: what one operand or result looks like under each strategy.
class ShardingLists {
 public:
  ShardingListId Intern(std::vector<Sharding> list);
  const std::vector<Sharding>& operator[](ShardingListId id) const { return *lists_[id.index()]; }

 private:
  absl::flat_hash_map<std::vector<Sharding>, ShardingListId> ids_;
  std::vector<std::shared_ptr<const std::vector<Sharding>>> lists_;
};

// What operators with equal rules, shapes and memory traffic may do, and what each choice costs one
// device once. Shared by all of them: networks repeat layers.
struct CandidateSet {
  Rule rule;
  std::vector<Strategy> strategies;
  std::vector<ShardingListId> operands;  // by operand of the leader
  std::vector<ShardingListId> results;   // by result; for parameters: what users see
  ShardingListId stored;                 // parameters only: how the argument arrives
  std::vector<double>
      cost;  // by strategy: compute (and a parameter's gathering), cost model's unit
};

// What the operator of `set` needs beside operands and results while it runs, on one device, in
// bytes; `masked`, part of it: one copy of its rows for each group (Rule::masked).
struct Scratch {
  double bytes = 0, masked = 0;
};
Scratch ScratchOf(const CandidateSet& set, size_t strategy, const Mesh& mesh);

// The last operator that multiplies the rows of ragged product `op` by the same groups: their
// copies are made once. `op` itself if there is none, or if another has made them before.
OpId LastWithSameRows(const Graph& graph, OpId op);

// Builds and shares the candidate sets of a graph's operators.
class CandidateSets {
 public:
  CandidateSets(const Graph& graph, const FusionInfo& fusion, const Groups& groups,
                const CostModel& cost_model, StrategySpace space, GivenCuts cuts = {})
      : graph_(graph),
        fusion_(fusion),
        groups_(groups),
        cost_model_(cost_model),
        space_(space),
        cuts_(std::move(cuts)) {}

  // The rule of `op`, with the cuts that are given. Arrays that leave the program are cut evenly:
  // JAX gives and takes no others.
  Rule RuleOf(OpId op) const;

  // For the group led by `leader`. `pending`: its operands may be partial sums, so an add may leave
  // its result a partial sum.
  const CandidateSet* ForGroup(OpId leader, bool pending);
  // For an entry parameter. With `gathered`, each strategy is a pair: how the argument is stored,
  // and a copy with some of its axes gathered that all users share (FSDP's gathered weights), its
  // cost included.
  const CandidateSet* ForParameter(const Shape& shape, bool gathered);
  // For a value by itself: every sharding without partial sums, at no cost.
  const CandidateSet* ForValue(const Shape& shape);

  ShardingLists& lists() { return lists_; }
  const ShardingLists& lists() const { return lists_; }

 private:
  // Whether a product's f32 operands are multiplied as such, not as TF32.
  bool IsExact(const Op& op) const;
  std::string Signature(OpId leader, const Rule& rule, bool pending) const;
  CandidateSet Build(OpId leader, Rule rule, bool pending);
  double ComputeCost(OpId leader, const CandidateSet& set, size_t strategy) const;
  double DeviceShare(double total, const TensorFactors& tensor, ShardingListId list,
                     const CandidateSet& set, size_t strategy) const;
  void AddAlignmentCopies(const Op& op, const CandidateSet& set, size_t s, Work* work) const;
  // What kind of kernel a convolution is computed by: Work::window and what it leaves of m, n, k.
  void SetConvolutionKernel(const Op& op, const Rule& rule, Work* work) const;
  double ExchangeSeconds(const Op& op, const CandidateSet& set, size_t strategy) const;
  double FollowerBytes(OpId leader) const;
  // What a kernel that goes over elements takes for those that it writes, beside what it moves.
  double WrittenBytes(OpId op) const;

  const Graph& graph_;
  const FusionInfo& fusion_;
  const Groups& groups_;
  const CostModel& cost_model_;
  StrategySpace space_;
  GivenCuts cuts_;
  ShardingLists lists_;
  absl::flat_hash_map<std::string, std::unique_ptr<CandidateSet>> sets_;
};

// The rule of a value by itself: every dimension its own parallel factor.
Rule ValueRule(const Shape& shape);

// Sizes of one device's share of a contraction as a batched matmul, from the rule alone:
// batch factors stand in both operands and the result, m in the left and the result, n in the right
// and the result, k in both operands only.
void SetContractionSizes(const Rule& rule, const Strategy& strategy, const Mesh& mesh, Work* work);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_CANDIDATES_H_
