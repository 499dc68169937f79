// The space against loops over all numbers with the rules of Megatron-LM as they are stated.

#include "meshwright/transformer/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "meshwright/transformer/search.h"
#include "meshwright/transformer/stage_deal.h"
#include "meshwright/transformer/step_cost.h"
#include "tests/transformer/space_samples.h"

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
};

std::vector<Case> Cases() {
  return {{"grouped queries", DenseModel(8, 2, 6), {.sequence = 48, .global_batch = 24}, 8},
          {"odd layers", DenseModel(12, 12, 7), {.sequence = 12, .global_batch = 12}, 12},
          {"one GPU", DenseModel(4, 4, 2), {.sequence = 9, .global_batch = 6}, 1},
          {"experts", MixedModel(4, 4, 4, 6), {.sequence = 16, .global_batch = 8}, 8, 6},
          {"two nodes", DenseModel(8, 2, 5), {.sequence = 48, .global_batch = 4}, 8, 0, 4},
          {"nodes of six", MixedModel(4, 4, 3, 3), {.sequence = 8, .global_batch = 3}, 12, 3, 6}};
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
        DealLayers(test.model, c.pp, true).Equals(DealLayers(test.model, c.pp, false))) {
      return false;
    }
    if (c.schedule == PipelineKind::kInterleaved && (layers + 2) % (c.pp * c.virtual_stages) != 0) {
      return false;
    }
  }
  if (c.schedule == PipelineKind::kInterleaved) {
    const int64_t stages = c.pp * c.virtual_stages;
    if (c.pp == 1 || c.virtual_stages == 1 || stages > layers) return false;
    if (batch / (c.micro_batch * c.dp) < c.pp) return false;
    if (layers % stages != 0 && (layers + 1) % stages != 0 && (layers + 2) % stages != 0) {
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

std::vector<Placement> NodePlacements(const Case& test, const Configuration& c) {
  if (test.node >= test.gpus) return {Placement{}};
  std::vector<Placement> all;
  if (!EndsBetweenGroups(test, c)) all.push_back({});
  for (int64_t tp = 1; tp <= c.tp; ++tp)
    for (int64_t cp = 1; cp <= c.cp; ++cp)
      for (int64_t dp = 1; dp <= c.dp; ++dp)
        for (int64_t pp = 1; pp <= c.pp; ++pp)
          for (int64_t rows = 1; rows <= tp; ++rows)
            if (tp * cp * dp * pp == test.node && tp % rows == 0 && c.tp2 % rows == 0 &&
                c.tp / c.tp2 % (tp / rows) == 0 && c.cp % cp == 0 && c.dp % dp == 0 &&
                c.pp % pp == 0) {
              all.push_back({tp, cp, dp, pp, rows});
            }
  return all;
}

// Calls `visit` for each of first .. last.
template <typename Visit>
void Loop(int64_t first, int64_t last, const Visit& visit) {
  for (int64_t i = first; i <= last; ++i) visit(i);
}

// Some layers of each stage, and some pipeline groups.
void AddExtents(const Case& test, Configuration c, std::vector<Configuration>* all) {
  const bool none = c.recompute == Recompute::kNone;
  for (c.recompute_stages = 0; c.recompute_stages < (none ? 1 : c.pp); ++c.recompute_stages) {
    for (c.recompute_layers = 0; c.recompute_layers <= test.model.layers(); ++c.recompute_layers) {
      if (c.recompute_layers > 0) {
        if (c.recompute != Recompute::kFull) continue;
        // Of which stage would that not be every layer?
        bool fewer = false;
        for (const GroupContent& group : DealLayers(test.model, c.pp, c.ends_as_layers).contents) {
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

// Members of a family: what is legal whatever else is.
void AddMembers(const Case& test, const std::vector<Placement>& placements, Configuration c,
                std::vector<Configuration>* all) {
  for (c.zero = 0; c.zero <= 3; ++c.zero)
    for (c.shard = 0; c.shard <= test.gpus; ++c.shard) {
      if (!IsLegal(test, c)) continue;
      for (const Placement& placement : placements)
        for (int choices = 0; choices < 4 * kRecomputeKinds; ++choices) {
          c.inside = placement;
          c.recompute = static_cast<Recompute>(choices / 4);
          c.offload_optimizer = choices % 2 == 1;
          c.offload_activations = choices / 2 % 2 == 1;
          AddExtents(test, c, all);
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
          const std::vector<Placement> placements = NodePlacements(test, c);
          for (c.panels = 0; c.panels <= n; ++c.panels)
            for (c.micro_batch = 1; c.micro_batch <= test.workload.global_batch; ++c.micro_batch)
              for (c.virtual_stages = 1; c.virtual_stages <= test.model.layers();
                   ++c.virtual_stages)
                for (c.ep = 1; c.ep <= (test.experts > 0 ? n : 2); ++c.ep)
                  for (c.etp = 1; c.ep * c.etp <= n; ++c.etp)
                    for (int choices = 0; choices < 36; ++choices) {
                      c.schedule = static_cast<PipelineKind>(choices % 3);
                      c.context = static_cast<ContextKind>(choices / 3 % 3);
                      c.sequence_parallel = choices / 9 % 2 == 1;
                      c.ends_as_layers = choices / 18 == 1;
                      if (IsLegal(test, c)) AddMembers(test, placements, c, &all);
                    }
        }
      });
    });
  });
  return all;
}

TEST(Space, IsEveryLegalConfigurationOnce) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    const Space space(test.model, test.workload, test.gpus, Fixes{}, Precision::kBf16, test.node);
    std::vector<Configuration> found = space.All(), naive = Naive(test);
    EXPECT_EQ(space.Count(), std::ssize(naive));
    std::sort(found.begin(), found.end(), ConfigurationBefore);
    std::sort(naive.begin(), naive.end(), ConfigurationBefore);
    EXPECT_TRUE(found == naive) << found.size() << " found, " << naive.size() << " legal";
  }
}

