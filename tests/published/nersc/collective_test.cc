#include "meshwright/published/nersc/collective.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace meshwright::transformer::nersc {
namespace {

// 1 GB/s between domains of four, 10 GB/s inside.
System Links() {
  System system;
  system.nvlink_gbps = 20;
  system.nvlink_efficiency = 0.5;
  system.nvlink_latency = 0.001;
  system.ib_gbps = 4;
  system.ib_efficiency = 0.25;
  system.ib_latency = 0.01;
  system.nvlink_size = 4;
  return system;
}

TEST(NerscCollectiveTest, OneKindOfLink) {
  const System system = Links();
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kAllGather, 8, {4, 1}), 0.03 + 6);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kAllReduce, 8, {4, 1}), 0.03 + 6);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kBroadcast, 8, {4, 1}), 0.03 + 8);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kReduceScatter, 8, {4, 4}), 0.003 + 0.6);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kReduce, 8, {4, 4}), 0.003 + 0.8);
}

TEST(NerscCollectiveTest, BothKindsOfLinks) {
  System system = Links();
  const double latency = 0.01 + 6 * 0.001;
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kAllGather, 8, {8, 4}), 7.0 / 4 + latency);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kAllReduce, 8, {8, 4}),
                   2 * 7.0 / 4 + latency);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kReduce, 8, {8, 4}), 2 + latency);
  system.nics_per_gpu = 10;  // NVLink is the slower now
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kReduce, 8, {8, 4}), 0.8 + latency);
}

TEST(NerscCollectiveTest, NothingToDo) {
  const System system = Links();
  EXPECT_EQ(CollectiveSeconds(system, Collective::kAllReduce, 0, {8, 4}), 0);
  EXPECT_EQ(CollectiveSeconds(system, Collective::kAllReduce, 8, {1, 1}), 0);
}

TEST(NerscCollectiveTest, PointToPoint) {
  const System system = Links();
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kPointToPoint, 8, {2, 1}), 8.01);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(system, Collective::kPointToPoint, 8, {2, 2}), 0.801);
}

TEST(NerscCollectiveTest, Names) {
  for (const char* name :
       {"allreduce", "allgather", "reducescatter", "broadcast", "reduce", "p2p"}) {
    const absl::StatusOr<Collective> parsed = ParseCollective(name);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(CollectiveName(*parsed), name);
  }
  EXPECT_TRUE(absl::StrContains(ParseCollective("all-reduce").status().message(),
                                "valid are allreduce, allgather"));
  EXPECT_TRUE(PublishedSystem("H200", 8).ok());
  EXPECT_TRUE(absl::StrContains(PublishedSystem("H20", 8).status().message(),
                                "published are A100, H200, B200, B200-next"));
}

}  // namespace
}  // namespace meshwright::transformer::nersc
