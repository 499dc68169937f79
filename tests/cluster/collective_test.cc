#include "meshwright/cluster/collective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/reference_texts.h"

namespace meshwright {
namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                     CollectiveKind::kCollectivePermute};
constexpr CollectiveAlgorithm kAlgorithms[] = {
    CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree, CollectiveAlgorithm::kHierarchical};

// Round figures: 100 GB/s and 1 us inside nodes, 10 GB/s and 10 us between them.
Cluster Round(int64_t nodes, int64_t per_node) {
  Cluster cluster = *ParseCluster("h100-sxm");
  cluster.nodes = nodes;
  cluster.devices_per_node = per_node;
  cluster.intra_node = {"in", 100e9, 1e-6, 1.0};
  cluster.inter_node = {"out", 20e9, 10e-6, 0.5};
  return cluster;
}

TEST(CollectiveSeconds, HandComputed) {
  const Mesh node = MakeMesh({4}, Round(1, 4));
  const Mesh two_by_four = MakeMesh({8}, Round(2, 4));
  const struct {
    const char* what;
    const Mesh& mesh;
    CollectiveKind kind;
    CollectiveAlgorithm algorithm;
    double seconds;
  } kCases[] = {
      // 4 members, 1 GB: 3 steps of 1 us, 0.75 GB over 100 GB/s.
      {"ring", node, CollectiveKind::kAllGather, CollectiveAlgorithm::kRing, 3e-6 + 7.5e-3},
      {"ring", node, CollectiveKind::kReduceScatter, CollectiveAlgorithm::kRing, 3e-6 + 7.5e-3},
      {"ring", node, CollectiveKind::kAllReduce, CollectiveAlgorithm::kRing, 6e-6 + 15e-3},
      {"tree", node, CollectiveKind::kAllReduce, CollectiveAlgorithm::kTree, 4e-6 + 15e-3},
      {"hierarchical is a ring in one node", node, CollectiveKind::kAllReduce,
       CollectiveAlgorithm::kHierarchical, 6e-6 + 15e-3},
      {"direct", node, CollectiveKind::kAllToAll, CollectiveAlgorithm::kRing, 3e-6 + 7.5e-3},
      {"one message", node, CollectiveKind::kCollectivePermute, CollectiveAlgorithm::kRing,
       1e-6 + 10e-3},
      // 8 members on 2 nodes: 6 steps inside, 1 outside, 0.875 GB at 10 GB/s.
      {"ring over nodes", two_by_four, CollectiveKind::kAllGather, CollectiveAlgorithm::kRing,
       6e-6 + 10e-6 + 87.5e-3},
      {"tree over nodes", two_by_four, CollectiveKind::kAllGather, CollectiveAlgorithm::kTree,
       2e-6 + 10e-6 + 87.5e-3},
      // Inside 0.75 GB at 100 GB/s = 7.5 ms; outside 1/2 x 1/4 GB at 10 GB/s = 12.5 ms: the slower.
      {"rails", two_by_four, CollectiveKind::kAllGather, CollectiveAlgorithm::kHierarchical,
       3e-6 + 10e-6 + 12.5e-3},
      {"rails", two_by_four, CollectiveKind::kAllReduce, CollectiveAlgorithm::kHierarchical,
       2 * (3e-6 + 10e-6 + 12.5e-3)},
      // To 3 neighbours 3/8 GB inside (3.75 ms), to 4 others 4/8 GB outside (50 ms) at once.
      {"direct over nodes", two_by_four, CollectiveKind::kAllToAll, CollectiveAlgorithm::kRing,
       3e-6 + 40e-6 + 50e-3},
      {"two phases", two_by_four, CollectiveKind::kAllToAll, CollectiveAlgorithm::kHierarchical,
       3e-6 + 10e-6 + 7.5e-3 + 50e-3},
      {"slowest pair", two_by_four, CollectiveKind::kCollectivePermute, CollectiveAlgorithm::kRing,
       10e-6 + 100e-3},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.what) + ", " + std::string(CollectiveName(c.kind)));
    EXPECT_NEAR(CollectiveSeconds(c.mesh, c.kind, c.algorithm, {0}, 1'000'000'000), c.seconds,
                1e-12);
  }
}

