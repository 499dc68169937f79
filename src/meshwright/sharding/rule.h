#ifndef MESHWRIGHT_SHARDING_RULE_H_
#define MESHWRIGHT_SHARDING_RULE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/sharding.h"

// The sharding rule of an operator says how its dimensions hang together, as an einsum does: every
// dimension of every operand and result is a list of *factors* (major to minor). A matmul
// is
// ([m,k],[k,n]) -> [m,n] with k a reduction; reshape [b*s,h] -> [b,s,h] is ([b s, h]) -> [b,s,h].
// A *strategy* gives each mesh axis to at most one factor; operand and result shardings,
// collectives, flops and bytes per device all follow from that and are derived here, never written
// per operator. (The idea is Shardy's OpShardingRule and GSPMD's, Xu et al. 2021, section 3.)

namespace meshwright {

enum class FactorKind : uint8_t {
  kParallel,   // in a result: shards compute without communication
  kReduction,  // in operands, and shards the results that have it: the others are left unreduced
               // (Factor::reduction)
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
  // May be cut into pieces that do not divide it: all but the last are of one size, which the last
  // ones, short or empty, are padded to. Only of factors that are whole dimensions (AllowUneven).
  bool uneven = false;
  // Stands behind the other factors of its dimensions for all of them together: it is cut, or they
  // are. Heads of attention, say, where devices divide neither the groups that share keys and
  // values nor the heads of a group: each device takes heads of its own, and of tensors that have
  // groups alone, which stay whole, those that its heads belong to.
  bool joint = false;
  friend bool operator==(const Factor&, const Factor&) = default;
};

// Position in Rule::factors.
using FactorIndex = int16_t;
inline constexpr FactorIndex kNoFactor = -1;

// One operand's or result's dimensions as factor indices, major to minor. The sizes of a
// dimension's factors (but Factor::joint) multiply to its size; a dimension of size 1 has none.
struct TensorFactors {
  absl::InlinedVector<absl::InlinedVector<FactorIndex, 2>, 5> dims;
  bool pending = false;  // unreduced along the axes of the rule's kPending factor
  bool unreduced =
      true;  // results: a sharded kReduction factor that is in none of its dimensions leaves this
             // result unreduced (false: it is computed without it, e.g. an index passed through)
  friend bool operator==(const TensorFactors&, const TensorFactors&) = default;
};

// By which curve the operations of a kernel become seconds (cost/kernel_rates.h). The last three
// are matrix products to their cost model: m is what the first operand and the first result have, n
// the second (or a later one) and the first result, k what operands have only.
enum class KernelClass : uint8_t {
  kLoop,               // elementwise and the like, on plain units
  kAtomic,             // combined into what lies in memory, one atomic operation each: scatters
  kSort,               // keys sorted, with values or without
  kTopK,               // keys of which few are kept, the largest
  kScan,               // elements of cumulative sums and the like
  kMatmul,             // a GEMM, or a convolution by one
  kAttention,          // softmax(q k') v without the scores in memory: forward
  kAttentionBackward,  // its gradients
};
inline constexpr KernelClass kKernelClasses[] = {
    KernelClass::kLoop,      KernelClass::kAtomic,
    KernelClass::kSort,      KernelClass::kTopK,
    KernelClass::kScan,      KernelClass::kMatmul,
    KernelClass::kAttention, KernelClass::kAttentionBackward};
constexpr bool IsProduct(KernelClass kernel) {
  return kernel == KernelClass::kMatmul || kernel == KernelClass::kAttention ||
         kernel == KernelClass::kAttentionBackward;
}
// "loop", "atomic", "sort", "top_k", "scan", "matmul", "attention", "attention_backward".
std::string_view KernelClassName(KernelClass kernel);

struct Rule {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands, results;
  double flops = 0;  // of the whole operator, once; multiplications and additions both count
  KernelClass kernel = KernelClass::kLoop;  // of calls; contractions are told by their opcode
  // Read and written by the whole operator, once; negative: what its operands and results hold.
  double bytes = -1;
  // Memory that the whole operator needs while it runs, beside operands and results, in bytes.
  double scratch = 0;
  // Bytes of one copy of operand 0 for each of its groups (factor 'g'), with rows of the others
  // zero, and how many copies of it are made where a device has no kernels for products of groups.
  double masked = 0;
  int masked_copies = 0;
  bool supported = true;  // false: no rule is known; everything is kWhole and the user is warned
  friend bool operator==(const Rule&, const Rule&) = default;

