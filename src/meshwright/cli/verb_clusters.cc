#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/cluster/cluster.h"

namespace meshwright {
namespace {

// Types whose peak rates are shown, if the device has them.
constexpr std::array<const char*, 3> kShownTypes = {"bf16", "f16", "f32"};

std::string Price(const DeviceType& device) {
  return device.price_per_hour > 0 ? absl::StrFormat("%.2f", device.price_per_hour) : "-";
}

std::string RowText(const DeviceType& device) {
  std::string rates;
  for (const char* type : kShownTypes) {
    const auto rate = device.peak_flops.find(type);
    absl::StrAppendFormat(
        &rates, " %5s",
        rate == device.peak_flops.end() ? "-" : absl::StrFormat("%.0f", rate->second / 1e12));
  }
  return absl::StrFormat("%-16s %8s %5.2f%s %5d %5.0f %7.0f %6s\n", device.name,
                         BytesText(device.memory_bytes), device.memory_bytes_per_second / 1e12,
                         rates, device.devices_per_node,
                         device.intra_node.bandwidth_bytes_per_second / 1e9,
                         device.inter_node.bandwidth_bytes_per_second / 1e9, Price(device));
}

absl::Status PrintDevices() {
  std::string text =
      absl::StrFormat("%-16s %8s %5s %5s %5s %5s %5s %5s %7s %6s\n", "device", "memory", "TB/s",
                      "bf16", "f16", "f32", "/node", "link", "network", "$/h");
  for (const DeviceType& device : BuiltinDevices()) absl::StrAppend(&text, RowText(device));
  absl::StrAppend(&text,
                  "Rates in Tflop/s, dense; link (inside a node) and network (between nodes) in\n"
                  "GB/s each way and device; -: not known, or the device has no such rate.\n");
  return PrintScreen(text);
}

Json LinkJson(const Link& link) {
  return {{"bandwidth_bytes_per_second", link.bandwidth_bytes_per_second},
          {"latency_seconds", link.latency_seconds}};
}

std::string DevicesJson() {
  Json list = Json::array();
  for (const DeviceType& device : BuiltinDevices()) {
    Json row = {{"name", device.name},
                {"memory_bytes", device.memory_bytes},
                {"memory_bytes_per_second", device.memory_bytes_per_second},
                {"peak_flops", device.peak_flops},
                {"devices_per_node", device.devices_per_node},
                {"intra_node", LinkJson(device.intra_node)},
                {"inter_node", LinkJson(device.inter_node)}};
    if (device.price_per_hour > 0) row["price_per_hour"] = device.price_per_hour;
    list.push_back(std::move(row));
  }
  return Json{{"devices", std::move(list)}}.dump(1) + "\n";
}

}  // namespace

Action AddClustersVerb(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON, in bytes, flop/s and bytes a second");
  return [json] { return *json ? PrintOutput(DevicesJson()) : PrintDevices(); };
}

}  // namespace meshwright
