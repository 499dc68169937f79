#ifndef MESHWRIGHT_SHARDING_RULE_BUILDER_H_
#define MESHWRIGHT_SHARDING_RULE_BUILDER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {

// Puts the rule of one operator together, a line a factor:
//
//   builder.Parallel({lhs_dim, rhs_dim}, {out_dim});                // a batch dimension of a dot
//   builder.Reduce({lhs_dim, rhs_dim}, Reduction::kSum);            // a contracted one
//
// Lists name one dimension for each operand (result), kNoDim where the factor is not in it; missing
// ones at the end count as kNoDim. A rule only says what *can* be sharded: whatever the factors
// leave of a dimension is kWhole. Dimensions of several factors get them major to minor in the
// order of calls.
//
// Nothing here trusts the operator: a dimension or operand that does not exist, or factors that do
// not divide a dimension's size, make the rule unsupported instead of undefined.
class RuleBuilder {
 public:
  static constexpr int64_t kNoDim = -1;
  using Dims = absl::Span<const int64_t>;

  RuleBuilder(const Graph& graph, const Op& op);

  const Graph& graph() const { return graph_; }
  const Op& op() const { return op_; }
  const Instruction& instruction() const { return *op_.instruction; }
  size_t operand_count() const { return op_.operands.size(); }
  size_t result_count() const { return op_.results.size(); }
  // Shapes; the scalar `invalid[]` if there is no such operand or result (the rule is then
  // unsupported).
  const Shape& operand(size_t i);
  const Shape& result(size_t i);
  // Sizes of dimensions; 1 if there is no such dimension (the rule is then unsupported).
  int64_t OperandSize(size_t i, int64_t dim);
  int64_t ResultSize(size_t i, int64_t dim);
  // What the operator's called computation number `i` combines with; kOther if that is not known.
  Reduction BodyReduction(size_t i) const;

  // A factor that is all of the dimensions named, which must be of one size.
  void Parallel(Dims operand_dims, Dims result_dims, char label = '?');
  // The same for a dimension that is reduced. Nothing (the dimension stays whole) if `reduction` is
  // kOther.
  void Reduce(Dims operand_dims, Reduction reduction, char label = '?');
  // The same with the size stated, for dimensions of several factors. Size 1 makes no factor.
  void Add(FactorKind kind, int64_t size, Dims operand_dims, Dims result_dims,
           Reduction reduction = Reduction::kNone, char label = '?');
  // Results that are unreduced follow from operands that are: `operands` may be unreduced by
  // `reduction` together.
  void Pending(Reduction reduction, absl::Span<const size_t> operands, size_t result);
  // Every dimension of operand `i` goes with the same dimension of result `j`.
  void Same(size_t operand, size_t result);

  // All factors at once, where dimensions list them in orders of their own.
  void State(std::vector<Factor> factors, std::vector<TensorFactors> operands,
             std::vector<TensorFactors> results);

  void Flops(double flops, KernelClass kernel = KernelClass::kLoop) {
    rule_.flops = flops;
    rule_.kernel = kernel;
  }
  void ScaleFlops(double by) { rule_.flops *= by; }
  void Bytes(double bytes) { rule_.bytes = bytes; }
  void Scratch(double bytes) { rule_.scratch = bytes; }
  void Masked(double bytes, int copies) {
    rule_.masked = bytes;
    rule_.masked_copies = copies;
  }
  void Unsupported() { supported_ = false; }

  // The rule, its open dimensions filled with kWhole factors, factors labelled.
  Rule Build() &&;

 private:
  int64_t CommonSize(Dims operand_dims, Dims result_dims);
  void Place(std::vector<TensorFactors>& tensors, Dims dims, FactorIndex factor);
  FactorIndex NewFactor(const Factor& factor);
  FactorIndex WholeFactor(int64_t size);
  bool FillWhole(std::vector<TensorFactors>& tensors, const std::vector<ValueId>& values);
  void MakeAllWhole();
  void Label();

  const Graph& graph_;
  const Op& op_;
  Rule rule_;
  bool supported_ = true;
  std::map<int64_t, FactorIndex> whole_;  // by size
};

// Product of the sizes of `shape` as a double (no overflow); 1 for a scalar.
double ElementCount(const Shape& shape);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_RULE_BUILDER_H_
