// The search against costing every configuration of its space.

#include "meshwright/degrees/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "meshwright/model/model_reader.h"
#include "tests/degrees/space_samples.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer {
namespace {

// Of pipeline groups and layers, of which there are no more than 8 in a stage.
double RecomputedPart(const Configuration& c) {
  const auto groups = static_cast<double>(c.recompute_stages == 0 ? c.pp : c.recompute_stages);
  const auto layers = static_cast<double>(c.recompute_layers == 0 ? 8 : c.recompute_layers);
  return groups / static_cast<double>(c.pp) * layers / 8;
}

// A cost with random weights that keeps to the contract of CostFunction. Coarse, so that there are
// ties.
CostFunction RandomCost(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> weight(14);
  for (double& w : weight) w = static_cast<double>(random() % 8);
  return [weight](const Configuration& c) {
    const auto share = [](int64_t of, int64_t parts) {
      return static_cast<double>(of) / static_cast<double>(parts);
    };
    StepFigures cost;
    StepTime& time = cost.time;
    time.compute = weight[0] + weight[1] * share(8, c.tp * c.cp * c.dp) +
                   RecomputedPart(c) * static_cast<double>(c.recompute) +
                   0.25 * share(c.ep, c.etp) + 0.25 * static_cast<double>(c.context) +
                   0.25 * share(c.panels, c.tp2);
    time.tensor_communication = weight[2] * static_cast<double>(c.tp - 1) * 0.5;
    time.bubble = weight[3] * share(c.pp - 1, c.virtual_stages * c.micro_batch);
    const int64_t group = c.shard > 0 ? c.shard : c.dp * c.cp;
    const Placement& in = c.inside;
    time.context_communication = 0.25 * weight[7] * share(c.cp - 1, std::max<int64_t>(in.cp, 1)) +
                                 0.25 * weight[8] * share(c.pp, std::max<int64_t>(in.pp, 1));
    time.data_communication = weight[4] * c.zero * 0.5 + (c.zero > 0 ? 0.25 * weight[5] : 0) +
                              0.25 * weight[9] * share(c.dp - 1, std::max<int64_t>(in.dp, 1));
    time.optimizer = weight[6] * share(1, c.zero > 0 ? group : 1);
    // Of layers, of which there are no more than 8 in a stage.
    const double state_away = !c.offload_optimizer     ? 0
                              : c.offload_percent == 0 ? 1
                                                       : share(c.offload_percent, 100);
    const int64_t layers_away = !c.offload_activations  ? 0
                                : c.offload_layers == 0 ? 8
                                                        : std::min<int64_t>(c.offload_layers, 6);
    time.host_communication = 0.5 * weight[10] * share(layers_away, 8);
    time.optimizer += (0.5 + weight[11]) * state_away;
    time.pipeline_communication = 0.25 * weight[12] * share(c.pp, std::max<int64_t>(c.unit.pp, 1)) +
                                  0.25 * weight[13] * share(c.tp, std::max<int64_t>(c.unit.tp, 1));
    time.seconds = time.compute + time.tensor_communication + time.context_communication +
                   time.pipeline_communication + time.host_communication + time.bubble +
                   time.data_communication + time.optimizer;
    for (int64_t stage = 0; stage < c.pp; ++stage) {
      StageMemory memory;
      const int64_t weights = 400 / (c.tp * c.pp);
      memory.weights = weights / (c.zero >= 3 ? group : 1);
      memory.gradients = weights / (c.zero >= 2 ? group : 1);
      const int64_t state = 6 * weights / (c.zero >= 1 ? group : 1);
      memory.host = static_cast<int64_t>(state_away * static_cast<double>(state));
      memory.optimizer = state - memory.host;
      const bool again = c.recompute_stages == 0 || stage < c.recompute_stages;
      const int64_t layers = c.recompute_layers == 0 ? 8 : c.recompute_layers;
      memory.activations = 5 * c.micro_batch * (c.pp - stage) *
                           (32 - (again ? layers * int64_t(c.recompute) : 0)) / (c.tp * c.cp);
      const int64_t activations_away = memory.activations * layers_away / 8;
      memory.host += activations_away;
      memory.activations -= 3 * activations_away / 4;
      memory.framework = 3;
      memory.communication = 5 * c.zero;
      cost.kept_bytes = std::max(cost.kept_bytes, memory.activations + memory.logits);
      cost.peak_bytes = std::max(cost.peak_bytes, memory.total());
      cost.host_bytes = std::max(cost.host_bytes, memory.host);
    }
    return cost;
  };
}

// What no placement and no ZeRO changes.
CostFunctions RandomCosts(uint64_t seed) {
  const CostFunction figures = RandomCost(seed);
  return {figures,
          [figures](const Configuration& c) {
            const StepFigures cost = figures(c);
            return StepBound{cost.time.compute + cost.time.tensor_communication + cost.time.bubble,
                             cost.kept_bytes};
          },
          [figures](const Configuration& c) {
            const StepFigures cost = figures(c);
            return StepBound{cost.time.compute + cost.time.tensor_communication +
                                 cost.time.context_communication + cost.time.bubble,
                             cost.kept_bytes};
          },
          [figures](Configuration c) {
            const int64_t all = figures(c).kept_bytes;
            c.recompute = Recompute::kNone;
            c.recompute_layers = c.recompute_stages = 0;
            const StepTime time = figures(c).time;
            // Of the first group, which keeps most whatever it computes again.
            return StepBound{time.compute + time.tensor_communication + time.bubble, all / 2};
          },
          [figures](Configuration c) {
            c.recompute = Recompute::kNone;
            c.recompute_layers = c.recompute_stages = 0;
            const StepTime time = figures(c).time;
            return time.compute + time.tensor_communication + time.bubble;
          }};
}

struct Costed {
  RankedConfiguration ranked;
  int64_t host_bytes;
};

std::vector<Costed> CostAll(const Space& space, const CostFunction& cost_of) {
  std::vector<Costed> all;
  space.ForEach([&](const Configuration& c) {
    const StepFigures cost = cost_of(c);
    all.push_back({{c, cost.time.seconds, cost.peak_bytes}, cost.host_bytes});
  });
  return all;
}

SearchResult BruteForce(const std::vector<Costed>& all, const SearchOptions& options) {
  SearchResult result;
  result.counts.legal = std::ssize(all);
  std::vector<const RankedConfiguration*> fitting;
  for (const Costed& one : all) {
    if (options.budget_bytes.has_value() && one.ranked.peak_bytes > *options.budget_bytes) continue;
    if (options.host_bytes.has_value() && one.host_bytes > *options.host_bytes) continue;
    if (options.takes && !options.takes(one.ranked.configuration)) continue;
    fitting.push_back(&one.ranked);
  }
  result.counts.fitting = std::ssize(fitting);
  const auto behind = [&](const RankedConfiguration* a, const RankedConfiguration* b) {
    return RanksBefore(options.ranking, *b, *a);
  };
  std::make_heap(fitting.begin(), fitting.end(), behind);
  // The best, one of each that differ in the recompute range and of offloading only.
  while (!fitting.empty() && std::ssize(result.best) < options.top) {
    std::pop_heap(fitting.begin(), fitting.end(), behind);
    const RankedConfiguration& one = *fitting.back();
    fitting.pop_back();
    const bool seen = std::any_of(result.best.begin(), result.best.end(), [&](const auto& other) {
      Configuration same = other.configuration;
      same.recompute_layers = one.configuration.recompute_layers;
      same.recompute_stages = one.configuration.recompute_stages;
      same.offload_percent = one.configuration.offload_percent;
      same.offload_layers = one.configuration.offload_layers;
      return same == one.configuration;
    });
    if (!seen) result.best.push_back(one);
  }
  return result;
}

TEST(Search, FindsWhatBruteForceFinds) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int64_t pruned = 0, evaluated = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Model model = seed % 3 == 0 ? MixedModel(4, 2, 4, 4) : DenseModel(8, 4, 6);
    Workload workload{.sequence = 32, .global_batch = int64_t{8} << random() % 3};
    int64_t gpus = int64_t{4} << random() % 3;
    int64_t node = gpus >> random() % 3, unit = 0;
    Fixes fixes;
    fixes.offload_percent = fixes.offload_layers = 0;
    if (seed % 5 == 1) {
      // Offloading in part, in a small space.
      model = DenseModel(2, 2, 6);
      workload = {.sequence = 16, .global_batch = 4};
      gpus = 4;
      node = 4;
      fixes = *ParseFixes({"tensor=1d,cp=1,ends=off,recompute_stages=0"});
    } else if (seed % 5 == 2) {
      node = gpus >= 8 ? 2 : 1;
      unit = 2;
      fixes.ends_as_layers = false;
      fixes.offload_activations = false;
    }
    const Space space(model, workload, gpus, fixes, Precision::kBf16, node, unit);
    SearchOptions options;
    options.top = 1 + static_cast<int64_t>(random() % 20);
    options.ranking = random() % 2 == 0 ? Ranking::kTime : Ranking::kMemory;
    if (random() % 3 != 0) options.budget_bytes = 60 + static_cast<int64_t>(random() % 800);
    if (random() % 2 != 0) options.host_bytes = static_cast<int64_t>(random() % 800);
    // Such as a launch that cannot offload everything.
    if (random() % 3 == 0) {
      options.takes = [](const Configuration& c) {
        return !c.offload_activations || c.offload_layers > 1;
      };
    }
    const CostFunctions costs = RandomCosts(seed);
    const SearchResult wanted = BruteForce(CostAll(space, costs.figures), options);
    SearchResult found[2];
    for (const int threads : {1, 3}) {
      options.threads = threads;
      found[threads / 2] = Search(
          space, [&] { return costs; }, options);
    }
    for (const SearchResult& result : found) {
      ASSERT_EQ(result.best.size(), wanted.best.size());
      for (size_t i = 0; i < wanted.best.size(); ++i) {
        EXPECT_EQ(result.best[i].configuration, wanted.best[i].configuration) << i;
        EXPECT_EQ(result.best[i].seconds, wanted.best[i].seconds) << i;
      }
      EXPECT_EQ(result.counts, found[0].counts);
      EXPECT_EQ(result.counts.legal, wanted.counts.legal);
      EXPECT_EQ(result.counts.legal, result.counts.evaluated + result.counts.pruned);
    }
    pruned += found[0].counts.pruned;
    evaluated += found[0].counts.evaluated;
  }
  EXPECT_GT(pruned, evaluated / 10);
}

