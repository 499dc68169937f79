// The space against loops over all numbers with the rules of Megatron-LM as they are stated.

#include "meshwright/degrees/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "meshwright/degrees/layer_partition.h"
#include "meshwright/degrees/search.h"
#include "meshwright/degrees/step_cost.h"
#include "tests/degrees/space_samples.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  Model model;
  Workload workload;
  int64_t gpus;
  int64_t experts = 0;
  int64_t node = kMaxDevices;  // GPUs of a node
  int64_t unit = 0;            // nodes of a unit of the fabric
  bool offloads = false;       // in whole and in part
};

// Of what is offloaded there are many amounts, so that most cases leave it out.
Fixes FixesOf(const Case& test) {
  Fixes fixes;
  if (test.offloads) return fixes;
  fixes.offload_optimizer = false;
  fixes.offload_activations = false;
  return fixes;
}

std::vector<Case> Cases() {
  return {
      {"grouped queries", DenseModel(8, 2, 6), {.sequence = 48, .global_batch = 24}, 8},
      {"odd layers", DenseModel(12, 12, 7), {.sequence = 12, .global_batch = 12}, 12},
      {"one GPU", DenseModel(4, 4, 2), {.sequence = 9, .global_batch = 6}, 1},
      {"experts", MixedModel(4, 4, 4, 6), {.sequence = 16, .global_batch = 8}, 8, 6},
      {"two nodes", DenseModel(8, 2, 5), {.sequence = 48, .global_batch = 4}, 8, 0, 4},
      {"nodes of six", MixedModel(4, 4, 3, 3), {.sequence = 8, .global_batch = 3}, 12, 3, 6},
      {"units", DenseModel(4, 4, 4), {.sequence = 16, .global_batch = 4}, 16, 0, 2, 4},
      {"nodes that units do not divide",
       DenseModel(2, 2, 3),
       {.sequence = 8, .global_batch = 3},
       6,
       0,
       2,
       2},
      {"offloading", DenseModel(2, 2, 5), {.sequence = 8, .global_batch = 2}, 4, 0, 2, 0, true}};
}

bool IsLegal(const Case& test, const Configuration& c) {
  const Attention& attention = test.model.stacks[0].kinds[0].attention;
  const int64_t sequence = test.workload.sequence, batch = test.workload.global_batch;
  const int64_t layers = test.model.layers();
  if (c.tp * c.cp * c.dp * c.pp != test.gpus) return false;
  const int64_t columns = c.tp / c.tp2, ffn = test.model.stacks[0].kinds[0].mlp->ffn;
  if (attention.heads % columns != 0 || ffn % columns != 0) return false;
  if (attention.kv_heads % columns != 0 && columns % attention.kv_heads != 0) return false;
  if (c.tp2 > 1) {
    if (test.experts > 0 || !c.sequence_parallel || sequence % (2 * c.tp2 * c.cp) != 0)
      return false;
    for (const int64_t inner : {test.model.hidden, ffn, attention.heads * attention.v_head_dim}) {
      if (c.panels == 0 || inner % c.panels != 0) return false;
    }
    // The fewest panels there can be; more of these sizes would be too narrow.
    if (c.panels != std::lcm(columns, c.tp2)) return false;
  } else if (c.panels != 0 ||
             (c.sequence_parallel && (c.tp == 1 || sequence % (c.tp * c.cp) != 0))) {
    return false;
  }
  if (c.context != ContextKind::kRing && c.cp == 1) return false;
  if (c.context == ContextKind::kUlysses) {
    if (c.tp2 > 1 || attention.heads % (c.tp * c.cp) != 0) return false;
    if (attention.kv_heads % (c.tp * c.cp) != 0) return false;
  }
  if (c.cp > 1 && sequence % (2 * c.cp) != 0) return false;
  if (c.pp > layers || batch % (c.micro_batch * c.dp) != 0) return false;
  if (c.ends_as_layers) {
    if (c.pp == 1 ||
        PartitionLayers(test.model, c.pp, true).Equals(PartitionLayers(test.model, c.pp, false))) {
      return false;
    }
    if (c.schedule == PipelineKind::kInterleaved && (layers + 2) % (c.pp * c.virtual_stages) != 0) {
      return false;
    }
  }
  if (c.schedule == PipelineKind::kInterleaved) {
    const int64_t stages = c.pp * c.virtual_stages;
    if (c.pp == 1 || c.virtual_stages == 1) return false;
    if (stages > layers + (c.ends_as_layers ? kEndsAsLayers : 0)) return false;
    if (batch / (c.micro_batch * c.dp) < c.pp) return false;
    if ((layers + kMostBesideLayers) / stages * stages < layers) {
      return false;
    }
  } else if (c.virtual_stages != 1) {
    return false;
  }
  if (c.schedule == PipelineKind::kZeroBubble && c.pp == 1) return false;
  if (test.experts == 0 && (c.ep > 1 || c.etp > 1)) return false;
  if (test.experts > 0 && (test.experts % c.ep != 0 || 36 % c.etp != 0)) return false;
  if (c.tp * c.cp * c.dp % (c.ep * c.etp) != 0) return false;
  if (c.ep > 1 && c.tp > 1 && !c.sequence_parallel) return false;
  const int64_t replicas = c.dp * c.cp;
  if (c.zero > 0 && replicas == 1) return false;
  if (c.shard == 0) return true;
  return c.zero > 0 && c.shard > 1 && c.shard < replicas && replicas % c.shard == 0;
}

