#include "meshwright/hetero/resharding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace meshwright::transformer::hetero {
namespace {

// Of the devices of a stage with `b`, those whose sequences and tokens overlap with a device of
// `a`: the most, by looking at every pair.
int64_t PeersByPairs(const StageDegrees& a, const StageDegrees& b) {
  const auto overlap = [](int64_t i, int64_t of, int64_t j, int64_t other) {
    return i * other < (j + 1) * of && j * of < (i + 1) * other;
  };
  int64_t most = 0;
  for (int64_t replica = 0; replica < a.dp; ++replica) {
    for (int64_t part = 0; part < a.tp; ++part) {
      int64_t peers = 0;
      for (int64_t other = 0; other < b.dp; ++other) {
        for (int64_t piece = 0; piece < b.tp; ++piece) {
          peers += overlap(replica, a.dp, other, b.dp) && overlap(part, a.tp, piece, b.tp) ? 1 : 0;
        }
      }
      most = std::max(most, peers);
    }
  }
  return most;
}

TEST(HeteroResharding, PeersAreThoseWithOverlappingParts) {
  for (int64_t tp = 1; tp <= 6; ++tp) {
    for (int64_t dp = 1; dp <= 6; ++dp) {
      for (int64_t other_tp = 1; other_tp <= 6; ++other_tp) {
        for (int64_t other_dp = 1; other_dp <= 6; ++other_dp) {
          const StageDegrees a = {tp, dp, 1}, b = {other_tp, other_dp, 1};
          ASSERT_EQ(ReshardingPeers(a, b), PeersByPairs(a, b));
        }
      }
    }
  }
}

TEST(HeteroResharding, TheSideWithFewerDevicesSetsTheTime) {
  const Link link = {"link", 100, 1, 1};
  EXPECT_DOUBLE_EQ(ReshardingSeconds(link, {2, 2, 1}, 50, {2, 2, 1}, 50), 1.5);
  // Four devices with 50 bytes each, two with 100: two messages.
  EXPECT_DOUBLE_EQ(ReshardingSeconds(link, {2, 2, 1}, 50, {2, 1, 2}, 100), 3);
  EXPECT_DOUBLE_EQ(ReshardingSeconds(link, {2, 1, 2}, 100, {2, 2, 1}, 50), 3);
}

}  // namespace
}  // namespace meshwright::transformer::hetero