TEST(Space, FixesLeaveTheConfigurationsThatHaveThem) {
  Case test = Cases()[3];
  test.node = 4;
  const std::vector<Configuration> all =
      Space(test.model, test.workload, test.gpus, Fixes{}, Precision::kBf16, test.node).All();
  for (const char* const text : {"tp=2",
                                 "tp_in=2",
                                 "dp_in=1,pp_in=2",
                                 "ends=on",
                                 "place=nodes",
                                 "tensor=1d",
                                 "context=ulysses",
                                 "recompute=modules",
                                 "offload_optimizer=on,offload_activations=off",
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
                                 "zero=0"}) {
    SCOPED_TRACE(text);
    const absl::StatusOr<Fixes> fixes = ParseFixes({text});
    ASSERT_TRUE(fixes.ok()) << fixes.status();
    std::vector<Configuration> wanted;
    const std::vector<SingleFix> split = SplitFixes(*fixes);
    for (const Configuration& c : all) {
      if (std::all_of(split.begin(), split.end(), [&](const SingleFix& fix) {
            return fix.key + "=" + FixValue(c, fix.key) == fix.text;
          })) {
        wanted.push_back(c);
      }
    }
    ASSERT_FALSE(wanted.empty());
    EXPECT_TRUE(
        Space(test.model, test.workload, test.gpus, *fixes, Precision::kBf16, test.node).All() ==
        wanted);
  }
}

// What a launcher does that knows nothing of nodes.
TEST(Space, RanksInOrderAreOnePlacement) {
  const Case test = Cases()[4];
  const Space all(test.model, test.workload, test.gpus, Fixes{}, Precision::kBf16, test.node);
  const Space in_order(test.model, test.workload, test.gpus, *ParseFixes({"place=order"}),
                       Precision::kBf16, test.node);
  for (const Space::Degrees& degrees : all.AllDegrees()) {
    EXPECT_EQ(in_order.Placements(degrees), std::vector<Placement>(1));
  }
  const std::vector<Placement> wanted = {{4, 1, 1, 1, 1}, {2, 1, 2, 1, 1}};
  EXPECT_EQ(all.Placements({.tp = 4, .cp = 1, .pp = 1, .dp = 2}), wanted);
}