// Wherever it is stopped: nothing better than the bound is missing, and what is called complete is.
TEST(Search, StoppedSaysWhatMayBeMissing) {
  int64_t complete = 0, bounded = 0, empty = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Model model = seed % 2 == 0 ? MixedModel(4, 2, 4, 4) : DenseModel(8, 4, 6);
    const Workload workload{.sequence = 32, .global_batch = 8};
    Fixes fixes;
    fixes.offload_percent = fixes.offload_layers = 0;
    const Space space(model, workload, 8, fixes, Precision::kBf16, 4);
    const CostFunctions costs = RandomCosts(seed);
    const std::vector<Costed> all = CostAll(space, costs.figures);
    for (const Ranking ranking : {Ranking::kTime, Ranking::kMemory}) {
      SearchOptions options{
          .top = 3, .ranking = ranking, .budget_bytes = 400, .host_bytes = 400, .threads = 1};
      const SearchResult wanted = BruteForce(all, options);
      ASSERT_FALSE(wanted.best.empty());
      for (int64_t most = 0; most < 1000000; most = most * 3 + 1) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", stopped after " << most);
        int64_t asked = 0;
        options.stop = [&] { return asked++ >= most; };
        const SearchResult found = Search(
            space, [&] { return costs; }, options);
        if (found.complete) {
          ++complete;
          ASSERT_EQ(found.best.size(), wanted.best.size());
          for (size_t i = 0; i < wanted.best.size(); ++i) {
            EXPECT_EQ(found.best[i].configuration, wanted.best[i].configuration) << i;
          }
          EXPECT_EQ(found.counts.legal, wanted.counts.legal);
          EXPECT_EQ(found.counts.legal, found.counts.evaluated + found.counts.pruned);
          continue;
        }
        EXPECT_LE(found.counts.legal, wanted.counts.legal);
        EXPECT_LE(found.counts.evaluated + found.counts.pruned, found.counts.legal);
        empty += found.best.empty() ? 1 : 0;
        for (const RankedConfiguration& one : wanted.best) {
          const bool is_found = std::any_of(
              found.best.begin(), found.best.end(),
              [&](const auto& other) { return other.configuration == one.configuration; });
          if (is_found) continue;
          if (ranking == Ranking::kTime) {
            EXPECT_GE(one.seconds, found.unsearched.seconds);
          } else {
            EXPECT_GE(one.peak_bytes, found.unsearched.bytes);
          }
        }
        if (found.best.empty()) continue;
        EXPECT_FALSE(RanksBefore(ranking, found.best[0], wanted.best[0]));
        bounded +=
            ranking == Ranking::kTime ? found.unsearched.seconds > 0 : found.unsearched.bytes > 0;
      }
    }
  }
  EXPECT_GT(complete, 20);
  EXPECT_GT(bounded, 20);
  EXPECT_GT(empty, 10);
}

