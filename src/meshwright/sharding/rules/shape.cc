#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "meshwright/sharding/rule_builders.h"

namespace meshwright::rules {
namespace {

std::vector<int64_t> Ascending(int64_t rank) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Dimensions as they lie in memory, major to minor.
std::vector<int64_t> MajorToMinor(const Shape& shape) {
  if (!shape.has_layout || shape.minor_to_major.size() != shape.dims.size()) {
    return Ascending(shape.rank());
  }
  std::vector<int64_t> order(shape.minor_to_major.rbegin(), shape.minor_to_major.rend());
  std::vector<int64_t> ascending = Ascending(shape.rank());
  return std::is_permutation(order.begin(), order.end(), ascending.begin()) ? order : ascending;
}

// One side of a reshape while it is read from major to minor: the dimension at hand and how much of
// its size no factor has taken yet.
class Side {
 public:
  Side(const Shape& shape, std::vector<int64_t> order) : shape_(shape), order_(std::move(order)) {
    Enter();
  }
  bool done() const { return position_ == order_.size(); }
  int64_t dim() const { return order_[position_]; }
  int64_t rest() const { return rest_; }
  void Take(int64_t factor) {
    rest_ /= factor;
    SkipFinished();
  }
  // Leaves what remains of this dimension whole. Returns its size.
  int64_t Leave() {
    int64_t size = rest_;
    rest_ = 1;
    SkipFinished();
    return size;
  }

 private:
  void Enter() {
    if (!done()) rest_ = shape_.dims[dim()];
    SkipFinished();
  }
  void SkipFinished() {
    while (!done() && rest_ == 1) {
      ++position_;
      if (!done()) rest_ = shape_.dims[dim()];
    }
  }

  const Shape& shape_;
  std::vector<int64_t> order_;
  size_t position_ = 0;
  int64_t rest_ = 1;
};

// Leaves dimensions whole on both sides until they line up again. False if they never do.
bool SkipToCommonBoundary(Side& in, Side& out) {
  double in_product = 1, out_product = 1;
  do {
    if (in_product <= out_product) {
      if (in.done()) return false;
      in_product *= static_cast<double>(in.Leave());
    } else {
      if (out.done()) return false;
      out_product *= static_cast<double>(out.Leave());
    }
  } while (in_product != out_product);
  return true;
}

// Both sides count the same elements in the same order, so the leading digit of one is the leading
// digit of the other as far as their sizes have a common divisor: that is a factor. Where what is
// left of two dimensions has none (6 against 4 after their common 2), nothing below can be cut
// until the two sides reach a common boundary.
void SplitAndMerge(RuleBuilder& builder, std::vector<int64_t> operand_order,
                   std::vector<int64_t> result_order) {
  const Shape& operand = builder.operand(0);
  const Shape& result = builder.result(0);
  constexpr double kExact = 9007199254740992.0;  // 2^53: products below are exact in a double
  double elements = ElementCount(operand);
  if (elements != ElementCount(result) || elements > kExact) return builder.Unsupported();
  if (elements == 0) return;
  Side in(operand, std::move(operand_order)), out(result, std::move(result_order));
  while (!in.done() && !out.done()) {
    int64_t common = std::gcd(in.rest(), out.rest());
    if (common == 1) {
      if (!SkipToCommonBoundary(in, out)) return builder.Unsupported();
      continue;
    }
    builder.Add(FactorKind::kParallel, common, {in.dim()}, {out.dim()});
    in.Take(common);
    out.Take(common);
  }
}

}  // namespace

void Broadcast(RuleBuilder& builder) {
  const std::vector<int64_t>& dims = builder.instruction().dimensions;
  if (static_cast<int64_t>(dims.size()) != builder.operand(0).rank()) return builder.Unsupported();
  for (int64_t d = 0; d < builder.result(0).rank(); ++d) {
    auto found = std::find(dims.begin(), dims.end(), d);
    builder.Parallel({found == dims.end() ? RuleBuilder::kNoDim : found - dims.begin()}, {d});
  }
}

void Transpose(RuleBuilder& builder) {
  const std::vector<int64_t>& dims = builder.instruction().dimensions;
  if (static_cast<int64_t>(dims.size()) != builder.result(0).rank()) return builder.Unsupported();
  for (size_t d = 0; d < dims.size(); ++d) {
    builder.Parallel({dims[d]}, {static_cast<int64_t>(d)});
  }
}

void Reshape(RuleBuilder& builder) {
  SplitAndMerge(builder, Ascending(builder.operand(0).rank()), Ascending(builder.result(0).rank()));
}

// The same bytes under another shape and layout: a reshape of the dimensions as they lie in memory.
// Between element sizes and out of row-major order it stays whole.
void Bitcast(RuleBuilder& builder) {
  const Shape& operand = builder.operand(0);
  const Shape& result = builder.result(0);
  std::vector<int64_t> operand_order = MajorToMinor(operand), result_order = MajorToMinor(result);
  if (ElementBits(operand.type) == ElementBits(result.type)) {
    SplitAndMerge(builder, std::move(operand_order), std::move(result_order));
  } else if (operand_order == Ascending(operand.rank()) &&
             result_order == Ascending(result.rank())) {
    BitcastConvert(builder);
  }
}

// Between element sizes a minor dimension is split off or absorbed; the ones before it correspond.
void BitcastConvert(RuleBuilder& builder) {
  int64_t rank = std::min(builder.operand(0).rank(), builder.result(0).rank());
  for (int64_t d = 0; d < rank; ++d) {
    if (builder.operand(0).dims[d] != builder.result(0).dims[d]) break;
    builder.Parallel({d}, {d});
  }
}

}  // namespace meshwright::rules
