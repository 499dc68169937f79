// The built-in device types, one row each. Compute is dense (data sheets often print figures "with
// sparsity", twice as high). Three rules hold for every row:
//
//  * Memory: accelerators are sold in "GB" that are GiB (an "80 GB" H100 reports 81559 MiB), so
//    capacities are written in GiB. What a runtime keeps for itself is the planner's business, not
//    the device's.
//  * "f32" is what frameworks do with f32 inputs by default: TF32 on tensor cores since Ampere,
//    bf16 passes on TPUs (JAX's default matmul precision), plain FMA where there is neither.
//  * Links: one direction, per device. The inter-node link is the network card that the common
//    server of this device type gives each device.
//
// Efficiency of links, measured once per protocol with NCCL's large messages rather than fitted per
// size: NVLink 0.70 (4 x H100 SXM: all-gather, all-reduce and all-to-all of 1 GiB reach 0.59 to
// 0.82 of 450 GB/s); PCIe 0.75 (128b/130b coding, packet headers and completions: about 24 of 32
// GB/s in nccl-tests); InfiniBand and RoCE 0.85 (about 42 of 50 GB/s per NDR port); ICI 0.90 (the
// JAX scaling book works with 90 of 100 GB/s a link).
//
// Prices: on-demand Linux list price of a device-hour, us-east-1 (AWS) or us-east5 (Google), 2025.

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/device_names.h"