struct SearchSample {
  const char* model;
  const char* cluster;
  Workload workload;
  const char* fixes = "offload_percent=0,offload_layers=0";
  Fabric fabric = {};
  bool adding = false;  // switches, inside nodes and between them
  Fixes Fixed() const { return *ParseFixes({fixes}); }
  Cluster OnItsFabric() const {
    Cluster all = *ParseCluster(cluster);
    all.fabric = fabric;
    all.intra_node.in_network_reduction = all.inter_node.in_network_reduction = adding;
    return all;
  }
};
// Small spaces; in some of them little fits.
constexpr SearchSample kSearchSamples[] = {
    {"gpt3-1.3b", "2x4xh100-sxm", {2048, 4}},
    {"llama2-70b", "2x4xa100-80g", {4096, 2}},
    {"mixtral-8x7b", "2x4xh100-sxm", {4096, 4}},
    {"deepseek-v3", "8x4xb200", {4096, 1}},
    {"gpt-oss-20b", "2x6xb200", {2048, 3}},
    {"t5-3b", "2x4xa100-40g", {512, 2}},
    {"gpt3-1.3b", "4x2xh100-sxm", {2048, 2}, "offload_percent=0,offload_layers=0", {2, true, 4}},
    {"mixtral-8x7b",
     "8x2xh100-sxm",
     {4096, 4},
     "cp=1,tp=2,ends=off,recompute_stages=0,offload_optimizer=off,offload_activations=off",
     {4, false, 8}},
    {"llama3-70b",
     "8xh100-sxm",
     {1024, 8},
     "tp=4,pp=2,mbs=1,ends=off,recompute_layers=0,recompute_stages=0"},
    {"gpt3-1.3b",
     "2x4xh100-sxm",
     {2048, 4},
     "offload_optimizer=off,offload_activations=off",
     {},
     true},
    {"gpt3-1.3b",
     "4x4xh100-sxm",
     {2048, 4},
     "cp=1,tensor=1d,ends=off,recompute_stages=0,offload_optimizer=off,offload_activations=off",
     {2, true, 4},
     true},
};

