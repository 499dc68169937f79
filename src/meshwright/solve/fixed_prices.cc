#include "meshwright/solve/fixed_prices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/container/flat_hash_map.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr int kPriceBits = kWide ? 20 : 40;  // prices are multiples of 2^-this scaled cost units
constexpr int kSumBits = 46;
constexpr Number kMostPrice = Number{1} << (kWide ? 90 : 58);

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

FixedPrices::FixedPrices(const std::vector<double>& prices, const std::vector<Number>& capacity,
                         int scale)
    : before_(capacity.size() + 1, 0) {
  // Fixed point, so that prefix sums are exact and a segment's price is the sum of its rows'
  // prices.
  const double unit = std::ldexp(1.0, scale + kPriceBits);
  Int128 earnings = 0;
  for (size_t r = 0; r < capacity.size(); ++r) {
    // Clamped so that the products below stay within 128 bits; no useful price is near that.
    const auto price = static_cast<Int128>(std::clamp(prices[r] * unit, 0.0, 0x1p100));
    const Int128 most = (Int128{1} << 100) / (capacity[r] + 1);
    before_[r + 1] = before_[r] + std::min(price, most);
    earnings += std::min(price, most) * capacity[r];
  }
  constant_ = -((earnings >> kPriceBits) + 1);
}

Number FixedPrices::Of(const std::vector<Segment>& segments, int32_t s) const {
  constexpr Int128 kMost = Int128{kMostPrice} << kPriceBits;
  Int128 sum = 0;
  for (const Segment& g : segments) {
    // Usages far beyond a capacity may be priced beyond 128 bits.
    Int128 price = 0;
    if (__builtin_mul_overflow(before_[g.end] - before_[g.begin], Int128{g.amount[s]}, &price))
      return kMostPrice;
    sum += std::min(price, kMost);
    if (sum >= kMost) return kMostPrice;
  }
  return static_cast<Number>(sum >> kPriceBits);
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
