#include "meshwright/cluster/cluster.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace meshwright {
namespace {

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(BuiltinDevices, RowsAreCompleteAndPlausible) {
  std::set<std::string> names;
  for (const DeviceType& device : BuiltinDevices()) {
    SCOPED_TRACE(device.name);
    EXPECT_TRUE(names.insert(device.name).second);
    EXPECT_FALSE(device.description.empty());
    EXPECT_FALSE(device.source.empty());
    EXPECT_GE(device.memory_bytes, int64_t{16} << 30);
    EXPECT_GE(device.memory_bytes_per_second, 100e9);
    EXPECT_LE(device.memory_bytes_per_second, 20e12);
    EXPECT_FALSE(device.peak_flops.empty());
    for (const auto& [type, flops] : device.peak_flops) {
      EXPECT_GE(flops, 1e11) << type;
      EXPECT_LE(flops, 2e16) << type;
    }
    EXPECT_GE(device.PeakFlops("bf16"), device.PeakFlops("f32"));
    EXPECT_GE(device.PeakFlops("f16"), device.PeakFlops("f32"));
    for (const Link& link : {device.intra_node, device.inter_node}) {
      EXPECT_FALSE(link.name.empty());
      EXPECT_GT(link.bandwidth_bytes_per_second, 0);
      EXPECT_GT(link.latency_seconds, 0);
      EXPECT_GT(link.efficiency, 0);
      EXPECT_LE(link.efficiency, 1);
    }
    // Staying inside a node never hurts.
    EXPECT_GE(device.intra_node.achievable(), device.inter_node.achievable());
    EXPECT_LE(device.intra_node.latency_seconds, device.inter_node.latency_seconds);
  }
  for (const char* name : {"h100-sxm", "h100-pcie", "h200", "b200", "gb200-nvl72", "b300",
                           "gb300-nvl72", "h100-96g", "a100-80g", "a100-40g", "a100-40g-pcie",
                           "v100", "a10g", "l4", "rtx3090", "mi300x", "tpu-v5p"}) {
    EXPECT_NE(FindDevice(name), nullptr) << name;
  }
  EXPECT_EQ(FindDevice("abacus"), nullptr);
}

TEST(PeakFlops, FallsBackToWiderTypes) {
  const DeviceType& v100 = *FindDevice("v100");
  EXPECT_DOUBLE_EQ(v100.PeakFlops("f16"), 125e12);
  EXPECT_DOUBLE_EQ(v100.PeakFlops("bf16"), 15.7e12);  // no bf16: computed in f32
  EXPECT_DOUBLE_EQ(v100.PeakFlops("f8e4m3fn"), 15.7e12);
  EXPECT_DOUBLE_EQ(v100.PeakFlops("s8"), 125e12);
  const DeviceType& h100 = *FindDevice("h100-sxm");
  EXPECT_DOUBLE_EQ(h100.PeakFlops("f4e2m1fn"), 1978.9e12);
  EXPECT_DOUBLE_EQ(h100.PeakFlops("pred"), 1978.9e12);
  EXPECT_DOUBLE_EQ(h100.PeakFlops("c64"), 67e12);  // unknown: the slowest
  EXPECT_DOUBLE_EQ(FindDevice("mi300x")->PeakFlops("f8e4m3fn"), 2614.9e12);
}

TEST(ParseCluster, ReadsCounts) {
  const struct {
    const char* spec;
    int64_t nodes, per_node;
    const char* device;
  } kCases[] = {
      {"h100-sxm", 1, 1, "h100-sxm"},
      {"8xh100-sxm", 1, 8, "h100-sxm"},
      {"6xh100-sxm", 1, 6, "h100-sxm"},
      {"32xh100-sxm", 4, 8, "h100-sxm"},
      {"16x8xh100-sxm", 16, 8, "h100-sxm"},
      {"2x10xrtx3090", 2, 10, "rtx3090"},
      {"4xrtx3090", 1, 4, "rtx3090"},
      {"72xgb200-nvl72", 1, 72, "gb200-nvl72"},
      {"144xgb200-nvl72", 2, 72, "gb200-nvl72"},
      {"8xMI300X", 1, 8, "mi300x"},
      {"16xtpu-v5p", 4, 4, "tpu-v5p"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    const absl::StatusOr<Cluster> cluster = ParseCluster(c.spec);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ(cluster->nodes, c.nodes);
    EXPECT_EQ(cluster->devices_per_node, c.per_node);
    EXPECT_EQ(cluster->device.name, c.device);
    EXPECT_EQ(cluster->name, c.spec);
    EXPECT_EQ(cluster->intra_node.name, cluster->device.intra_node.name);
  }
}

TEST(ParseCluster, ErrorsSayWhatWouldBeValid) {
  const struct {
    const char* spec;
    const char* part;
  } kCases[] = {
      {"8xh100-smx", "did you mean \"h100-sxm\"?"},
      {"8xh100-smx", "`meshwright clusters`"},
      {"8xA100-80GB", "did you mean \"a100-80g\"?"},
      {"12xh100-sxm", "8 or 16"},
      {"0xh100-sxm", "from 1 to"},
      {"99999999999999999999xh100-sxm", "from 1 to"},
      {"1048576x1048576xh100-sxm", "from 1 to"},
      {"", "empty cluster"},
      {"8x", "the type of the devices is missing"},
      {"16", "the type of the devices is missing"},
      {"8xh100-sxm+", "nothing stands on one side of a +"},
      {"2x8xh100-sxm+4x8xa100-80g", "pipelines of programs (--pipeline auto)"},
      {"no/such/file.yaml", "no/such/file.yaml"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    const absl::StatusOr<Cluster> cluster = ParseCluster(c.spec);
    ASSERT_FALSE(cluster.ok());
    EXPECT_NE(Message(cluster.status()).find(c.part), std::string::npos)
        << Message(cluster.status());
  }
}

TEST(ParseClusterYaml, ReadsFiles) {
  const std::string folder = std::string(MESHWRIGHT_TEST_DATA) + "/cluster/";
  absl::StatusOr<Cluster> cluster = ParseCluster(folder + "pod.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->name, "training-pod");
  EXPECT_EQ(cluster->nodes, 4);
  EXPECT_EQ(cluster->devices_per_node, 8);
  EXPECT_EQ(cluster->device.name, "h100-sxm");
  EXPECT_DOUBLE_EQ(cluster->device.price_per_hour, 2.5);
  EXPECT_DOUBLE_EQ(cluster->inter_node.bandwidth_bytes_per_second, 25e9);
  EXPECT_DOUBLE_EQ(cluster->inter_node.latency_seconds, 8e-6);
  EXPECT_DOUBLE_EQ(cluster->inter_node.efficiency, 0.85);  // not given: the device's
  EXPECT_DOUBLE_EQ(cluster->intra_node.bandwidth_bytes_per_second, 450e9);

  cluster = ParseCluster(folder + "lab.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->devices(), 8);
  EXPECT_EQ(cluster->device.memory_bytes, int64_t{48} << 30);
  EXPECT_DOUBLE_EQ(cluster->device.PeakFlops("bf16"), 181e12);
  EXPECT_DOUBLE_EQ(cluster->inter_node.bandwidth_bytes_per_second, 25e9 / 8);
  EXPECT_DOUBLE_EQ(cluster->inter_node.efficiency, 1);

  cluster = ParseCluster(folder + "variant.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->device.name, "h100-96g");
  EXPECT_EQ(cluster->device.memory_bytes, int64_t{96} << 30);
  EXPECT_DOUBLE_EQ(cluster->device.PeakFlops("bf16"), 900e12);
  EXPECT_DOUBLE_EQ(cluster->device.PeakFlops("f32"), 494.7e12);
  EXPECT_EQ(cluster->devices_per_node, 4);
  EXPECT_EQ(cluster->name, folder + "variant.yaml");
}

TEST(ParseClusterYaml, ReadsFabrics) {
  const absl::StatusOr<Cluster> rails = ParseClusterYaml(
      "device: h100-sxm\nnodes: 64\nfabric: {unit_nodes: 32, oversubscription: 2}\n", "c.yaml");
  ASSERT_TRUE(rails.ok()) << rails.status();
  EXPECT_EQ(rails->fabric, (Fabric{.unit_nodes = 32, .rails = true, .oversubscription = 2}));
  const absl::StatusOr<Cluster> racks = ParseClusterYaml(
      "device: h100-sxm\nnodes: 64\nfabric: {unit_nodes: 4, rails: false}\n", "c.yaml");
  ASSERT_TRUE(racks.ok()) << racks.status();
  EXPECT_EQ(racks->fabric, (Fabric{.unit_nodes = 4, .rails = false, .oversubscription = 1}));
  EXPECT_EQ(ParseCluster("64x8xh100-sxm")->fabric, Fabric{});
}

TEST(ParseClusterYaml, ReadsSwitchesThatAdd) {
  const absl::StatusOr<Cluster> cluster = ParseClusterYaml(
      "device: h100-sxm\nintra_node: {in_network_reduction: true}\n"
      "inter_node: {latency: 6us, in_network_reduction: false}\n",
      "c.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_TRUE(cluster->intra_node.in_network_reduction);
  EXPECT_FALSE(cluster->inter_node.in_network_reduction);
  EXPECT_DOUBLE_EQ(cluster->intra_node.bandwidth_bytes_per_second, 450e9);
  for (const DeviceType& device : BuiltinDevices()) {
    EXPECT_FALSE(device.intra_node.in_network_reduction) << device.name;
    EXPECT_FALSE(device.inter_node.in_network_reduction) << device.name;
  }
}

TEST(ParseClusterYaml, ErrorsCarryPlaces) {
  const struct {
    const char* text;
    const char* start;
    const char* part;
  } kCases[] = {
      {"", "c.yaml:1:1: ", "empty"},
      {"device: h100-sxn\n", "c.yaml:1:9: ", "did you mean \"h100-sxm\""},
      {"device: h100-sxm\nnoodles: 4\n",
       "c.yaml:2:1: ", "did you mean \"nodes\"? Valid are name, device, nodes"},
      {"device: h100-sxm\nnodes: 4\nnodes: 5\n", "c.yaml:3:1: ", "twice"},
      {"device: h100-sxm\nnodes: many\n", "c.yaml:2:8: ", "\"many\""},
      {"device: h100-sxm\nnodes: 0\n", "c.yaml:2:8: ", "from 1 to"},
      {"device: h100-sxm\nnodes: 1048576\ndevices_per_node: 1048576\n", "c.yaml:1:1: ", "at most"},
      {"nodes: 4\n", "c.yaml:1:1: ", "needs the key \"device\""},
      {"- a\n- b\n", "c.yaml:1:1: ", "found a list"},
      {"device: [h100-sxm]\n", "c.yaml:1:9: ", "found a list"},
      {"device: {name: a, memory: 80GiB, peak_flops: {bf16: 1e12}}\n",
       "c.yaml:1:9: ", "memory_bandwidth"},
      {"device: {name: a, memory: 80 apples, memory_bandwidth: 1TB/s, peak_flops: {bf16: 1e12}}\n",
       "c.yaml:1:27: ", "80 apples"},
      {"device: {name: a, memory: 0, memory_bandwidth: 1TB/s, peak_flops: {bf16: 1e12}}\n",
       "c.yaml:1:27: ", "more than zero"},
      {"device: {name: a, memory: 1GB, memory_bandwidth: 1TB/s, peak_flops: {}}\n",
       "c.yaml:1:69: ", "at least one"},
      {"device: {name: a, memory: 1GB, memory_bandwidth: 1TB/s, peak_flops: {fp16: 1e12}}\n",
       "c.yaml:1:70: ", "did you mean \"f16\""},
      {"device: {name: a, memory: 1GB, memory_bandwidth: 1TB/s, peak_flops: {f16: "
       "1e12}}\ndevices_per_node: 2\n",
       "c.yaml:1:1: ", "give intra_node"},
      {"device: {name: a, memory: 1GB, memory_bandwidth: 1TB/s, peak_flops: {f16: "
       "1e12}}\ndevices_per_node: 1\nnodes: 2\n",
       "c.yaml:1:1: ", "give inter_node"},
      {"device: h100-sxm\nintra_node: {efficiency: 1.5}\n", "c.yaml:2:26: ", "at most 1"},
      {"device: h100-sxm\nintra_node: {in_network_reduction: 2}\n",
       "c.yaml:2:36: ", "in_network_reduction: expected true or false, found \"2\""},
      {"device: h100-sxm\ninter_node: {in_network_reductions: true}\n",
       "c.yaml:2:14: ", "did you mean \"in_network_reduction\""},
      {"device: h100-sxm\nintra_node: {bandwidth: 0}\n", "c.yaml:2:25: ", "more than zero"},
      {"device: h100-sxm\nintra_node: {bandwidth: 1e-300}\n", "c.yaml:2:25: ", "from 1kB/s to"},
      {"device: h100-sxm\nintra_node: {latency: 1e300s}\n", "c.yaml:2:23: ", "at most 1000s"},
      {"device: h100-sxm\nprice_per_hour: -1\n", "c.yaml:2:17: ", "dollars"},
      {"device: {h100-sxm\n", "c.yaml:", "not valid YAML"},
      {"device: h100-sxm\n---\ndevice: v100\n", "c.yaml:3:1: ", "second document"},
      {", device: h100-sxm\n", "c.yaml:1:1: ", "found ',' where a value or the end"},
      {"device: h100-sxm\n...\n,\n", "c.yaml:3:1: ", "found ',' where a value or the end"},
      {"device: h100-sxm\nnodes: 8\nfabric: {unit_nodes: 3}\n",
       "c.yaml:3:22: ", "unit_nodes 3 does not divide the 8 nodes; expected a divisor"},
      {"device: h100-sxm\nfabric: {rails: true}\n", "c.yaml:2:9: ", "unit_nodes"},
      {"device: h100-sxm\nfabric: {unit_nodes: 2, rails: 8}\n", "c.yaml:2:32: ", "true or false"},
      {"device: h100-sxm\nfabric: {unit_nodes: 2, oversubscription: 0.5}\n",
       "c.yaml:2:43: ", "a number from 1 to 1000"},
      {"device: h100-sxm\nfabric: 2\n", "c.yaml:2:9: ", "found"},
      {"device: *nowhere\n", "c.yaml:", "not valid YAML"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Cluster> cluster = ParseClusterYaml(c.text, "c.yaml");
    ASSERT_FALSE(cluster.ok());
    EXPECT_EQ(Message(cluster.status()).rfind(c.start, 0), 0u) << Message(cluster.status());
    EXPECT_NE(Message(cluster.status()).find(c.part), std::string::npos)
        << Message(cluster.status());
    EXPECT_EQ(Message(cluster.status()).find('\n'), std::string::npos);
  }
}

TEST(ParseClusterYaml, ABaseGivesWhatWasMeasuredOnIt) {
  const absl::StatusOr<Cluster> cluster = ParseClusterYaml(
      "name: a\ndevice: {name: d, base: h100-sxm, memory: 96GiB}\nintra_node: {latency: 3us}\n",
      "a.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->device.name, "d");
  EXPECT_EQ(cluster->device.measured_as(), "h100-sxm");
  EXPECT_EQ(FindDevice("h200")->measured_as(), "h200");
  EXPECT_FALSE(cluster->device.grouped_products);
  const absl::StatusOr<Cluster> tpus = ParseClusterYaml(
      "name: a\ndevice: {name: d, base: tpu-v5p, memory: 96GiB}\nintra_node: {latency: 3us}\n",
      "a.yaml");
  ASSERT_TRUE(tpus.ok()) << tpus.status();
  EXPECT_TRUE(tpus->device.grouped_products);
}

TEST(ParseClusterYaml, LinksWithoutANameAreCalledAsTheirField) {
  const absl::StatusOr<Cluster> cluster = ParseClusterYaml(
      "name: a\nnodes: 2\ndevice: {name: d, memory: 9GiB, memory_bandwidth: 1TB/s, peak_flops: "
      "{bf16: 9TFLOPS}}\nintra_node: {bandwidth: 9GB/s}\ninter_node: {name: e, bandwidth: 1GB/s}\n",
      "a.yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->intra_node.name, "intra_node");
  EXPECT_EQ(cluster->inter_node.name, "e");
}

// Whatever stands in a file, the answer is a cluster or an error.
TEST(ParseClusterYaml, SurvivesHostileText) {
  const std::string valid =
      "name: a\ndevice: {name: d, base: h100-sxm, memory: 80GiB}\nintra_node: {latency: 3us}\n";
  for (size_t cut = 0; cut <= valid.size(); ++cut) {
    (void)ParseClusterYaml(valid.substr(0, cut), "cut");
    for (char c : {'{', '\n', ':', '\0', '\xff'}) {
      std::string damaged = valid;
      if (cut < damaged.size()) damaged[cut] = c;
      (void)ParseClusterYaml(damaged, "damaged");
    }
  }
  EXPECT_FALSE(ParseClusterYaml(std::string(100'000, '['), "deep").ok());
  EXPECT_FALSE(ParseClusterYaml(std::string(100'000, '{'), "deep").ok());
  EXPECT_FALSE(ParseClusterYaml("a: &a [*a]\n", "cycle").ok());
  EXPECT_FALSE(ParseClusterYaml("? {a: b}\n: c\n", "map key").ok());
}

}  // namespace
}  // namespace meshwright