// GPUs of each node that have the same coordinate in all groups but one, of ranks in order: they
// must be as many in every node and group.
bool EndsBetweenGroups(const Case& test, const Configuration& c) {
  const int64_t degrees[] = {c.tp / c.tp2, c.tp2, c.cp, c.dp, c.pp};
  int64_t stride = 1;
  for (const int64_t degree : degrees) {
    std::set<size_t> counts;
    for (int64_t first = 0; first < test.gpus; ++first) {
      if (first / stride % degree != 0) continue;
      std::map<int64_t, size_t> of_node;
      for (int64_t i = 0; i < degree; ++i) ++of_node[(first + i * stride) / test.node];
      for (const auto& [node, count] : of_node) counts.insert(count);
    }
    if (counts.size() > 1) return false;
    stride *= degree;
  }
  return true;
}

// Every way to make `whole` of divisors of the degrees of `c`.
std::vector<Placement> WaysToFill(int64_t whole, const Configuration& c) {
  std::vector<Placement> all;
  for (int64_t tp = 1; tp <= c.tp; ++tp)
    for (int64_t cp = 1; cp <= c.cp; ++cp)
      for (int64_t dp = 1; dp <= c.dp; ++dp)
        for (int64_t pp = 1; pp <= c.pp; ++pp)
          for (int64_t rows = 1; rows <= tp; ++rows)
            if (tp * cp * dp * pp == whole && tp % rows == 0 && c.tp2 % rows == 0 &&
                c.tp / c.tp2 % (tp / rows) == 0 && c.cp % cp == 0 && c.dp % dp == 0 &&
                c.pp % pp == 0) {
              all.push_back({tp, cp, dp, pp, rows});
            }
  return all;
}

std::vector<Space::Layout> NodePlacements(const Case& test, const Configuration& c) {
  if (test.node >= test.gpus) return {Space::Layout{}};
  std::vector<Space::Layout> all;
  if (!EndsBetweenGroups(test, c)) all.push_back({});
  const int64_t nodes = test.gpus / test.node;
  const bool units = test.unit > 0 && nodes % test.unit == 0 && nodes > test.unit;
  for (const Placement& inside : WaysToFill(test.node, c)) {
    if (!units) {
      all.push_back({inside, {}});
      continue;
    }
    Configuration left = c;
    left.tp /= inside.tp;
    left.tp2 /= inside.tp2;
    left.cp /= inside.cp;
    left.dp /= inside.dp;
    left.pp /= inside.pp;
    for (const Placement& unit : WaysToFill(test.unit, left)) all.push_back({inside, unit});
  }
  return all;
}

// Calls `visit` for each of first .. last.
template <typename Visit>
void Loop(int64_t first, int64_t last, const Visit& visit) {
  for (int64_t i = first; i <= last; ++i) visit(i);
}

// Some layers of each stage, and some pipeline groups.
void AddRecomputeRanges(const Case& test, Configuration c, std::vector<Configuration>* all) {
  const bool none = c.recompute == Recompute::kNone;
  for (c.recompute_stages = 0; c.recompute_stages < (none ? 1 : c.pp); ++c.recompute_stages) {
    for (c.recompute_layers = 0; c.recompute_layers <= test.model.layers(); ++c.recompute_layers) {
      if (c.recompute_layers > 0) {
        if (c.recompute != Recompute::kFull) continue;
        // Of which stage would that not be every layer?
        bool fewer = false;
        for (const GroupContent& group :
             PartitionLayers(test.model, c.pp, c.ends_as_layers).contents) {
          int64_t layers = 0;
          for (const int64_t of_kind : group.layers) layers += of_kind;
          fewer = fewer || c.recompute_layers * c.virtual_stages < layers;
        }
        if (!fewer) continue;
      }
      all->push_back(c);
    }
  }
}