// 8 nodes of 2, units of 4 nodes, leaves with half of their ports' bandwidth to the spine. 10 GB/s
// a port.
TEST(CollectiveSeconds, TellsUnitsOfTheFabricApart) {
  Cluster rails = Round(8, 2), flat = rails, none = rails;
  rails.fabric = {.unit_nodes = 4, .rails = true, .oversubscription = 2};
  flat.fabric = {.unit_nodes = 4, .rails = false, .oversubscription = 2};
  const auto bytes_seconds = [](const Cluster& cluster, std::vector<int64_t> sizes,
                                const AxisList& axes, CollectiveKind kind,
                                CollectiveAlgorithm algorithm) {
    const Mesh mesh = MakeMesh(sizes, cluster);
    return CollectiveSeconds(mesh, kind, algorithm, axes, 1'000'000'000) -
           CollectiveSeconds(mesh, kind, algorithm, axes, 0);
  };
  constexpr CollectiveAlgorithm kRing = CollectiveAlgorithm::kRing,
                                kHierarchical = CollectiveAlgorithm::kHierarchical;
  // 4 GPUs of the 4 nodes of a unit, each on its node's port 0 or 1: leaves alone.
  for (const Cluster& cluster : {rails, flat, none}) {
    EXPECT_NEAR(bytes_seconds(cluster, {2, 4, 2}, {1}, CollectiveKind::kAllGather, kRing), 75e-3,
                1e-9);
    EXPECT_NEAR(bytes_seconds(cluster, {2, 4, 2}, {1}, CollectiveKind::kAllToAll, kRing), 75e-3,
                1e-9);
  }
  // One GPU of each of 8 nodes: of a unit's 4 ports one sends to the other unit, which its links
  // take at full speed; of all-to-all 4 of 7 parts go there.
  EXPECT_NEAR(bytes_seconds(rails, {8, 2}, {0}, CollectiveKind::kAllGather, kRing), 87.5e-3, 1e-9);
  EXPECT_NEAR(bytes_seconds(rails, {8, 2}, {0}, CollectiveKind::kAllToAll, kRing),
              2 * 4.0 / 7 * 87.5e-3, 1e-9);
  // Every second node: 2 in a unit. One of them sends out, with its own and the other's links.
  EXPECT_NEAR(bytes_seconds(rails, {4, 2, 2}, {0}, CollectiveKind::kAllGather, kRing), 75e-3, 1e-9);
  // Pairs of nodes in different units: all of their traffic takes the spine.
  EXPECT_NEAR(bytes_seconds(rails, {2, 4, 2}, {0}, CollectiveKind::kAllGather, kRing), 2 * 50e-3,
              1e-9);
  EXPECT_NEAR(bytes_seconds(rails, {2, 4, 2}, {0}, CollectiveKind::kCollectivePermute, kRing),
              2 * 100e-3, 1e-9);
  EXPECT_NEAR(bytes_seconds(none, {2, 4, 2}, {0}, CollectiveKind::kCollectivePermute, kRing),
              100e-3, 1e-9);
  // A ring over both GPUs of a unit's nodes changes rails at every node; rails side by side do not,
  // nor does a ring where a node has one leaf.
  const std::vector<int64_t> unit = {2, 8};
  EXPECT_NEAR(bytes_seconds(rails, unit, {1}, CollectiveKind::kAllGather, kRing), 2 * 87.5e-3,
              1e-9);
  EXPECT_NEAR(bytes_seconds(flat, unit, {1}, CollectiveKind::kAllGather, kRing), 87.5e-3, 1e-9);
  EXPECT_NEAR(bytes_seconds(rails, unit, {1}, CollectiveKind::kAllGather, kHierarchical),
              3.0 / 4 / 2 * 100e-3, 1e-9);
  // To 6 GPUs of other nodes, 3 of which are on the same rail.
  EXPECT_NEAR(bytes_seconds(rails, unit, {1}, CollectiveKind::kAllToAll, kRing), 6.0 / 8 * 100e-3,
              1e-9);
  Cluster narrow = rails;
  narrow.fabric.oversubscription = 4;
  EXPECT_NEAR(bytes_seconds(narrow, unit, {1}, CollectiveKind::kAllToAll, kRing),
              4 * 3.0 / 8 * 100e-3, 1e-9);
}

Cluster Adding(Cluster cluster, bool inside, bool between) {
  cluster.intra_node.in_network_reduction = inside;
  cluster.inter_node.in_network_reduction = between;
  return cluster;
}

// 1 GB over 100 GB/s and 1 us inside nodes, 10 GB/s and 10 us between them.
TEST(CollectiveSeconds, SwitchesThatAddHandComputed) {
  const struct {
    const char* what;
    int64_t nodes, per_node;
    bool inside, between;
    double seconds;
  } kCases[] = {
      {"ring of 8 GPUs", 1, 8, false, true, 14e-6 + 17.5e-3},
      // Each sends all and its part of the sum.
      {"8 GPUs", 1, 8, true, false, 2e-6 + 11.25e-3},
      {"3 GPUs: no fewer bytes, but fewer steps", 1, 3, true, false, 2e-6 + 4.0 / 3 * 10e-3},
      {"2 GPUs would send more", 1, 2, true, false, 2e-6 + 10e-3},
      {"8 nodes without", 8, 1, true, false, 60e-6 + 175e-3},
      {"8 nodes", 8, 1, false, true, 20e-6 + 100e-3},
      {"2 nodes send as much", 2, 1, false, true, 20e-6 + 100e-3},
      // Rails carry 1/4 of the bytes: the network is the slower.
      {"4 nodes of 4", 4, 4, true, true, 2e-6 + 20e-6 + 25e-3},
      {"4 nodes of 4, inside alone", 4, 4, true, false, 2e-6 + 40e-6 + 37.5e-3},
      {"4 nodes of 4, between alone", 4, 4, false, true, 6e-6 + 20e-6 + 25e-3},
      // 1/16 each, 6.25 ms: NVLink is the slower.
      {"4 nodes of 16", 4, 16, true, true, 2e-6 + 20e-6 + 17.0 / 16 * 10e-3},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    const Cluster cluster = Adding(Round(c.nodes, c.per_node), c.inside, c.between);
    const Mesh mesh = MakeMesh({c.nodes * c.per_node}, cluster);
    EXPECT_NEAR(CollectiveSeconds(mesh, CollectiveKind::kAllReduce,
                                  CollectiveAlgorithm::kHierarchical, {0}, 1'000'000'000),
                c.seconds, 1e-12);
  }
}

// No all-reduce is slower, some are faster, and all else is as without.
TEST(CollectiveSeconds, SwitchesThatAddSlowNothingDown) {
  int faster = 0;
  for (const int64_t nodes : {1, 2, 3, 8}) {
    for (const int64_t per_node : {1, 2, 3, 4, 8}) {
      Cluster without = Round(nodes, per_node);
      if (nodes == 8) without.fabric = {.unit_nodes = 4, .rails = true, .oversubscription = 6};
      const std::vector<int64_t> sizes = {nodes, per_node};
      const Mesh plain = MakeMesh(sizes, without);
      for (const auto& [inside, between] : {std::pair(true, false), {false, true}, {true, true}}) {
        const Mesh adding = MakeMesh(sizes, Adding(without, inside, between));
        const CollectiveTimes times(adding);
        for (const AxisList& axes : {AxisList{0}, {1}, {0, 1}}) {
          for (const CollectiveKind kind : kKinds) {
            for (const int64_t bytes : {int64_t{1}, int64_t{1} << 20, int64_t{1} << 33}) {
              const double before = CollectiveSeconds(plain, kind, axes, bytes);
              const double after = CollectiveSeconds(adding, kind, axes, bytes);
              EXPECT_EQ(times.Seconds(kind, axes, bytes), after);
              EXPECT_NEAR(CollectiveLines(adding, kind, axes).Seconds(bytes), after, 1e-12 * after);
              if (kind == CollectiveKind::kAllReduce) {
                EXPECT_LE(after, before);
                faster += after < before ? 1 : 0;
              } else {
                EXPECT_EQ(after, before) << CollectiveName(kind);
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(faster, 100);
}

TEST(CollectiveSeconds, PicksTheFastestAlgorithm) {
  const Mesh mesh = MakeMesh({8}, Round(2, 4));
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveSeconds(mesh, CollectiveKind::kAllReduce, {0}, 1'000'000'000, &algorithm);
  EXPECT_EQ(algorithm, CollectiveAlgorithm::kHierarchical);
  CollectiveSeconds(mesh, CollectiveKind::kAllReduce, {0}, 8, &algorithm);
  EXPECT_EQ(algorithm, CollectiveAlgorithm::kTree);
  for (CollectiveKind kind : kKinds) {
    for (int64_t bytes : {int64_t{1}, int64_t{1} << 20, int64_t{1} << 32}) {
      const double best = CollectiveSeconds(mesh, kind, {0}, bytes);
      for (CollectiveAlgorithm a : kAlgorithms)
        EXPECT_LE(best, CollectiveSeconds(mesh, kind, a, {0}, bytes));
    }
  }
}

TEST(CollectiveSeconds, Invariants) {
  for (const DeviceType& device : BuiltinDevices()) {
    SCOPED_TRACE(device.name);
    Cluster cluster = *ParseCluster(device.name);
    cluster.nodes = 4;
    cluster.devices_per_node = 4;
    const Mesh mesh = MakeMesh({4, 4}, cluster);  // y inside nodes, x between them
    for (CollectiveKind kind : kKinds) {
      SCOPED_TRACE(CollectiveName(kind));
      double previous = 0;
      for (int64_t bytes = 0; bytes < int64_t{1} << 36; bytes = bytes * 3 + 1) {
        const double inside = CollectiveSeconds(mesh, kind, {1}, bytes);
        const double across = CollectiveSeconds(mesh, kind, {0}, bytes);
        const double all = CollectiveSeconds(mesh, kind, {0, 1}, bytes);
        EXPECT_LE(inside, across);
        EXPECT_LE(inside, all);
        EXPECT_GT(inside, previous);  // strictly monotone in bytes
        previous = inside;
        for (CollectiveAlgorithm algorithm : kAlgorithms) {
          EXPECT_DOUBLE_EQ(
              CollectiveSeconds(mesh, CollectiveKind::kAllReduce, algorithm, {0, 1}, bytes),
              CollectiveSeconds(mesh, CollectiveKind::kReduceScatter, algorithm, {0, 1}, bytes) +
                  CollectiveSeconds(mesh, CollectiveKind::kAllGather, algorithm, {0, 1}, bytes));
        }
      }
    }
  }
}

TEST(CollectiveSeconds, OneMemberIsFree) {
  const Mesh mesh = MakeMesh({1, 4}, Round(1, 4));
  for (CollectiveKind kind : kKinds) {
    EXPECT_EQ(CollectiveSeconds(mesh, kind, {0}, 1 << 30), 0);
    EXPECT_EQ(CollectiveSeconds(mesh, kind, {}, 1 << 30), 0);
  }
}

// NCCL on four H100 of one node, messages of 64 MiB and more. 40 us stand for the start of the
// kernels, which these formulas leave to the cost model.
void CheckMeasuredCollectives(const std::string& text) {
  const struct {
    const char* name;
    CollectiveKind kind;
  } kNames[] = {{"all_reduce", CollectiveKind::kAllReduce},
                {"all_gather", CollectiveKind::kAllGather},
                {"reduce_scatter", CollectiveKind::kReduceScatter},
                {"all_to_all", CollectiveKind::kAllToAll},
                {"send_recv", CollectiveKind::kCollectivePermute}};
  int rows = 0;
  double worst = 0, sum = 0;
  std::istringstream file(text);
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string op, group, bytes, type, microseconds;
    std::getline(in, op, ',');
    std::getline(in, group, ',');
    std::getline(in, bytes, ',');
    std::getline(in, type, ',');
    std::getline(in, microseconds, ',');
    for (const auto& name : kNames) {
      if (op != name.name || std::stoll(bytes) < 64 << 20) continue;
      const Mesh mesh = MakeMesh({std::stoll(group)}, *ParseCluster(group + "xh100-sxm"));
      const double predicted = 40e-6 + CollectiveSeconds(mesh, name.kind, {0}, std::stoll(bytes));
      const double error = predicted / (std::stod(microseconds) * 1e-6) - 1;
      EXPECT_LT(std::abs(error), 0.25) << line << ": predicted " << predicted * 1e6 << " us";
      worst = std::max(worst, std::abs(error));
      sum += std::abs(error);
      ++rows;
    }
  }
  EXPECT_EQ(rows, 30);
  std::cout << rows << " rows, mean error " << sum / rows << ", worst " << worst << "\n";
}

TEST(CollectiveSeconds, CloseToMeasured) {
  for (const ReferenceText& measured :
       ReferenceTexts("measured/h100x4_micro.csv.gz", "measured/h100x4_micro.csv")) {
    SCOPED_TRACE(measured.path);
    CheckMeasuredCollectives(measured.text);
  }
}

TEST(CollectiveLines, AreTheFastestAlgorithmsTimes) {
  const Mesh mesh = MakeMesh({2, 3, 4, 2}, *ParseCluster("6x8xh100-sxm"));
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll, CollectiveKind::kCollectivePermute}) {
    for (const AxisList& axes : {AxisList{0}, {1}, {2}, {3}, {1, 2}, {0, 1, 2, 3}}) {
      const CollectiveLines lines(mesh, kind, axes);
      for (int64_t bytes :
           {int64_t{0}, int64_t{1}, int64_t{4097}, int64_t{1} << 24, int64_t{1234567890123}}) {
        const double wanted = CollectiveSeconds(mesh, kind, axes, bytes);
        EXPECT_NEAR(lines.Seconds(bytes), wanted, 1e-13 * wanted)
            << CollectiveName(kind) << " of " << bytes << " over " << axes.size() << " axes";
      }
    }
  }
}

}  // namespace
}  // namespace meshwright
