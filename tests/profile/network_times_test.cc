#include "meshwright/profile/network_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

struct Way {
  int32_t segment, entry, exit;
  double seconds;
};

struct Network {
  std::vector<int32_t> sequence;
  std::vector<std::pair<int32_t, int32_t>> layouts;
  std::map<std::pair<int32_t, int32_t>, NetworkTimes::Matrix> moves;
  std::vector<Way> ways;
};

Network RandomNetwork(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int32_t>(random() % n); };
  Network network;
  const int32_t segments = 1 + below(3), length = 1 + below(4);
  for (int32_t s = 0; s < segments; ++s) network.layouts.emplace_back(1 + below(2), 1 + below(2));
  for (int32_t p = 0; p < length; ++p) network.sequence.push_back(below(segments));
  for (int32_t p = 0; p + 1 < length; ++p) {
    const int32_t a = network.sequence[p], b = network.sequence[p + 1];
    NetworkTimes::Matrix& move = network.moves[{a, b}];
    move.assign(network.layouts[a].second, {});
    for (auto& row : move) {
      for (int32_t e = 0; e < network.layouts[b].first; ++e) row.push_back(below(5));
    }
  }
  for (int32_t w = 0; w < 7; ++w) {
    const int32_t s = below(segments);
    network.ways.push_back({s, below(network.layouts[s].first), below(network.layouts[s].second),
                            static_cast<double>(1 + below(9))});
  }
  return network;
}

// Tries every way at every position, `way` at one of them.
double BruteForceTimes(const Network& network, const Way& way) {
  double least = kNone;
  std::vector<Way> chosen;
  const auto extend = [&](auto&& self, double seconds, bool used) -> void {
    const size_t p = chosen.size();
    if (p == network.sequence.size()) {
      if (used) least = std::min(least, seconds);
      return;
    }
    const auto take = [&](const Way& w, bool is_way) {
      if (w.segment != network.sequence[p]) return;
      double more = w.seconds;
      if (p > 0) {
        const Way& last = chosen.back();
        more += network.moves.at({last.segment, w.segment})[last.exit][w.entry];
      }
      chosen.push_back(w);
      self(self, seconds + more, used || is_way);
      chosen.pop_back();
    };
    for (const Way& w : network.ways) take(w, false);
    if (!used) take(way, true);
  };
  extend(extend, 0, false);
  return least;
}

TEST(NetworkTimes, EqualBruteForce) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Network network = RandomNetwork(random);
    NetworkTimes times(network.sequence, network.layouts, network.moves);
    for (const Way& way : network.ways) times.Offer(way.segment, way.entry, way.exit, way.seconds);
    times.Update();
    for (const Way& way : network.ways) {
      ASSERT_EQ(times.With(way.segment, way.entry, way.exit, way.seconds),
                BruteForceTimes(network, way))
          << "network " << i;
    }
  }
}

TEST(NetworkTimes, AreInfiniteWhileASegmentHasNoWay) {
  NetworkTimes times({0, 1}, {{1, 1}, {1, 1}}, {{{0, 1}, {{2.0}}}});
  times.Offer(0, 0, 0, 1);
  times.Update();
  EXPECT_EQ(times.With(0, 0, 0, 1), kNone);
  times.Offer(1, 0, 0, 4);
  times.Update();
  EXPECT_EQ(times.With(0, 0, 0, 1), 7);
}

}  // namespace
}  // namespace meshwright