// What is offloaded, and how much of it.
void AddOffloads(const Case& test, Configuration c, std::vector<Configuration>* all) {
  for (const bool optimizer : {false, true})
    for (const bool activations : {false, true})
      for (c.offload_percent = 0; c.offload_percent < 100; ++c.offload_percent)
        for (c.offload_layers = 0; c.offload_layers < test.model.layers(); ++c.offload_layers) {
          c.offload_optimizer = optimizer;
          c.offload_activations = activations;
          if ((optimizer || activations) && !test.offloads) continue;
          if (c.offload_percent > 0 && (!optimizer || c.offload_percent % 10 != 0)) continue;
          bool fewer = c.offload_layers == 0;
          for (const GroupContent& group :
               PartitionLayers(test.model, c.pp, c.ends_as_layers).contents)
            fewer = fewer || (activations && c.offload_layers * c.virtual_stages < group.layers[0]);
          if (fewer) AddRecomputeRanges(test, c, all);
        }
}

// Members of a family: what is legal whatever else is.
void AddMembers(const Case& test, const std::vector<Space::Layout>& layouts, Configuration c,
                std::vector<Configuration>* all) {
  for (c.zero = 0; c.zero <= 3; ++c.zero)
    for (c.shard = 0; c.shard <= test.gpus; ++c.shard) {
      if (!IsLegal(test, c)) continue;
      for (const Space::Layout& layout : layouts)
        for (int choice = 0; choice < kRecomputeKinds; ++choice) {
          c.inside = layout.inside;
          c.unit = layout.unit;
          c.recompute = static_cast<Recompute>(choice);
          AddOffloads(test, c, all);
        }
    }
}

std::vector<Configuration> Naive(const Case& test) {
  std::vector<Configuration> all;
  const int64_t n = test.gpus;
  Loop(1, n, [&](int64_t tp) {
    Loop(1, n / tp, [&](int64_t cp) {
      Loop(1, n / tp / cp, [&](int64_t pp) {
        Configuration c{.tp = tp, .cp = cp, .dp = n / (tp * cp * pp), .pp = pp};
        if (c.gpus() != n) return;
        for (c.tp2 = 1; c.tp2 <= tp; ++c.tp2) {
          if (tp % c.tp2 != 0) continue;
          const std::vector<Space::Layout> layouts = NodePlacements(test, c);
          for (c.panels = 0; c.panels <= n; ++c.panels)
            for (c.micro_batch = 1; c.micro_batch <= test.workload.global_batch; ++c.micro_batch)
              for (c.virtual_stages = 1; c.virtual_stages <= test.model.layers() + kEndsAsLayers;
                   ++c.virtual_stages)
                for (c.ep = 1; c.ep <= (test.experts > 0 ? n : 2); ++c.ep)
                  for (c.etp = 1; c.ep * c.etp <= n; ++c.etp)
                    for (int choices = 0; choices < 36; ++choices) {
                      c.schedule = static_cast<PipelineKind>(choices % 3);
                      c.context = static_cast<ContextKind>(choices / 3 % 3);
                      c.sequence_parallel = choices / 9 % 2 == 1;
                      c.ends_as_layers = choices / 18 == 1;
                      if (IsLegal(test, c)) AddMembers(test, layouts, c, &all);
                    }
        }
      });
    });
  });
  return all;
}

TEST(Space, IsEveryLegalConfigurationOnce) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    const Space space(test.model, test.workload, test.gpus, FixesOf(test), Precision::kBf16,
                      test.node, test.unit);
    std::vector<Configuration> found = space.All(), naive = Naive(test);
    EXPECT_EQ(space.Count(), std::ssize(naive));
    std::sort(found.begin(), found.end(), ConfigurationBefore);
    std::sort(naive.begin(), naive.end(), ConfigurationBefore);
    EXPECT_TRUE(found == naive) << found.size() << " found, " << naive.size() << " legal";
  }
}

