#include "meshwright/cluster/mixed_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kLab[] = R"yaml(name: lab
groups:
  - name: fast
    device: a100-40g
    nodes: 6
    available: {on_demand: 1, spot: 2}
    price_per_hour: {on_demand: 4, spot: 1}
  - device: a10g
    nodes: 7
    devices_per_node: 4
    available: 5
    price_per_hour: 1.5
    inter_node: {bandwidth: 40Gbit/s, latency: 9us}
  - name: old
    device: v100
    nodes: 2
between_groups: {name: lan, bandwidth: 5GB/s, latency: 20us}
links:
  - between: [fast, a10g]
    link: {bandwidth: 10GB/s}
)yaml";

std::string MixedYamlError(const std::string& text) {
  return std::string(ParseMixedClusterYaml(text, "f.yaml").status().message());
}

TEST(MixedCluster, GroupsLinksPricesAndNodes) {
  const auto cluster = ParseMixedClusterYaml(kLab, "f.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->name, "lab");
  ASSERT_EQ(cluster->groups.size(), 3u);
  const NodeGroup &fast = cluster->groups[0], &slow = cluster->groups[1];
  EXPECT_EQ(fast.name, "fast");
  EXPECT_EQ(fast.cluster.nodes, 3);
  EXPECT_EQ(fast.cluster.devices_per_node, 8);
  EXPECT_EQ(fast.spot_nodes, 2);
  EXPECT_EQ(slow.name, "a10g");
  EXPECT_EQ(slow.cluster.nodes, 5);
  EXPECT_EQ(slow.cluster.devices_per_node, 4);
  EXPECT_EQ(cluster->devices(), 24 + 20 + 16);
  EXPECT_EQ(cluster->links[0][1].bandwidth_bytes_per_second, 10e9);
  EXPECT_DOUBLE_EQ(cluster->links[0][1].latency_seconds, 20e-6) << "of between_groups";
  EXPECT_EQ(cluster->links[2][0].bandwidth_bytes_per_second, 5e9);
  EXPECT_EQ(cluster->links[1][1].bandwidth_bytes_per_second, 5e9);
  EXPECT_DOUBLE_EQ(cluster->links[1][1].latency_seconds, 9e-6);
  // The cheapest nodes first.
  EXPECT_EQ(PricePerHour(fast, 0), 0);
  EXPECT_EQ(PricePerHour(fast, 2), 16);
  EXPECT_EQ(PricePerHour(fast, 3), 16 + 32);
  EXPECT_EQ(PricePerHour(slow, 5), 5 * 4 * 1.5);
}

// Between groups there are only sends.
TEST(MixedCluster, SwitchesAddInGroupsAlone) {
  const std::string groups =
      "groups:\n- {device: a100-40g, nodes: 1, intra_node: {in_network_reduction: true}}\n"
      "- {device: v100, nodes: 1, inter_node: {in_network_reduction: true}}\n";
  const auto cluster =
      ParseMixedClusterYaml(groups + "between_groups: {bandwidth: 5GB/s}\n", "f.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_TRUE(cluster->groups[0].cluster.intra_node.in_network_reduction);
  EXPECT_FALSE(cluster->groups[0].cluster.inter_node.in_network_reduction);
  EXPECT_TRUE(cluster->groups[1].cluster.inter_node.in_network_reduction);
  EXPECT_THAT(MixedYamlError(groups + "between_groups: {in_network_reduction: true}\n"),
              AllOf(HasSubstr("f.yaml:4:18: unknown key \"in_network_reduction\" in the link "
                              "between_groups"),
                    HasSubstr("Valid are name, bandwidth, latency, efficiency")));
}

TEST(MixedCluster, PricesThatAreNotKnown) {
  NodeGroup group;
  group.cluster.nodes = 3;
  group.cluster.devices_per_node = 2;
  EXPECT_EQ(PricePerHour(group, 1), std::nullopt);
  EXPECT_EQ(PricePerHour(group, 0), 0);
  group.spot_nodes = 2;
  group.spot_price = 1;
  EXPECT_EQ(PricePerHour(group, 2), 4);
  EXPECT_EQ(PricePerHour(group, 3), std::nullopt);
  group.on_demand_price = 0.5;  // cheaper than spot
  EXPECT_EQ(PricePerHour(group, 1), 1);
  EXPECT_EQ(PricePerHour(group, 3), 5);
}

TEST(MixedCluster, JoinedSpecsTakeTheSlowerLink) {
  const auto cluster = ParseMixedCluster("2x8xh100-sxm+3x4xa10g");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->groups.size(), 2u);
  EXPECT_EQ(cluster->links[0][1].name, cluster->links[1][0].name);
  EXPECT_EQ(cluster->links[0][1].name, FindDevice("a10g")->inter_node.name);
  EXPECT_TRUE(IsMixedCluster("2x8xh100-sxm+3x4xa10g"));
  EXPECT_FALSE(IsMixedCluster("2x8xh100-sxm"));
  EXPECT_THAT(ParseMixedCluster("h100-sxm+nothing").status().message(),
              HasSubstr("unknown device \"nothing\""));
  EXPECT_THAT(ParseMixedCluster("h100-sxm+2x8xh100-sxm").status().message(),
              HasSubstr("two groups of h100-sxm"));
  const auto alone = ParseMixedCluster("2x8xh100-sxm");
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->groups.size(), 1u);
}

