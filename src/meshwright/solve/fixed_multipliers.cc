#include "meshwright/solve/fixed_multipliers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/container/flat_hash_map.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr int kMultiplierBits =
    kWide ? 20 : 40;  // multipliers are multiples of 2^-this scaled cost units
constexpr int kSumBits = 46;
constexpr Number kMostUsageCost = Number{1} << (kWide ? 90 : 58);

int BitsOf(Int128 x) {
  int bits = 0;
  for (; x > 0; x >>= 1) ++bits;
  return bits;
}

Number LargestFinite(const std::vector<Number>& cost) {
  Number largest = 0;
  for (Number c : cost) {
    if (!IsInf(c)) largest = std::max(largest, Magnitude(c));
  }
  return largest;
}

}  // namespace

FixedMultipliers::FixedMultipliers(const std::vector<double>& multipliers,
                                   const std::vector<Number>& capacity, int scale)
    : before_(capacity.size() + 1, 0) {
  // Fixed point, so that prefix sums are exact and a segment's multiplier is the sum of its rows'.
  const double unit = std::ldexp(1.0, scale + kMultiplierBits);
  Int128 earnings = 0;
  for (size_t r = 0; r < capacity.size(); ++r) {
    // Clamped so that the products below stay within 128 bits; no useful multiplier is near that.
    const auto multiplier = static_cast<Int128>(std::clamp(multipliers[r] * unit, 0.0, 0x1p100));
    const Int128 most = (Int128{1} << 100) / (capacity[r] + 1);
    before_[r + 1] = before_[r] + std::min(multiplier, most);
    earnings += std::min(multiplier, most) * capacity[r];
  }
  constant_ = -((earnings >> kMultiplierBits) + 1);
}

Number FixedMultipliers::Of(const std::vector<Segment>& segments, int32_t s) const {
  constexpr Int128 kMost = Int128{kMostUsageCost} << kMultiplierBits;
  Int128 sum = 0;
  for (const Segment& g : segments) {
    // Usages far beyond a capacity may be priced beyond 128 bits.
    Int128 usage_cost = 0;
    if (__builtin_mul_overflow(before_[g.end] - before_[g.begin], Int128{g.amount[s]}, &usage_cost))
      return kMostUsageCost;
    sum += std::min(usage_cost, kMost);
    if (sum >= kMost) return kMostUsageCost;
  }
  return static_cast<Number>(sum >> kMultiplierBits);
}

int CostScale(const Model& model) {
  Int128 sum = 1;
  for (const ModelNode& node : model.nodes) sum += LargestFinite(node.cost);
  absl::flat_hash_map<const Matrix*, Number> largest;
  for (const ModelEdge& edge : model.edges) {
    const auto [it, fresh] = largest.try_emplace(edge.matrix.get(), 0);
    if (fresh) it->second = LargestFinite(edge.matrix->cost);
    sum += it->second;
  }
  return std::max(0, kSumBits - BitsOf(sum));
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