// `texts` beside the fixes of the case.
void ExpectWhatHasTheFixes(const Case& test, const std::vector<std::string>& texts) {
  const auto all_with = [&](const Fixes& fixes) {
    return Space(test.model, test.workload, test.gpus, fixes, Precision::kBf16, test.node,
                 test.unit)
        .All();
  };
  const std::vector<Configuration> all = all_with(FixesOf(test));
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    const absl::StatusOr<Fixes> parsed = ParseFixes({text});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    Fixes fixes = *parsed;
    if (!test.offloads) fixes.offload_optimizer = fixes.offload_activations = false;
    std::vector<Configuration> wanted;
    const std::vector<SingleFix> split = SplitFixes(fixes);
    for (const Configuration& c : all) {
      if (std::all_of(split.begin(), split.end(), [&](const SingleFix& fix) {
            return fix.key + "=" + FixValue(c, fix.key) == fix.text;
          })) {
        wanted.push_back(c);
      }
    }
    ASSERT_FALSE(wanted.empty());
    EXPECT_TRUE(all_with(fixes) == wanted);
  }
}

TEST(Space, FixesLeaveTheConfigurationsThatHaveThem) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  Case test = Cases()[3];
  test.node = 4;
  ExpectWhatHasTheFixes(test, {"tp=2",
                               "tp_in=2",
                               "dp_in=1,pp_in=2",
                               "ends=on",
                               "place=nodes",
                               "tensor=1d",
                               "context=ulysses",
                               "recompute=modules",
                               "cp=2,dp=2",
                               "pp=2,vp=2",
                               "ep=2,etp=2",
                               "mbs=2",
                               "zero=1,dp=4,shard=2",
                               "sp=on",
                               "schedule=zero-bubble",
                               "recompute=full",
                               "recompute_layers=1",
                               "recompute_layers=0,recompute_stages=1,pp=2",
                               "shard=0",
                               "zero=0"});
  ExpectWhatHasTheFixes(Cases()[6], {"tp_unit=2", "dp_unit=1,pp_unit=4", "cp_unit=2"});
  ExpectWhatHasTheFixes(Cases()[8],
                        {"offload_optimizer=on,offload_activations=off", "offload_percent=30",
                         "offload_layers=2", "offload_activations=on,offload_layers=0", "pp=2"});
}

// What a launcher does that knows nothing of nodes.
TEST(Space, RanksInOrderAreOnePlacement) {
  const Case test = Cases()[4];
  const Space all(test.model, test.workload, test.gpus, Fixes{}, Precision::kBf16, test.node);
  const Space in_order(test.model, test.workload, test.gpus, *ParseFixes({"place=order"}),
                       Precision::kBf16, test.node);
  for (const Space::Degrees& degrees : all.AllDegrees()) {
    EXPECT_EQ(in_order.Placements(degrees), std::vector<Space::Layout>(1));
  }
  const std::vector<Space::Layout> wanted = {{{4, 1, 1, 1, 1}, {}}, {{2, 1, 2, 1, 1}, {}}};
  EXPECT_EQ(all.Placements({.tp = 4, .cp = 1, .pp = 1, .dp = 2}), wanted);
}

std::string ErrorOf(const Case& test, const std::string& fixes) {
  const absl::StatusOr<Fixes> parsed = ParseFixes({fixes});
  if (!parsed.ok()) return std::string(parsed.status().message());
  return std::string(CheckSpace(test.model, test.workload, test.gpus, *parsed, Precision::kBf16,
                                test.node, test.unit)
                         .message());
}

