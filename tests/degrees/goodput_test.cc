#include "meshwright/degrees/goodput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace meshwright::transformer {
namespace {

// Share of the time for intervals of any length.
double ShareAt(const Failures& f, double interval) {
  return interval / (f.mtbf_seconds * std::exp(f.restart_seconds / f.mtbf_seconds) *
                     std::expm1((interval + f.checkpoint_seconds) / f.mtbf_seconds));
}

TEST(Goodput, IntervalIsTheBestThereIs) {
  for (const Failures& f :
       {Failures{3600, 10, 60}, {3600, 120, 600}, {1e6, 30, 0}, {600, 60, 60}}) {
    const Goodput found = GoodputOf(f);
    double best = 0;
    for (double interval = 1; interval < 20 * f.mtbf_seconds; interval *= 1.001) {
      best = std::max(best, ShareAt(f, interval));
    }
    EXPECT_NEAR(found.share, best, 1e-4);
    EXPECT_LE(found.share, best * (1 + 1e-6));
    // Young's is within a few percent where checkpoints are short.
    if (f.checkpoint_seconds > f.mtbf_seconds / 100) continue;
    const double young = std::sqrt(2 * f.checkpoint_seconds * f.mtbf_seconds);
    EXPECT_NEAR(found.interval_seconds, young, 0.05 * young);
  }
}

TEST(Goodput, NothingIsLostWithoutCheckpointsOrRestarts) {
  EXPECT_EQ(GoodputOf({1000, 0, 0}).share, 1);
  EXPECT_EQ(GoodputOf({1000, 0, 0}).interval_seconds, 0);
  EXPECT_DOUBLE_EQ(GoodputOf({1000, 0, 500}).share, std::exp(-0.5));
}

// A job that fails at random, by the event.
TEST(Goodput, IsWhatSimulatedJobsReach) {
  std::mt19937_64 random(5);
  const Failures f{1000, 40, 100};
  const Goodput found = GoodputOf(f);
  std::exponential_distribution<double> until_failure(1 / f.mtbf_seconds);
  double clock = 0, done = 0, left = until_failure(random);
  const auto survives = [&](double seconds) {
    if (seconds <= left) {
      clock += seconds;
      left -= seconds;
      return true;
    }
    clock += left;
    left = until_failure(random);
    return false;
  };
  for (int i = 0; i < 200000; ++i) {
    if (survives(found.interval_seconds + f.checkpoint_seconds)) {
      done += found.interval_seconds;
    } else {
      while (!survives(f.restart_seconds)) {
      }
    }
  }
  EXPECT_NEAR(found.share, done / clock, 0.005);
}

}  // namespace
}  // namespace meshwright::transformer