  // "([m,k],[k,n])->[m,n] k:sum", factors of size > 1 with sizes if `sizes`.
  std::string ToString(bool sizes = false) const;
};

// Which factor each mesh axis shards; kNoFactor: none (the axis repeats the work). A factor that
// several axes shard is cut by them in the order of the mesh, major to minor, unless the strategy
// has another order.
class Strategy {
 public:
  Strategy() = default;
  Strategy(size_t axes, FactorIndex factor) : factors_(axes, factor) {}
  Strategy(std::initializer_list<FactorIndex> factors) : factors_(factors) {}
  explicit Strategy(absl::Span<const FactorIndex> factors)
      : factors_(factors.begin(), factors.end()) {}

  // By AxisIndex.
  size_t size() const { return factors_.size(); }
  FactorIndex operator[](size_t axis) const { return factors_[axis]; }
  FactorIndex& operator[](size_t axis) { return factors_[axis]; }
  auto begin() const { return factors_.begin(); }
  auto end() const { return factors_.end(); }
  void push_back(FactorIndex factor) { factors_.push_back(factor); }

  // The axes of factors that several axes shard in another order than the mesh's: each factor's
  // together, major to minor, in the order of the factors.
  const AxisList& order() const { return order_; }
  void set_order(AxisList order) { order_ = std::move(order); }

  friend bool operator==(const Strategy&, const Strategy&) = default;

 private:
  absl::InlinedVector<FactorIndex, 6> factors_;
  AxisList order_;
};

// Whether a dimension of `tensor` has `factor`.
bool HasFactor(const TensorFactors& tensor, FactorIndex factor);

// The axes that `strategy` gives to `factor`, major to minor, without those of size 1.
AxisList AxesOf(FactorIndex factor, const Strategy& strategy, const Mesh& mesh);

// `strategy` with every factor of `tensor` that several axes shard cut in the order in which
// `sharding`, of an array with these factors, has its axes; a factor of which it does not have all
// axes in one dimension keeps its order.
Strategy OrderedAs(const Rule& rule, const TensorFactors& tensor, const Sharding& sharding,
                   Strategy strategy, const Mesh& mesh);

// Lets factors of the sizes that `allowed` names be cut unevenly (Factor::uneven), where they are
// whole dimensions of all their tensors and devices exchange nothing along them.
void AllowUneven(absl::FunctionRef<bool(int64_t size)> allowed, Rule* rule);

// How many elements the devices hold along the factors of `tensor` for each that there is: more
// than 1 where uneven cuts are padded. `tensor`: nullptr for all factors that are work.
double Padding(const Rule& rule, const Strategy& strategy, const TensorFactors* tensor,
               const Mesh& mesh);

// Sharding of operand/result `i` under `strategy`. nullopt if it cannot be expressed as one:
// a dimension made of several factors can only be cut through its minor factor if all major ones
// are cut completely (one element each), and cuts must divide sizes (but Factor::uneven).
std::optional<Sharding> OperandSharding(const Rule& rule, const Strategy& strategy, size_t i,
                                        const Mesh& mesh);
std::optional<Sharding> ResultSharding(const Rule& rule, const Strategy& strategy, size_t i,
                                       const Mesh& mesh);

// All strategies of `rule` on `mesh` that every operand and result can express, cuts dividing
// factor sizes evenly (but Factor::uneven), axes of size 1 unassigned, in lexicographic order
// (first: all axes unassigned). Never more than kMaxStrategies: where the axes could go to more
// combinations of factors than that (it takes an unusual operator on a mesh of many axes), the
// smallest factors stay whole.
//
// Factors that several axes shard are cut in the order of the mesh, and behind all those in each of
// `orders`: its axes first, in its order, then others.
inline constexpr int64_t kMaxStrategies = 512;
std::vector<Strategy> EnumerateStrategies(const Rule& rule, const Mesh& mesh,
                                          absl::Span<const AxisList> orders = {});

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
