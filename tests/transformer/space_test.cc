// The space against loops over all numbers with the rules of Megatron-LM as they are stated.

#include "meshwright/transformer/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "meshwright/transformer/search.h"
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
};

std::vector<Case> Cases() {
  return {{"grouped queries", DenseModel(8, 2, 6), {.sequence = 48, .global_batch = 24}, 8},
          {"odd layers", DenseModel(12, 12, 7), {.sequence = 12, .global_batch = 12}, 12},
          {"one GPU", DenseModel(4, 4, 2), {.sequence = 9, .global_batch = 6}, 1},
          {"experts", MixedModel(4, 4, 4, 6), {.sequence = 16, .global_batch = 8}, 8, 6}};
}

bool IsLegal(const Case& test, const Configuration& c) {
  const Attention& attention = test.model.stacks[0].kinds[0].attention;
  const int64_t sequence = test.workload.sequence, batch = test.workload.global_batch;
  const int64_t layers = test.model.layers();
  if (c.tp * c.cp * c.dp * c.pp != test.gpus) return false;
  if (attention.heads % c.tp != 0 || test.model.stacks[0].kinds[0].mlp->ffn % c.tp != 0) {
    return false;
  }
  if (attention.kv_heads % c.tp != 0 && c.tp % attention.kv_heads != 0) return false;
  if (c.sequence_parallel && (c.tp == 1 || sequence % (c.tp * c.cp) != 0)) return false;
  if (c.cp > 1 && sequence % (2 * c.cp) != 0) return false;
  if (c.pp > layers || batch % (c.micro_batch * c.dp) != 0) return false;
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

std::vector<Configuration> Naive(const Case& test) {
  std::vector<Configuration> all;
  Configuration c;
  const int64_t n = test.gpus;
  for (c.tp = 1; c.tp <= n; ++c.tp)
    for (c.cp = 1; c.tp * c.cp <= n; ++c.cp)
      for (c.pp = 1; c.tp * c.cp * c.pp <= n; ++c.pp) {
        c.dp = n / (c.tp * c.cp * c.pp);
        if (c.gpus() != n) continue;
        for (const bool sequence_parallel : {false, true})
          for (int64_t ep = 1; ep <= (test.experts > 0 ? n : 2); ++ep)
            for (int64_t etp = 1; ep * etp <= n; ++etp)
              for (int schedule = 0; schedule < 3; ++schedule)
                for (int64_t vp = 1; vp <= test.model.layers(); ++vp)
                  for (int64_t micro = 1; micro <= test.workload.global_batch; ++micro)
                    for (int zero = 0; zero <= 3; ++zero)
                      for (int64_t shard = 0; shard <= n; ++shard) {
                        c.sequence_parallel = sequence_parallel;
                        c.ep = ep;
                        c.etp = etp;
                        c.schedule = static_cast<PipelineKind>(schedule);
                        c.virtual_stages = vp;
                        c.micro_batch = micro;
                        c.zero = zero;
                        c.shard = shard;
                        if (!IsLegal(test, c)) continue;
                        for (int r = 0; r < 3; ++r) {
                          c.recompute = static_cast<Recompute>(r);
                          all.push_back(c);
                        }
                      }
      }
  return all;
}

TEST(Space, IsEveryLegalConfigurationOnce) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    const Space space(test.model, test.workload, test.gpus, Fixes{}, Precision::kBf16);
    std::vector<Configuration> found = space.All(), naive = Naive(test);
    EXPECT_EQ(space.Count(), std::ssize(naive));
    std::sort(found.begin(), found.end(), ConfigurationBefore);
    std::sort(naive.begin(), naive.end(), ConfigurationBefore);
    EXPECT_TRUE(found == naive) << found.size() << " found, " << naive.size() << " legal";
  }
}

TEST(Space, FixesLeaveTheConfigurationsThatHaveThem) {
  const Case test = Cases()[3];
  const std::vector<Configuration> all =
      Space(test.model, test.workload, test.gpus, Fixes{}, Precision::kBf16).All();
  for (const char* const text :
       {"tp=2", "cp=2,dp=2", "pp=2,vp=2", "ep=2,etp=2", "mbs=2", "zero=1,dp=4,shard=2", "sp=on",
        "schedule=zero-bubble", "recompute=full", "shard=0", "zero=0"}) {
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
    EXPECT_TRUE(Space(test.model, test.workload, test.gpus, *fixes, Precision::kBf16).All() ==
                wanted);
  }
}

std::string ErrorOf(const Case& test, const std::string& fixes) {
  const absl::StatusOr<Fixes> parsed = ParseFixes({fixes});
  if (!parsed.ok()) return std::string(parsed.status().message());
  return std::string(
      CheckSpace(test.model, test.workload, test.gpus, *parsed, Precision::kBf16).message());
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
  EXPECT_THAT(ErrorOf(dense, "recompute=some"), HasSubstr("one of none, selective, full"));
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
}

TEST(Space, HasOnlyWhatCheckConfigurationTakes) {
  const Cluster cluster = *ParseCluster("2x6xh100-sxm");
  const Workload workload{.sequence = 48, .global_batch = 24};
  for (const Model& model : {DenseModel(12, 4, 6), MixedModel(12, 6, 4, 4)}) {
    for (const Configuration& c :
         Space(model, workload, cluster.devices(), Fixes{}, Precision::kBf16).All()) {
      const absl::Status status = CheckConfiguration(model, workload, cluster, c);
      ASSERT_TRUE(status.ok()) << ConfigurationText(c) << ": " << status;
    }
  }
}

}  // namespace
}  // namespace meshwright::transformer
