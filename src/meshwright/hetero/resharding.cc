#include "meshwright/hetero/resharding.h"

#include <algorithm>

namespace meshwright::transformer::hetero {
namespace {

// The most of `to` equal parts of a range that one of `from` equal parts has a piece of.
int64_t MostOverlaps(int64_t from, int64_t to) {
  if (to % from == 0) return to / from;
  if (from % to == 0) return 1;
  int64_t most = 0;
  for (int64_t i = 0; i < from; ++i) {
    most = std::max(most, ((i + 1) * to + from - 1) / from - i * to / from);
  }
  return most;
}

}  // namespace

int64_t ReshardingPeers(const StageDegrees& a, const StageDegrees& b) {
  return MostOverlaps(a.dp, b.dp) * MostOverlaps(a.tp, b.tp);
}

double ReshardingSeconds(const Link& link, const StageDegrees& a, double bytes,
                         const StageDegrees& b, double other_bytes) {
  const int64_t messages = std::max(ReshardingPeers(a, b), ReshardingPeers(b, a));
  return static_cast<double>(messages) * link.latency_seconds +
         std::max(bytes, other_bytes) / link.achievable();
}

}  // namespace meshwright::transformer::hetero