TEST(MixedCluster, Errors) {
  const std::string head = "groups:\n  - {device: a100-40g, nodes: 2}\n";
  EXPECT_THAT(MixedYamlError(""), HasSubstr("groups"));
  EXPECT_THAT(MixedYamlError("groups: []"),
              HasSubstr("f.yaml:1:9: groups: expected a list of 1 to 8 groups of nodes, found an "
                        "empty list"));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a200, nodes: 2}"),
              HasSubstr("f.yaml:2:14: unknown device \"a200\"; did you mean"));
  EXPECT_THAT(MixedYamlError(head + "  - {device: a10g, nodes: 1}"),
              HasSubstr("no link between a100-40g and a10g; give between_groups"));
  EXPECT_THAT(MixedYamlError(head + "  - {device: a100-40g, nodes: 2}"),
              HasSubstr("f.yaml:3:5: two groups are called \"a100-40g\", the first at 2:5"));
  for (const char* const name : {"a\\nb", "\\e[31m", "a\\u202eb"}) {
    EXPECT_THAT(MixedYamlError("groups:\n  - {name: \"" + std::string(name) +
                               "\", device: a10g, nodes: 1}"),
                HasSubstr("f.yaml:2:12: name: expected text of one line, without control "
                          "characters, found"));
  }
  std::string nine = "groups:\n";
  for (int i = 0; i < 9; ++i)
    nine += "  - {name: g" + std::to_string(i) + ", device: a10g, nodes: 1}\n";
  EXPECT_THAT(MixedYamlError(nine),
              HasSubstr("f.yaml:2:3: groups: expected a list of 1 to 8 groups "
                        "of nodes, found 9 of them"));
  const std::string pair = "  - {device: a10g, nodes: 1}\nlinks:\n";
  const std::string link = ", link: {bandwidth: 1GB/s}}\n";
  EXPECT_THAT(MixedYamlError(head + pair + "  - {between: [a100-40g, a10g]" + link +
                             "  - {between: [a10g, a100-40g]" + link),
              HasSubstr("f.yaml:6:5: the link between a10g and a100-40g is described twice, first "
                        "at 5:5"));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a10g, nodes: 2,\n     nodes: 3}"),
              HasSubstr("f.yaml:3:6: key \"nodes\" stands here twice; the first is at 2:20"));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a10g}"), HasSubstr("needs the key \"nodes\""));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a10g, nodes: 2, available: 3}"),
              HasSubstr("available: found 3 of the 2 nodes"));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a10g, nodes: 2, price_per_hour: {spot: 1}}"),
              HasSubstr("has a price of spot nodes, but none of them"));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a10g, nodes: 2, price_per_hour: {spott: 1}}"),
              HasSubstr("spott"));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a10g, nodes: 2, price_per_hour: free}"),
              HasSubstr("price_per_hour: expected dollars"));
  EXPECT_THAT(
      MixedYamlError(head + "links: [{between: [a100-40g, a10], link: {bandwidth: 1GB/s}}]"),
      HasSubstr("no group is called \"a10\"; did you mean \"a100-40g\"?"));
  EXPECT_THAT(
      MixedYamlError(head + "links: [{between: [a100-40g, a100-40g], link: {bandwidth: 1GB/s}}]"),
      HasSubstr("nodes of one group are linked by inter_node"));
  EXPECT_THAT(MixedYamlError(head + "links: [{between: [a100-40g], link: {bandwidth: 1GB/s}}]"),
              HasSubstr("between: expected two groups"));
  EXPECT_THAT(MixedYamlError("groups:\n  - {device: a10g, nodes: 1048576}"),
              HasSubstr("devices are supported"));
}

}  // namespace
}  // namespace meshwright