TEST(Search, FindsWhatBruteForceFindsByTheCalibratedModel) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int64_t pruned = 0, ties = 0;
  for (const SearchSample& sample : kSearchSamples) {
    const Model model = *LoadModel(sample.model);
    const Cluster cluster = sample.OnItsFabric();
    const Space space(model, sample.workload, cluster.devices(), sample.Fixed(), Precision::kBf16,
                      cluster.devices_per_node, cluster.fabric.unit_nodes);
    const auto make_costs = [&] { return CalibratedCosts(model, sample.workload, cluster); };
    const std::vector<Costed> all = CostAll(space, make_costs().figures);
    for (const Ranking ranking : {Ranking::kTime, Ranking::kMemory}) {
      for (const double part : {1.0, 0.5, 0.25}) {
        const auto budget =
            static_cast<int64_t>(part * static_cast<double>(cluster.device.memory_bytes));
        SCOPED_TRACE(testing::Message() << sample.model << " within " << budget << " bytes, by "
                                        << (ranking == Ranking::kTime ? "time" : "memory"));
        const SearchOptions options{.top = part == 1.0 ? 40 : 7,
                                    .ranking = ranking,
                                    .budget_bytes = budget,
                                    .host_bytes = budget / 2,
                                    .threads = 2};
        const SearchResult wanted = BruteForce(all, options);
        const SearchResult found = Search(space, make_costs, options);
        EXPECT_EQ(found.counts.legal, wanted.counts.legal);
        ASSERT_EQ(found.best.size(), wanted.best.size());
        for (size_t i = 0; i < wanted.best.size(); ++i) {
          const RankedConfiguration& one = wanted.best[i];
          EXPECT_EQ(found.best[i].configuration, one.configuration)
              << i << ": " << ConfigurationText(found.best[i].configuration) << ", not "
              << ConfigurationText(one.configuration);
          EXPECT_EQ(found.best[i].seconds, one.seconds) << i;
          EXPECT_EQ(found.best[i].peak_bytes, one.peak_bytes) << i;
          if (i == 0) continue;
          const RankedConfiguration& before = wanted.best[i - 1];
          ties += ranking == Ranking::kTime ? before.seconds == one.seconds
                                            : before.peak_bytes == one.peak_bytes;
        }
        pruned += found.counts.pruned;
      }
    }
  }
  EXPECT_GT(pruned, 1000);
  EXPECT_GT(ties, 0);
}

