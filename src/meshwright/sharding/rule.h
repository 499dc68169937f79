#ifndef MESHWRIGHT_SHARDING_RULE_H_
#define MESHWRIGHT_SHARDING_RULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/sharding.h"

// The sharding rule of an operator says how its dimensions hang together, as an einsum does: every
// dimension of every operand and result is a list of *factors* (major to minor). A matrix product
// is
// ([m,k],[k,n]) -> [m,n] with k a reduction; reshape [b*s,h] -> [b,s,h] is ([b s, h]) -> [b,s,h].
// A *strategy* gives each mesh axis to at most one factor; operand and result shardings,
// collectives, flops and bytes per device all follow from that and are derived here, never written
// per operator. (The idea is Shardy's OpShardingRule and GSPMD's, Xu et al. 2021, section 3.)

namespace meshwright {

enum class FactorKind : uint8_t {
  kParallel,   // in a result: shards compute without communication
  kReduction,  // in operands only: sharding it leaves the results unreduced (Factor::reduction)
  kPending,  // in no dimension: operands that are unreduced along its axes give results that are (a
             // + b)
  kWhole,    // must not be sharded (spatial windows, sorted dimensions, ...)
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::kParallel;
  Reduction reduction = Reduction::kNone;  // of kReduction and kPending
  char label = '?';                        // for printing: b, m, n, k, ...
  // Where it is sharded, devices exchange pieces inside of the operator (a halo, say): about as
  // much as a permute of the operands that have it.
  bool exchanges = false;
  // Whether shardings spread along it (intra/propagate.h).
  bool spreads = true;
  friend bool operator==(const Factor&, const Factor&) = default;
};

// Position in Rule::factors.
using FactorIndex = int16_t;
inline constexpr FactorIndex kNoFactor = -1;

// One operand's or result's dimensions as factor indices, major to minor. The sizes of a
// dimension's factors multiply to its size; a dimension of size 1 has none.
struct TensorFactors {
  absl::InlinedVector<absl::InlinedVector<FactorIndex, 2>, 5> dims;
  bool pending = false;  // unreduced along the axes of the rule's kPending factor
  bool unreduced =
      true;  // results: a sharded kReduction factor leaves this result unreduced
             // (false: this result is computed without it, e.g. an index passed through)
  friend bool operator==(const TensorFactors&, const TensorFactors&) = default;
};

struct Rule {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands, results;
  double flops = 0;       // of the whole operator, once; multiplications and additions both count
  bool supported = true;  // false: no rule is known; everything is kWhole and the user is warned
  friend bool operator==(const Rule&, const Rule&) = default;

  // "([m,k],[k,n])->[m,n] k:sum", factors of size > 1 with sizes if `sizes`.
  std::string ToString(bool sizes = false) const;
};

// Which factor each mesh axis shards; kNoFactor: none (the axis repeats the work).
using Strategy = absl::InlinedVector<FactorIndex, 6>;  // indexed by AxisIndex

// Sharding of operand/result `i` under `strategy`. nullopt if it cannot be expressed as one:
// a dimension made of several factors can only be cut through its minor factor if all major ones
// are cut completely (one element each), and cuts must divide sizes.
std::optional<Sharding> OperandSharding(const Rule& rule, const Strategy& strategy, size_t i,
                                        const Mesh& mesh);
std::optional<Sharding> ResultSharding(const Rule& rule, const Strategy& strategy, size_t i,
                                       const Mesh& mesh);

// All strategies of `rule` on `mesh` that every operand and result can express, cuts dividing
// factor sizes evenly, axes of size 1 unassigned, in lexicographic order (first: all axes
// unassigned). Never more than kMaxStrategies: where the axes could go to more combinations of
// factors than that (it takes an unusual operator on a mesh of many axes), the smallest factors
// stay whole.
inline constexpr int64_t kMaxStrategies = 512;
std::vector<Strategy> EnumerateStrategies(const Rule& rule, const Mesh& mesh);

// "m=x, k=y": the factors that are sharded and their axes; "replicated" if none.
std::string StrategyText(const Rule& rule, const Strategy& strategy, const Mesh& mesh);

// Number of devices that do different work: product of the sizes of assigned axes (kPending does
// not count).
int64_t ComputeShards(const Rule& rule, const Strategy& strategy, const Mesh& mesh);

// The rule of `op`, from the rule table (rule_table.h). Never fails: an operator without a rule, or
// whose attributes contradict its shapes, gets one with supported == false in which every dimension
// is a kWhole factor (dimensions of equal size share one).
Rule RuleFor(const Graph& graph, const Op& op);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_RULE_H_
