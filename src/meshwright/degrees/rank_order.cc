#include "meshwright/degrees/rank_order.h"

#include <algorithm>
#include <array>

namespace meshwright::transformer {
namespace {

// Columns and rows of tp, cp, and then dp and pp in either order.
using Counts = std::array<int64_t, 5>;

Counts InOrder(int64_t tp1, int64_t tp2, int64_t cp, int64_t dp, int64_t pp, RankOrder order) {
  if (order == RankOrder::kPipelineThenData) std::swap(dp, pp);
  return {tp1, tp2, cp, dp, pp};
}

Placement ToPlacement(const Counts& counts, RankOrder order) {
  auto [tp1, tp2, cp, dp, pp] = counts;
  if (order == RankOrder::kPipelineThenData) std::swap(dp, pp);
  return {.tp = tp1 * tp2, .cp = cp, .dp = dp, .pp = pp, .tp2 = tp2};
}

// As much of each as goes into `whole`, of which `degrees` keep what is left over.
std::optional<Counts> Fill(int64_t whole, Counts& degrees) {
  Counts inside = {};
  for (size_t i = 0; i < degrees.size(); ++i) {
    inside[i] = std::min(degrees[i], whole);
    if (degrees[i] % inside[i] != 0 || whole % inside[i] != 0) return std::nullopt;
    degrees[i] /= inside[i];
    whole /= inside[i];
  }
  return inside;
}

// Devices of a placement that has no more of each than `c`; 0 if it has.
int64_t Product(const Placement& in, const Configuration& c) {
  const bool fits = in.tp >= 1 && in.tp <= c.tp && in.tp2 >= 1 && in.tp2 <= in.tp && in.cp >= 1 &&
                    in.cp <= c.cp && in.dp >= 1 && in.dp <= c.dp && in.pp >= 1 && in.pp <= c.pp;
  return fits ? in.tp * in.cp * in.dp * in.pp : 0;
}

}  // namespace

std::optional<NumberedPlacements> NumberedInOrder(const Configuration& c, RankOrder order,
                                                  int64_t node, int64_t unit) {
  Counts degrees = InOrder(c.tp1(), c.tp2, c.cp, c.dp, c.pp, order);
  const std::optional<Counts> inside = Fill(node, degrees);
  if (!inside.has_value()) return std::nullopt;
  NumberedPlacements placements{ToPlacement(*inside, order), {}};
  if (unit == 0) return placements;
  const std::optional<Counts> nodes = Fill(unit, degrees);
  if (!nodes.has_value()) return std::nullopt;
  placements.unit = ToPlacement(*nodes, order);
  return placements;
}

std::optional<RankOrder> RankOrderOf(const Configuration& c) {
  if (c.inside.in_order()) return RankOrder::kDataThenPipeline;
  const int64_t node = Product(c.inside, c), unit = Product(c.unit, c);
  if (node == 0 || (unit == 0 && !c.unit.in_order())) return std::nullopt;
  for (const RankOrder order : {RankOrder::kDataThenPipeline, RankOrder::kPipelineThenData}) {
    const std::optional<NumberedPlacements> numbered = NumberedInOrder(c, order, node, unit);
    if (!numbered.has_value()) continue;
    if (numbered->inside == c.inside && numbered->unit == c.unit) return order;
  }
  return std::nullopt;
}

}  // namespace meshwright::transformer