// Where nothing goes to the host, which runs beside communication too.
TEST(Search, SwitchesThatAddMakeNothingSlower) {
  int64_t faster = 0;
  for (SearchSample sample : kSearchSamples) {
    if (!sample.adding) continue;
    const Model model = *LoadModel(sample.model);
    const Cluster adding = sample.OnItsFabric();
    sample.adding = false;
    const Cluster without = sample.OnItsFabric();
    const Space space(model, sample.workload, adding.devices(), sample.Fixed(), Precision::kBf16,
                      adding.devices_per_node, adding.fabric.unit_nodes);
    StepCoster after(model, sample.workload, adding), before(model, sample.workload, without);
    space.ForEach([&](const Configuration& c) {
      const double seconds = after.Figures(c).time.seconds;
      const double most = before.Figures(c).time.seconds;
      ASSERT_LE(seconds, most * (1 + 1e-12)) << ConfigurationText(c);
      faster += seconds < 0.99 * most ? 1 : 0;
    });
  }
  EXPECT_GT(faster, 100);
}

// Placements that make one kind of communication fast make another slow: the best of each together
// is a bound, and mostly none reaches it.
TEST(Search, BoundsAreBelowEveryPlacementAndSharding) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const SearchSample& sample : kSearchSamples) {
    const Model model = *LoadModel(sample.model);
    const Cluster cluster = sample.OnItsFabric();
    const Space space(model, sample.workload, cluster.devices(), sample.Fixed(), Precision::kBf16,
                      cluster.devices_per_node, cluster.fabric.unit_nodes);
    StepCoster coster(model, sample.workload, cluster);
    double closest = std::numeric_limits<double>::infinity();
    space.ForEach([&](const Configuration& c) {
      if (c.micro_batch > 2) return;
      const StepBound least = coster.Least(c);
      const StepFigures figures = coster.Figures(c);
      Configuration all = c;
      all.offload_percent = all.offload_layers = 0;
      const StepBound of_extents = coster.LeastOfRanges(all);
      ASSERT_EQ(coster.Least(all).bytes, least.bytes);
      ASSERT_LE(coster.LeastSecondsOfFamily(c), of_extents.seconds) << ConfigurationText(c);
      if (!c.unit.in_order()) {
        const StepBound of_units = coster.LeastOfUnits(all);
        ASSERT_LE(least.seconds * (1 - 1e-9), of_units.seconds) << ConfigurationText(c);
        ASSERT_LE(of_units.seconds * (1 - 1e-9), figures.time.seconds) << ConfigurationText(c);
      }
      ASSERT_LE(of_extents.seconds * (1 - 1e-9), figures.time.seconds) << ConfigurationText(c);
      ASSERT_LE(of_extents.bytes, figures.peak_bytes) << ConfigurationText(c);
      ASSERT_LE(least.seconds * (1 - 1e-9), figures.time.seconds) << ConfigurationText(c);
      ASSERT_LE(least.bytes, figures.peak_bytes) << ConfigurationText(c);
      closest = std::min(closest, figures.time.seconds / least.seconds);
    });
    EXPECT_LT(closest, 1.5) << sample.model;
  }
}

}  // namespace
}  // namespace meshwright::transformer