TEST(SpaceErrors, SayWhatWouldBeValid) {
  const Case dense = Cases()[0];
  EXPECT_EQ(ErrorOf(dense, "tp=4,pp=2"), "");
  EXPECT_THAT(ErrorOf(dense, "tp=3"),
              HasSubstr("tp=3 is not possible on 8 GPUs (small has 6 layers, 8 heads, 2 of keys"));
  EXPECT_THAT(ErrorOf(dense, "tp=3"), HasSubstr("valid are 1, 2, 4, 8"));
  EXPECT_THAT(ErrorOf(dense, "pp=8"), HasSubstr("valid are 1, 2, 4"));
  EXPECT_THAT(ErrorOf(dense, "mbs=5"), HasSubstr("valid are 1, 2, 3, 4, 6, 8, 12, 24"));
  EXPECT_THAT(ErrorOf(dense, "ep=2"), HasSubstr("valid are 1"));
  EXPECT_THAT(ErrorOf(dense, "tp=4,pp=4"), HasSubstr("tp=4, pp=4: 4 x 4 is 16, the cluster has 8"));
  EXPECT_THAT(ErrorOf(dense, "tp=1,pp=4,dp=1,cp=1"),
              HasSubstr("1 x 1 x 4 x 1 is 4, the cluster has 8"));
  EXPECT_THAT(ErrorOf(dense, "recompute=none,place=order,dp=8,mbs=12"),
              HasSubstr("dp=8 and mbs=12 do not go together on 8 GPUs"));
  EXPECT_THAT(ErrorOf(dense, "dp=8,mbs=12"), HasSubstr("dp may be 1, 2, or mbs may be 1, 3"));
  EXPECT_THAT(ErrorOf(dense, "tp=2,pp=4,mbs=1,zero=1,dp=1,sp=on"),
              HasSubstr("zero=1 does not go with dp=1 and cp=1"));
  EXPECT_THAT(ErrorOf(dense, "tq=4"), HasSubstr("unknown degree \"tq\"; the nearest is tp"));
  EXPECT_THAT(ErrorOf(dense, "tensor=4"), HasSubstr("expected 1d or 2d; did you mean tp=4?"));
  EXPECT_THAT(ErrorOf(dense, "data=4"), HasSubstr("did you mean dp=4?"));
  EXPECT_THAT(ErrorOf(dense, "tp=x"), HasSubstr("tp: found \"x\", expected an integer from 1"));
  EXPECT_THAT(ErrorOf(dense, "tp=2,tp=2"), HasSubstr("tp is given twice"));
  EXPECT_THAT(ErrorOf(dense, "recompute_layers=6"), HasSubstr("valid are 0, 1, 2, 3, 4, 5"));
  EXPECT_THAT(ErrorOf(dense, "recompute_layers=2,pp=4"),
              HasSubstr("pp=4 and recompute_layers=2 do not go together"));
  EXPECT_THAT(ErrorOf(dense, "recompute=some"), HasSubstr("one of none, selective, modules, full"));
  EXPECT_THAT(ErrorOf(Cases()[3], "tensor=2d"), HasSubstr("--tp 2d: no grid of 8 GPUs"));
  EXPECT_THAT(ErrorOf(dense, "tensor=2d,sp=off"), HasSubstr("sp=off is not possible on 8 GPUs"));
  EXPECT_THAT(ErrorOf(Cases()[4], "tp_in=3"), HasSubstr("valid are 1, 2, 4"));
  EXPECT_THAT(ErrorOf(dense, "place=rail"), HasSubstr("expected nodes or order"));
  EXPECT_THAT(ErrorOf(Cases()[6], "pp_unit=3"), HasSubstr("valid are 1, 2, 4"));
  EXPECT_THAT(ErrorOf(dense, "pp_unit=2"), HasSubstr("valid are 0"));
  EXPECT_THAT(ErrorOf(dense, "offload_layers=6"), HasSubstr("valid are 0, 1, 2, 3, 4, 5"));
  EXPECT_THAT(ErrorOf(dense, "offload_percent=35"), HasSubstr("valid are 0, 10, 20, 30, 40"));
  EXPECT_THAT(ErrorOf(dense, "offload_percent=30,offload_optimizer=off"),
              HasSubstr("do not go together"));
  const Case lonely = {"", DenseModel(4, 4, 2), {.sequence = 9, .global_batch = 6}, 7};
  EXPECT_THAT(ErrorOf(lonely, "zero=0"), HasSubstr("no degrees make use of 7 GPUs"));
  EXPECT_THAT(ErrorOf(lonely, "zero=0"), HasSubstr("are 6, 4, 3"));
}

TEST(Space, HasOnlyWhatCheckConfigurationTakes) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  struct Sample {
    const char* cluster;
    int64_t unit_nodes;
    Model model;
    Workload workload;
    const char* fixes;
  };
  const char* const whole = "offload_percent=0,offload_layers=0";
  for (const Sample& sample :
       std::vector<Sample>{{"2x6xh100-sxm", 0, DenseModel(12, 4, 6), {48, 24}, whole},
                           {"2x6xh100-sxm", 0, MixedModel(12, 6, 4, 4), {48, 24}, whole},
                           {"4x2xh100-sxm", 2, MixedModel(4, 4, 3, 4), {8, 4}, whole},
                           {"2x2xh100-sxm", 0, DenseModel(2, 2, 5), {8, 2}, "tensor=1d"}}) {
    Cluster cluster = *ParseCluster(sample.cluster);
    cluster.fabric.unit_nodes = sample.unit_nodes;
    Space(sample.model, sample.workload, cluster.devices(), *ParseFixes({sample.fixes}),
          Precision::kBf16, cluster.devices_per_node, sample.unit_nodes)
        .ForEach([&](const Configuration& c) {
          const absl::Status status = CheckConfiguration(sample.model, sample.workload, cluster, c);
          ASSERT_TRUE(status.ok()) << ConfigurationText(c) << ": " << status;
        });
  }
}

}  // namespace
}  // namespace meshwright::transformer