std::string ErrorOf(const Case& test, const std::string& fixes) {
  const absl::StatusOr<Fixes> parsed = ParseFixes({fixes});
  if (!parsed.ok()) return std::string(parsed.status().message());
  return std::string(
      CheckSpace(test.model, test.workload, test.gpus, *parsed, Precision::kBf16, test.node)
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
  EXPECT_THAT(ErrorOf(dense, "tp=4,pp=4"), HasSubstr("with them tp may be 1, 2"));
  EXPECT_THAT(ErrorOf(dense, "dp=8,mbs=12"), HasSubstr("does not go with the other fixes"));
  EXPECT_THAT(ErrorOf(dense, "tq=4"), HasSubstr("unknown degree \"tq\"; the nearest is tp"));
  EXPECT_THAT(ErrorOf(dense, "tp=x"), HasSubstr("tp: found \"x\", expected an integer from 1"));
  EXPECT_THAT(ErrorOf(dense, "tp=2,tp=2"), HasSubstr("tp is given twice"));
  EXPECT_THAT(ErrorOf(dense, "recompute_layers=6"), HasSubstr("valid are 0, 1, 2, 3, 4, 5"));
  EXPECT_THAT(ErrorOf(dense, "recompute_layers=2,pp=4"), HasSubstr("does not go with the other"));
  EXPECT_THAT(ErrorOf(dense, "recompute=some"), HasSubstr("one of none, selective, modules, full"));
  EXPECT_THAT(ErrorOf(Cases()[3], "tensor=2d"), HasSubstr("--tp 2d: no grid of 8 GPUs"));
  EXPECT_THAT(ErrorOf(dense, "tensor=2d,sp=off"), HasSubstr("sp=off is not possible on 8 GPUs"));
  EXPECT_THAT(ErrorOf(Cases()[4], "tp_in=3"), HasSubstr("valid are 1, 2, 4"));
  EXPECT_THAT(ErrorOf(dense, "place=rail"), HasSubstr("expected order or nodes"));
  const Case lonely = {"", DenseModel(4, 4, 2), {.sequence = 9, .global_batch = 6}, 7};
  EXPECT_THAT(ErrorOf(lonely, "zero=0"), HasSubstr("no degrees make use of 7 GPUs"));
  EXPECT_THAT(ErrorOf(lonely, "zero=0"), HasSubstr("are 6, 4, 3"));
}

TEST(Fixes, TextReadsBack) {
  Configuration c{.tp = 8, .sequence_parallel = true, .pp = 4, .virtual_stages = 2};
  c.schedule = PipelineKind::kInterleaved;
  c.recompute = Recompute::kFull;
  c.zero = 1;
  EXPECT_EQ(ConfigurationText(c), "tp=8 sp pp=4 vp=2 zero=1 schedule=interleaved recompute=full");
  c.recompute_layers = 2;
  c.recompute_stages = 3;
  EXPECT_EQ(ConfigurationText(c),
            "tp=8 sp pp=4 vp=2 zero=1 schedule=interleaved recompute=full recompute_layers=2 "
            "recompute_stages=3");
}

TEST(Space, HasOnlyWhatCheckConfigurationTakes) {
  const Cluster cluster = *ParseCluster("2x6xh100-sxm");
  const Workload workload{.sequence = 48, .global_batch = 24};
  for (const Model& model : {DenseModel(12, 4, 6), MixedModel(12, 6, 4, 4)}) {
    for (const Configuration& c : Space(model, workload, cluster.devices(), Fixes{},
                                        Precision::kBf16, cluster.devices_per_node)
                                      .All()) {
      const absl::Status status = CheckConfiguration(model, workload, cluster, c);
      ASSERT_TRUE(status.ok()) << ConfigurationText(c) << ": " << status;
    }
  }
}

}  // namespace
}  // namespace meshwright::transformer
