// Rows of tables of runs that say what cannot be, or say one thing twice.

#include "meshwright/published/runs/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A row that is taken (SC'21's GPT-76B) but for what `changes` says, by column.
RunPrediction PredictChanged(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> row = {{"source", "own"},
                                            {"model", "GPT-76B"},
                                            {"layers", "60"},
                                            {"hidden", "10240"},
                                            {"heads", "80"},
                                            {"seq", "2048"},
                                            {"tp", "8"},
                                            {"gpu", "A100-80GB"},
                                            {"n_gpus", "1024"},
                                            {"pp", "4"},
                                            {"vpp", "3"},
                                            {"cp", "1"},
                                            {"dp", "32"},
                                            {"fsdp_shard", ""},
                                            {"mbs", "2"},
                                            {"gbs", "1792"},
                                            {"grad_accum", ""},
                                            {"dtype", "fp16"},
                                            {"zero", "0"},
                                            {"recompute", "full"},
                                            {"mem_gib", ""},
                                            {"iteration_time_s", ""},
                                            {"vocab", ""},
                                            {"tokens_per_s_per_gpu", ""},
                                            {"tflops_per_gpu", "140"}};
  for (const auto& [column, value] : changes) row.at(column) = value;
  CsvTable table;
  CsvRow& fields = table.rows.emplace_back();
  fields.line = 2;
  for (const auto& [column, value] : row) {
    table.header.push_back(column);
    fields.fields.push_back(value);
  }
  return PredictRuns(table, "f", BuiltinCostParameters()).value()[0];
}

TEST(PredictRuns, RefusesWhatCannotBe) {
  ASSERT_THAT(PredictChanged({}).skipped, IsEmpty());
  const auto skipped = [](const std::string& column, const std::string& value) {
    return PredictChanged({{column, value}}).skipped;
  };
  for (const char* const dp : {"5", "1000000"}) {
    EXPECT_EQ(skipped("dp", dp),
              std::string("dp ") + dp + ", but 1024 GPUs with tp 8, cp 1 and pp 4 have dp 32");
  }
  EXPECT_EQ(skipped("mbs", "57"),
            "micro-batch 57 does not divide 56 sequences of a replica; valid: 1, 2, 4, 7, 8, 14, "
            "28, 56");
  EXPECT_THAT(skipped("mbs", "3"), HasSubstr("does not divide 56"));
  EXPECT_EQ(skipped("grad_accum", "3"),
            "grad_accum 3 does not divide the 56 sequences of a replica (gbs / dp); with mbs 2 it "
            "is 28");
  EXPECT_EQ(skipped("zero", "9"), "zero 9; valid: 0, 1, 2, 3");
  EXPECT_EQ(skipped("fsdp_shard", "7"),
            "fsdp_shard \"7\"; valid: no, yes, or a divisor of the 32 replicas (dp)");
  EXPECT_THAT(skipped("fsdp_shard", "some"), HasSubstr("valid: no, yes"));
  EXPECT_EQ(skipped("recompute", "maybe"),
            "recompute \"maybe\"; valid: none, selective, modules, full");
  EXPECT_EQ(skipped("vpp", "7"),
            "vpp 7 does not split 60 layers evenly over pp 4; valid: 1, 3, 5, 15");
  EXPECT_EQ(PredictChanged({{"pp", "1"}, {"dp", "128"}}).skipped,
            "vpp 3 without a pipeline (pp 1); valid: 1");
  EXPECT_EQ(skipped("tp", "3"), "tp 3, cp 1 and pp 4 do not divide the 1024 GPUs");
  EXPECT_EQ(skipped("mem_gib", "1000"), "mem_gib 1000; a100-80g has 80");
}

// Faster than the peak, or longer than any step.
TEST(PredictRuns, RefusesTimesThatCannotBe) {
  const auto skipped = [](const std::string& column, const std::string& value) {
    std::map<std::string, std::string> changes = {{"tflops_per_gpu", ""}};
    changes[column] = value;
    return PredictChanged(changes).skipped;
  };
  EXPECT_THAT(skipped("tflops_per_gpu", "1e300"), HasSubstr("at its peak (312 TFLOPS) a100-80g"));
  EXPECT_THAT(skipped("tokens_per_s_per_gpu", "1e300"), HasSubstr("at its peak"));
  EXPECT_THAT(skipped("iteration_time_s", "0.1"), HasSubstr("measured step of 0.1 s; at its peak"));
  EXPECT_THAT(skipped("iteration_time_s", "1e8"), HasSubstr("measured step of 1e+08 s; at most"));
  EXPECT_THAT(skipped("tflops_per_gpu", "1e-300"), HasSubstr("at most"));
  EXPECT_THAT(skipped("iteration_time_s", "10"), IsEmpty());
}

TEST(PredictRuns, FollowsWhatIsGiven) {
  const RunPrediction halves = PredictChanged({{"mbs", ""}, {"grad_accum", "14"}});
  ASSERT_TRUE(halves.run.has_value()) << halves.skipped;
  EXPECT_EQ(halves.run->configuration.micro_batch, 4);
  EXPECT_THAT(PredictChanged({{"mbs", ""}, {"grad_accum", "57"}}).skipped,
              HasSubstr("grad_accum 57 does not divide"));
  const RunPrediction group = PredictChanged({{"fsdp_shard", "8"}, {"zero", "3"}});
  ASSERT_TRUE(group.run.has_value()) << group.skipped;
  EXPECT_EQ(group.run->configuration.shard, 8);
  const RunPrediction all = PredictChanged({{"fsdp_shard", "32"}, {"zero", "3"}});
  ASSERT_TRUE(all.run.has_value()) << all.skipped;
  EXPECT_EQ(all.run->configuration.shard, 0);
  EXPECT_NE(group.predicted_seconds, all.predicted_seconds);
}

// Composer's last micro-batch may be smaller.
TEST(PredictRuns, CutsUnevenMicroBatchesOfComposer) {
  const RunPrediction one = PredictChanged({{"source", "MosaicML llm-foundry MPT benchmarks"},
                                            {"mbs", "30"},
                                            {"pp", "1"},
                                            {"vpp", ""},
                                            {"dp", "128"},
                                            {"gbs", "7168"}});
  ASSERT_TRUE(one.run.has_value()) << one.skipped;
  EXPECT_EQ(one.run->configuration.micro_batch, 28);
}

// Local batches that the pipeline cuts again: taken, and said.
TEST(PredictRuns, SaysWhereAccumulationIsNotOfMicroBatches) {
  EXPECT_THAT(PredictChanged({{"grad_accum", "28"}}).note, IsEmpty());
  const RunPrediction local = PredictChanged({{"grad_accum", "7"}});
  ASSERT_TRUE(local.run.has_value()) << local.skipped;
  EXPECT_EQ(local.run->configuration.micro_batch, 2);
  EXPECT_THAT(local.note, HasSubstr("gbs and mbs are followed"));
  EXPECT_THAT(RunsReport({local}), HasSubstr("taken, 1 row: grad_accum is not"));
}

}  // namespace
}  // namespace meshwright::transformer
