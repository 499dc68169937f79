// The bound on pipelines of pools, of which most numbers of stages are left out, against its
// formula for each of them.

#include "meshwright/hetero/family_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace meshwright::transformer::hetero {
namespace {

// Layers are dealt out to the fastest pools first, as many in t seconds as their speed allows.
double WorkOf(const std::vector<StagePool>& pools, double layers, double t) {
  double work = 0;
  for (const StagePool& pool : pools) {
    const double here = std::min(layers, pool.speed * t);
    work += here * pool.layer_seconds;
    layers -= here;
  }
  return work + layers * pools.back().layer_seconds;
}

double PlainPooledSeconds(const std::vector<StagePool>& pools, const Pipelines& pipelines,
                          double share) {
  const double layers = static_cast<double>(pipelines.layers);
  const double micro_batches = static_cast<double>(pipelines.micro_batches);
  double speed = 0;
  for (const StagePool& pool : pools) speed += pool.speed;
  const auto factor = [&](int64_t stages) {
    return micro_batches - 1 -
           share * static_cast<double>(std::min(pipelines.micro_batches - 1, stages));
  };
  double least = std::numeric_limits<double>::infinity();
  int64_t last = 0, first = 0;
  for (int64_t stages = 1; stages <= pipelines.most_stages; ++stages) {
    if (stages > last) {
      first = stages;
      last = std::min(2 * stages, pipelines.most_stages);
    }
    const auto slowest = [&](int64_t count) {
      const double p = static_cast<double>(count);
      if (count >= pipelines.micro_batches) return layers / speed;
      const double with = std::clamp(speed * pools[0].layer_seconds, 1.0, p);
      return layers / speed * 2 /
             (1 + (micro_batches - 1 - share * (p - 1)) / (micro_batches - 1 - share * (p - with)));
    };
    const double with_c = factor(last), from = slowest(first);
    double with_work = with_c * from + WorkOf(pools, layers, from), rate = 0;
    for (const StagePool& pool : pools) {
      rate += pool.speed;
      const double corner = layers / rate;
      if (corner > from) {
        with_work = std::min(with_work, with_c * corner + WorkOf(pools, layers, corner));
      }
    }
    const double p = static_cast<double>(stages), c = factor(stages), others = layers - p;
    const double least_x = p + speed * slowest(stages) - layers;
    double balanced = p * p / speed;
    if (c > 0) {
      const double x = std::max(least_x, p * std::sqrt(others / c));
      balanced = (p * p + p * p * others / x + c * x + c * others) / speed;
    }
    least = std::min(least, std::max(balanced, with_work));
  }
  return std::max(least, micro_batches * layers / speed);
}

TEST(PooledBound, IsTheLeastOfAllNumbersOfStages) {
  std::mt19937_64 random(7);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    Pipelines pipelines;
    pipelines.layers = 1 + static_cast<int64_t>(random() % 120);
    pipelines.micro_batches = int64_t{1} << random() % 12;
    pipelines.most_stages = 1 + static_cast<int64_t>(random() % pipelines.layers);
    const double share = between(0.2, 0.5);
    const PooledBound bound(pipelines, share);
    for (int j = 0; j < 3; ++j) {
      std::vector<StagePool> pools(1 + random() % 8);
      for (StagePool& pool : pools) {
        pool.layer_seconds = between(0.001, 0.05);
        pool.speed = static_cast<double>(1 + random() % 100) / pool.layer_seconds;
      }
      std::sort(pools.begin(), pools.end(), [](const StagePool& a, const StagePool& b) {
        return a.layer_seconds < b.layer_seconds;
      });
      const double wanted = PlainPooledSeconds(pools, pipelines, share);
      ASSERT_NEAR(bound.LeastSeconds(pools) / wanted, 1, 1e-13);
    }
  }
}

}  // namespace
}  // namespace meshwright::transformer::hetero
