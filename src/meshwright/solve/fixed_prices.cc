#include "meshwright/solve/fixed_prices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/container/flat_hash_map.h"

namespace meshwright::solve {
namespace {

constexpr int kPriceBits = 40;  // prices are multiples of 2^-40 scaled cost units
constexpr int kSumBits = 46;

int BitsOf(Int128 x) {
  int bits = 0;
  for (; x > 0; x >>= 1) ++bits;
  return bits;
}

int64_t LargestFinite(const std::vector<int64_t>& cost) {
  int64_t largest = 0;
  for (int64_t c : cost) {
    if (!IsInf(c)) largest = std::max(largest, std::abs(c));
  }
  return largest;
}

}  // namespace

FixedPrices::FixedPrices(const std::vector<double>& prices, const std::vector<int64_t>& capacity,
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

int64_t FixedPrices::Of(const std::vector<Segment>& segments, int32_t s) const {
  Int128 sum = 0;
  for (const Segment& g : segments) sum += (before_[g.end] - before_[g.begin]) * g.amount[s];
  return static_cast<int64_t>(std::min<Int128>(sum >> kPriceBits, int64_t{1} << 58));
}

int CostScale(const Model& model) {
  Int128 sum = 1;
  for (const ModelNode& node : model.nodes) sum += LargestFinite(node.cost);
  absl::flat_hash_map<const Matrix*, int64_t> largest;
  for (const ModelEdge& edge : model.edges) {
    const auto [it, fresh] = largest.try_emplace(edge.matrix.get(), 0);
    if (fresh) it->second = LargestFinite(edge.matrix->cost);
    sum += it->second;
  }
  return std::max(0, kSumBits - BitsOf(sum));
}

}  // namespace meshwright::solve
