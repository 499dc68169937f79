// Numbering against GPUs and nodes counted one by one.

#include "meshwright/degrees/rank_order.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

namespace meshwright::transformer {
namespace {

// Coordinates of the GPU with a number: columns and rows of tp, cp, dp, pp.
using Coordinates = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;

Coordinates CoordinatesOf(int64_t rank, const Configuration& c, RankOrder order) {
  const auto next = [&](int64_t degree) {
    const int64_t coordinate = rank % degree;
    rank /= degree;
    return coordinate;
  };
  const int64_t column = next(c.tp1()), row = next(c.tp2), cp = next(c.cp);
  if (order == RankOrder::kDataThenPipeline) {
    const int64_t dp = next(c.dp);
    return {column, row, cp, dp, rank};
  }
  const int64_t pp = next(c.pp);
  return {column, row, cp, rank, pp};
}

// How many coordinates along each kind of group the GPUs have, if they are all combinations.
std::optional<Placement> BlockOf(int64_t first, int64_t count, const Configuration& c,
                                 RankOrder order) {
  std::set<int64_t> of[5];
  for (int64_t rank = first; rank < first + count; ++rank) {
    const auto [column, row, cp, dp, pp] = CoordinatesOf(rank, c, order);
    const int64_t coordinates[] = {column, row, cp, dp, pp};
    for (int i = 0; i < 5; ++i) of[i].insert(coordinates[i]);
  }
  const auto size = [&](int i) { return static_cast<int64_t>(of[i].size()); };
  if (size(0) * size(1) * size(2) * size(3) * size(4) != count) return std::nullopt;
  return Placement{size(0) * size(1), size(2), size(3), size(4), size(1)};
}

TEST(RankOrder, IsWhatCountingGpusGives) {
  int placed = 0, cut = 0;
  for (const int64_t gpus : {8, 12, 24}) {
    for (int64_t node : {1, 2, 4, 6}) {
      for (int64_t unit : {0, 2, 3}) {
        if (gpus % (node * std::max<int64_t>(unit, 1)) != 0) continue;
        for (int64_t tp = 1; tp <= gpus; ++tp)
          for (int64_t tp2 = 1; tp2 <= tp; ++tp2)
            for (int64_t cp = 1; cp <= gpus; ++cp)
              for (int64_t pp = 1; pp <= gpus; ++pp) {
                if (gpus % (tp * cp * pp) != 0 || tp % tp2 != 0) continue;
                Configuration c{
                    .tp = tp, .tp2 = tp2, .cp = cp, .dp = gpus / (tp * cp * pp), .pp = pp};
                for (const RankOrder order :
                     {RankOrder::kDataThenPipeline, RankOrder::kPipelineThenData}) {
                  const auto found = NumberedInOrder(c, order, node, unit);
                  bool whole = true;
                  for (int64_t first = 0; first < gpus; first += node)
                    whole = whole && BlockOf(first, node, c, order).has_value();
                  for (int64_t first = 0; unit > 0 && first < gpus; first += node * unit)
                    whole = whole && BlockOf(first, node * unit, c, order).has_value();
                  ASSERT_EQ(found.has_value(), whole);
                  ++(whole ? placed : cut);
                  if (!whole) continue;
                  EXPECT_EQ(found->inside, *BlockOf(0, node, c, order));
                  c.inside = found->inside;
                  c.unit = found->unit;
                  const std::optional<RankOrder> read = RankOrderOf(c);
                  ASSERT_TRUE(read.has_value());
                  // Where both orders come to the same it is the first.
                  if (*read != order) EXPECT_EQ(*read, RankOrder::kDataThenPipeline);
                  if (unit == 0) continue;
                  const Placement all = *BlockOf(0, node * unit, c, order);
                  EXPECT_EQ(c.unit, (Placement{all.tp / c.inside.tp, all.cp / c.inside.cp,
                                               all.dp / c.inside.dp, all.pp / c.inside.pp,
                                               all.tp2 / c.inside.tp2}));
                }
              }
      }
    }
  }
  EXPECT_GT(placed, 500);
  EXPECT_GT(cut, 50);
}

TEST(RankOrder, OtherPlacementsHaveNone) {
  Configuration c{.tp = 4, .dp = 4, .pp = 2};
  EXPECT_EQ(RankOrderOf(c), RankOrder::kDataThenPipeline);
  c.inside = {.tp = 4, .cp = 1, .dp = 2, .pp = 1, .tp2 = 1};
  EXPECT_EQ(RankOrderOf(c), RankOrder::kDataThenPipeline);
  c.inside = {.tp = 4, .cp = 1, .dp = 1, .pp = 2, .tp2 = 1};
  EXPECT_EQ(RankOrderOf(c), RankOrder::kPipelineThenData);
  c.inside = {.tp = 2, .cp = 1, .dp = 4, .pp = 1, .tp2 = 1};
  EXPECT_EQ(RankOrderOf(c), std::nullopt);
}

}  // namespace
}  // namespace meshwright::transformer