namespace meshwright {
namespace {

constexpr double kTera = 1e12;
constexpr double kGB = 1e9;        // bytes, and bytes per second
constexpr double kMicro = 1e-6;    // seconds
constexpr double kGbit = 1e9 / 8;  // bytes

struct LinkRow {
  const char* name;
  double bytes_per_second, latency_seconds, efficiency;
};

struct PeakRow {
  const char* type = nullptr;  // nullptr ends a list
  double flops = 0;
};

struct Peaks {
  constexpr Peaks(std::initializer_list<PeakRow> peaks) {
    std::copy(peaks.begin(), peaks.end(), rows);
  }
  PeakRow rows[8];
};

// DeviceType as constant data, field by field.
struct DeviceRow {
  const char* name;
  const char* description;
  int64_t memory_bytes;
  double memory_bytes_per_second;
  Peaks peak_flops;
  int devices_per_node = 8;
  LinkRow intra_node, inter_node;
  double price_per_hour = 0;
  double matmul_efficiency = kMatmulEfficiency;
  bool grouped_products = false;
  const char* source;
};

constexpr int64_t GiB(double n) { return static_cast<int64_t>(n * (int64_t{1} << 30)); }

// NVLink through NVSwitch: `gigabytes` is half the data sheet's bidirectional figure. 3 us a hop:
// NCCL's small all-reduces on 4 H100 grow by 2 to 3 us with each ring step.
constexpr LinkRow NvLink(const char* name, double gigabytes) {
  return {name, gigabytes * kGB, 3 * kMicro, 0.70};
}
constexpr LinkRow Pcie(const char* name, double gigabytes) {
  return {name, gigabytes * kGB, 5 * kMicro, 0.75};
}
// RDMA network, `gigabits` a device.
constexpr LinkRow Network(const char* name, double gigabits) {
  return {name, gigabits * kGbit, 6 * kMicro, 0.85};
}

// Peaks of chips that are sold with several memories, in several forms.
constexpr Peaks kH100SxmPeaks = {{"f64", 67 * kTera},          {"f32", 494.7 * kTera},
                                 {"f16", 989.4 * kTera},       {"bf16", 989.4 * kTera},
                                 {"f8e4m3fn", 1978.9 * kTera}, {"f8e5m2", 1978.9 * kTera},
                                 {"s8", 1978.9 * kTera}};
constexpr Peaks kA100Peaks = {{"f64", 19.5 * kTera}, {"f32", 156 * kTera}, {"f16", 312 * kTera},
                              {"bf16", 312 * kTera}, {"s8", 624 * kTera},  {"s4", 1248 * kTera}};

constexpr DeviceRow kRows[] = {

    {
        .name = "h100-sxm",
        .description = "NVIDIA H100 SXM5 80 GB",
        .memory_bytes = GiB(80),
        .memory_bytes_per_second = 3.35e12,
        .peak_flops = kH100SxmPeaks,
        .intra_node = NvLink("nvlink4", 450),
        .inter_node = Network("ib-ndr400", 400),
        .price_per_hour = 6.88,  // AWS p5.48xlarge, $55.04 / 8
        .source = "NVIDIA H100 Tensor Core GPU data sheet (2430615) and H100 architecture white "
                  "paper, table 3",
    },

    {
        .name = "h100-96g",
        .description = "NVIDIA H100 SXM5 96 GB HBM2e (500 W)",
        .memory_bytes = GiB(96),
        .memory_bytes_per_second = 2.4e12,
        .peak_flops = kH100SxmPeaks,
        .intra_node = NvLink("nvlink4", 450),
        .inter_node = Network("roce400", 400),
        .source = "torchtitan, benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md: Grand Teton, "
                  "2.4 TB/s, 400 Gb/s a GPU, 500 W; compute as h100-sxm",
    },

    {
        .name = "h100-pcie",
        .description = "NVIDIA H100 PCIe 80 GB",
        .memory_bytes = GiB(80),
        .memory_bytes_per_second = 2.039e12,
        .peak_flops = {{"f64", 51.2 * kTera},
                       {"f32", 378 * kTera},
                       {"f16", 756 * kTera},
                       {"bf16", 756 * kTera},
                       {"f8e4m3fn", 1513 * kTera},
                       {"f8e5m2", 1513 * kTera},
                       {"s8", 1513 * kTera}},
        .intra_node = Pcie("pcie5", 64),
        .inter_node = Network("ib-hdr200", 200),
        .source =
            "NVIDIA H100 PCIe product brief (PB-11133) and H100 architecture white paper, table 3",
    },

    {
        .name = "h200",
        .description = "NVIDIA H200 SXM 141 GB",
        .memory_bytes = GiB(140.4),  // nvidia-smi: 143771 MiB
        .memory_bytes_per_second = 4.8e12,
        .peak_flops = kH100SxmPeaks,
        .intra_node = NvLink("nvlink4", 450),
        .inter_node = Network("ib-ndr400", 400),
        .price_per_hour = 7.91,  // AWS p5en.48xlarge, $63.30 / 8
        // Six products of 0.15 ms and more, one of them in TF32, within 5 % (bench/zoo/kernels.py).
        .matmul_efficiency = 0.84,
        .source = "NVIDIA H200 Tensor Core GPU data sheet (3002446)",
    },

    {
        .name = "b200",
        .description = "NVIDIA B200 180 GB (HGX, 1000 W)",
        .memory_bytes = GiB(179),  // DGX B200: 1440 GB over 8; nvidia-smi: 183359 MiB
        .memory_bytes_per_second = 8e12,
        .peak_flops = {{"f64", 40 * kTera},
                       {"f32", 1100 * kTera},
                       {"f16", 2250 * kTera},
                       {"bf16", 2250 * kTera},
                       {"f8e4m3fn", 4500 * kTera},
                       {"f8e5m2", 4500 * kTera},
                       {"s8", 4500 * kTera},
                       {"f4e2m1fn", 9000 * kTera}},
        .intra_node = NvLink("nvlink5", 900),
        .inter_node = Network("ib-ndr400", 400),
        .price_per_hour = 14.24,  // AWS p6-b200.48xlarge, $113.93 / 8
        .source =
            "NVIDIA Blackwell architecture technical brief, table of HGX B200; DGX B200 data sheet",
    },

    {
        .name = "gb200-nvl72",
        .description = "NVIDIA GB200 NVL72, one GPU of 72 in an NVLink domain",
        .memory_bytes = GiB(184),  // 13.4 TB over 72; nvidia-smi: 189471 MiB
        .memory_bytes_per_second = 8e12,
        .peak_flops = {{"f64", 40 * kTera},
                       {"f32", 1250 * kTera},
                       {"f16", 2500 * kTera},
                       {"bf16", 2500 * kTera},
                       {"f8e4m3fn", 5000 * kTera},
                       {"f8e5m2", 5000 * kTera},
                       {"s8", 5000 * kTera},
                       {"f4e2m1fn", 10000 * kTera}},
        .devices_per_node = 72,
        .intra_node = NvLink("nvlink5", 900),
        .inter_node = Network("ib-ndr400", 400),
        .source = "NVIDIA GB200 NVL72 data sheet, figures of the rack over 72, dense",
    },

    {
        .name = "b300",
        .description = "NVIDIA B300 (HGX, 1100 W)",
        .memory_bytes = GiB(268),  // 288 GB of HBM3e
        .memory_bytes_per_second = 8e12,
        .peak_flops = {{"f64", 1.25 * kTera},
                       {"f32", 1125 * kTera},
                       {"f16", 2250 * kTera},
                       {"bf16", 2250 * kTera},
                       {"f8e4m3fn", 4500 * kTera},
                       {"f8e5m2", 4500 * kTera},
                       {"f4e2m1fn", 13125 * kTera}},
        .intra_node = NvLink("nvlink5", 900),
        .inter_node = Network("ib-xdr800", 800),
        .source = "NVIDIA HGX B300 and DGX B300 data sheets",
    },

    {
        .name = "gb300-nvl72",
        .description = "NVIDIA GB300 NVL72, one GPU of 72 in an NVLink domain",
        .memory_bytes = GiB(258),  // 20 TB over 72
        .memory_bytes_per_second = 8e12,
        .peak_flops = {{"f64", 1.3 * kTera},
                       {"f32", 1250 * kTera},
                       {"f16", 2500 * kTera},
                       {"bf16", 2500 * kTera},
                       {"f8e4m3fn", 5000 * kTera},
                       {"f8e5m2", 5000 * kTera},
                       {"f4e2m1fn", 15000 * kTera}},
        .devices_per_node = 72,
        .intra_node = NvLink("nvlink5", 900),
        .inter_node = Network("ib-xdr800", 800),
        .source = "NVIDIA GB300 NVL72 data sheet, figures of the rack over 72, dense",
    },

    {
        .name = "a100-40g",
        .description = "NVIDIA A100 SXM4 40 GB",
        .memory_bytes = GiB(40),
        .memory_bytes_per_second = 1.555e12,
        .peak_flops = kA100Peaks,
        .intra_node = NvLink("nvlink3", 300),
        .inter_node = Network("ib-hdr200", 200),
        .source = "NVIDIA A100 Tensor Core GPU data sheet (1758950, 40 GB SXM)",
    },

    {
        .name = "a100-80g",
        .description = "NVIDIA A100 SXM4 80 GB",
        .memory_bytes = GiB(80),
        .memory_bytes_per_second = 2.039e12,
        .peak_flops = kA100Peaks,
        .intra_node = NvLink("nvlink3", 300),
        .inter_node = Network("ib-hdr200", 200),
        .price_per_hour = 3.43,  // AWS p4de.24xlarge, $27.45 / 8
        .source = "NVIDIA A100 Tensor Core GPU data sheet (2188504)",
    },

    {
        .name = "a100-40g-pcie",
        .description = "NVIDIA A100 PCIe 40 GB",
        .memory_bytes = GiB(40),
        .memory_bytes_per_second = 1.555e12,
        .peak_flops = kA100Peaks,
        .intra_node = Pcie("pcie4", 32),
        .inter_node = Network("ib-hdr100", 100),
        .source = "NVIDIA A100 Tensor Core GPU data sheet (1758950, 40 GB PCIe)",
    },

    {
        .name = "v100",
        .description = "NVIDIA V100 SXM2 32 GB",
        .memory_bytes = GiB(32),
        .memory_bytes_per_second = 900 * kGB,
        .peak_flops = {{"f64", 7.8 * kTera},
                       {"f32", 15.7 * kTera},
                       {"f16", 125 * kTera}},  // no TF32, no bf16
        .intra_node = NvLink("nvlink2", 150),
        .inter_node = Network("ib-edr50", 50),  // DGX-1: four 100 Gbit/s ports for eight GPUs
        .price_per_hour = 3.90,                 // AWS p3dn.24xlarge, $31.21 / 8
        .source = "NVIDIA V100 Tensor Core GPU data sheet (1165301)",
    },

    {
        .name = "a10g",
        .description = "NVIDIA A10G 24 GB (AWS g5)",
        .memory_bytes = GiB(24),
        .memory_bytes_per_second = 600 * kGB,
        .peak_flops = {{"f32", 35 * kTera},
                       {"f16", 70 * kTera},
                       {"bf16", 70 * kTera},
                       {"s8", 140 * kTera},
                       {"s4", 280 * kTera}},
        .intra_node = Pcie("pcie4", 32),
        .inter_node = Network("efa-100-shared", 12.5),  // g5.48xlarge: 100 Gbit/s for eight
        .price_per_hour = 2.04,                         // AWS g5.48xlarge, $16.29 / 8
        .source = "NVIDIA A10G data sheet for AWS",
    },

    {
        .name = "l4",
        .description = "NVIDIA L4 24 GB",
        .memory_bytes = GiB(24),
        .memory_bytes_per_second = 300 * kGB,
        .peak_flops = {{"f32", 60 * kTera},
                       {"f16", 121 * kTera},
                       {"bf16", 121 * kTera},
                       {"f8e4m3fn", 242.5 * kTera},
                       {"f8e5m2", 242.5 * kTera},
                       {"s8", 242.5 * kTera}},
        .intra_node = Pcie("pcie4", 32),
        .inter_node =
            Network("eth-100-shared", 12.5),  // g6.48xlarge, g2-standard-96: 100 Gbit/s for eight
        .price_per_hour = 1.67,               // AWS g6.48xlarge, $13.35 / 8
        .source = "NVIDIA L4 Tensor Core GPU data sheet (2583211), sparse figures halved",
    },

    {
        .name = "rtx3090",
        .description = "NVIDIA GeForce RTX 3090 24 GB",
        .memory_bytes = GiB(24),
        .memory_bytes_per_second = 936 * kGB,
        // f16 with f32 accumulation, as training uses it (142 with f16 accumulation).
        .peak_flops = {{"f64", 0.556 * kTera},
                       {"f32", 35.6 * kTera},
                       {"f16", 71 * kTera},
                       {"bf16", 71 * kTera},
                       {"s8", 284 * kTera},
                       {"s4", 568 * kTera}},
        .intra_node = Pcie("pcie4", 32),
        .inter_node = Network("eth-100-shared", 12.5),
        .source = "NVIDIA Ampere GA102 GPU architecture white paper, table 3",
    },

    {
        .name = "mi300x",
        .description = "AMD Instinct MI300X 192 GB",
        .memory_bytes = GiB(192),
        .memory_bytes_per_second = 5.3e12,
        .peak_flops = {{"f64", 163.4 * kTera},
                       {"f32", 653.7 * kTera},
                       {"f16", 1307.4 * kTera},
                       {"bf16", 1307.4 * kTera},
                       {"f8e4m3fnuz", 2614.9 * kTera},
                       {"f8e5m2fnuz", 2614.9 * kTera},
                       {"s8", 2614.9 * kTera}},
        // Seven links of 128 GB/s (both directions) to the seven others.
        .intra_node = {"infinity-fabric", 448 * kGB, 4 * kMicro, 0.70},
        .inter_node = Network("roce-400", 400),
        .source = "AMD Instinct MI300X accelerator data sheet (LE-89104)",
    },

    {
        .name = "tpu-v5p",
        .description = "Google TPU v5p",
        .memory_bytes = GiB(96),
        .memory_bytes_per_second = 2765 * kGB,
        .peak_flops = {{"f32", 459 * kTera},
                       {"bf16", 459 * kTera},
                       {"f8e4m3fn", 459 * kTera},
                       {"f8e5m2", 459 * kTera},
                       {"s8", 918 * kTera}},
        .devices_per_node = 4,
        // 3-D torus, 1200 GB/s a chip over six links and both directions: a ring along one torus
        // axis has two links of 100 GB/s each way. The torus does not notice hosts.
        .intra_node = {"ici", 200 * kGB, 1 * kMicro, 0.90},
        .inter_node = {"ici", 200 * kGB, 1 * kMicro, 0.90},
        .price_per_hour = 4.20,  // Google Cloud list price of a chip-hour
        .grouped_products = true,
        .source = "Google Cloud TPU v5p documentation, table of specifications",
    },

};

Link MakeLink(const LinkRow& row) {
  Link link;
  link.name = row.name;
  link.bandwidth_bytes_per_second = row.bytes_per_second;
  link.latency_seconds = row.latency_seconds;
  link.efficiency = row.efficiency;
  return link;
}

std::vector<DeviceType> MakeDevices() {
  std::vector<DeviceType> devices;
  for (const DeviceRow& row : kRows) {
    DeviceType device;
    device.name = row.name;
    device.description = row.description;
    device.memory_bytes = row.memory_bytes;
    device.memory_bytes_per_second = row.memory_bytes_per_second;
    for (const PeakRow& peak : row.peak_flops.rows) {
      if (peak.type != nullptr) device.peak_flops[peak.type] = peak.flops;
    }
    device.devices_per_node = row.devices_per_node;
    device.intra_node = MakeLink(row.intra_node);
    device.inter_node = MakeLink(row.inter_node);
    device.price_per_hour = row.price_per_hour;
    device.matmul_efficiency = row.matmul_efficiency;
    device.grouped_products = row.grouped_products;
    device.source = row.source;
    devices.push_back(std::move(device));
  }
  return devices;
}

// Where PeakFlops looks when a device lacks a type: the next wider type of its kind, and so on.
struct Wider {
  std::string_view type, wider;
};
constexpr Wider kWider[] = {
    {"f4e2m1fn", "f8e4m3fn"},
    {"f8e3m4", "f8e4m3fn"},
    {"f8e4m3", "f8e4m3fn"},
    {"f8e4m3b11fnuz", "f8e4m3fnuz"},
    {"f8e8m0fnu", "f8e4m3fn"},
    {"f8e4m3fn", "f8e4m3fnuz"},  // the two encodings of the same width, whichever the device has
    {"f8e4m3fnuz", "bf16"},
    {"f8e5m2", "f8e5m2fnuz"},
    {"f8e5m2fnuz", "bf16"},
    {"bf16",
     "f32"},  // f16 is no wider than bf16 in exponent: a device without bf16 computes it in f32
    {"f16", "f32"},
    {"f32", "f64"},
    {"s1", "s2"},
    {"u1", "u2"},
    {"s2", "s4"},
    {"u2", "u4"},
    {"u4", "s4"},
    {"s4", "s8"},
    {"u8", "s8"},
    {"pred", "s8"},
    {"s8", "f16"},  // f16 holds 8-bit integers exactly
    {"s16", "f32"},
    {"u16", "f32"},
    {"s32", "f64"},
    {"u32", "f64"},
};

}  // namespace

const std::vector<DeviceType>& BuiltinDevices() {
  static const std::vector<DeviceType>* const devices = new std::vector<DeviceType>(MakeDevices());
  return *devices;
}

const DeviceType* FindDevice(std::string_view name) {
  for (const DeviceType& device : BuiltinDevices()) {
    if (IsSameName(device.name, name)) return &device;
  }
  return nullptr;
}

double DeviceType::PeakFlops(std::string_view element_type) const {
  for (std::string_view type = element_type; !type.empty();) {
    if (const auto it = peak_flops.find(std::string(type)); it != peak_flops.end())
      return it->second;
    std::string_view next;
    for (const Wider& row : kWider) {
      if (row.type == type) next = row.wider;
    }
    type = next;
  }
  double slowest = 0;
  for (const auto& [type, flops] : peak_flops) {
    if (slowest == 0 || flops < slowest) slowest = flops;
  }
  return slowest;
}

}  // namespace meshwright
