#include "meshwright/hlo/partitioned.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr std::string_view kInstead =
    "this program is partitioned already, its shapes are those of shards; pass the one it was made "
    "from: jax.jit(f).lower(...).as_text(), not compiled, without shard_map and pmap";

// Custom calls between whole arrays and the shards that the body of a shard_map computes with.
constexpr std::string_view kManualTargets[] = {
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
};

constexpr std::string_view kReplicas = "replica_count", kPartitions = "num_partitions";

// A collective that StableHLO has no operation for, as JAX calls it.
constexpr std::string_view kRaggedAllToAll = "ragged_all_to_all";

// The number that the module's header gives for `name`, which CheckCounts has seen; 1 if it gives
// none.
int64_t CountOf(const Module& module, std::string_view name) {
  for (const auto& [key, text] : module.other) {
    int64_t count = 0;
    if (key == name && absl::SimpleAtoi(text, &count)) return count;
  }
  return 1;
}

absl::Status CheckCounts(const Module& module, std::string_view file_name) {
  for (const auto& [key, text] : module.other) {
    int64_t count = 0;
    if ((key != kReplicas && key != kPartitions) || (absl::SimpleAtoi(text, &count) && count >= 1))
      continue;
    return absl::InvalidArgumentError(StrCat(file_name, module.devices_place.Suffix(), ": ", key,
                                             ": found ", text,
                                             ", expected a number of devices from 1"));
  }
  return absl::OkStatus();
}

// Devices in the largest of the groups `{{0,1},{2,3}}`, `[2,4]<=[8]` or `mesh['x'=2] {'x'}`; 0 if
// there are none, which means all devices.
int64_t LargestGroup(std::string_view groups) {
  if (groups.starts_with("mesh") || groups.starts_with("#")) return 2;  // along an axis
  if (groups.starts_with("[")) {
    const size_t comma = groups.find(','), end = groups.find(']');
    int64_t size = 0;
    if (comma > end || !absl::SimpleAtoi(ToAbsl(groups.substr(comma + 1, end - comma - 1)), &size))
      return 1;
    return size;
  }
  int64_t largest = 0, members = 0;
  bool in_number = false;
  for (const char c : groups) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !in_number) largest = std::max(largest, ++members);
    if (c == '{') members = 0;
    in_number = digit;
  }
  return largest;
}

// `{{0,1},{1,0}}`: whether a pair has two different devices.
bool MovesAnything(std::string_view pairs) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < pairs.size();) {
    size_t end = at;
    while (end < pairs.size() && pairs[end] >= '0' && pairs[end] <= '9') ++end;
    int64_t number = 0;
    if (end > at && absl::SimpleAtoi(ToAbsl(pairs.substr(at, end - at)), &number)) {
      numbers.push_back(number);
    }
    at = std::max(end, at + 1);
  }
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    if (numbers[i] != numbers[i + 1]) return true;
  }
  return false;
}

// The opcode that says what is communicated; that of an async start is the one it wraps.
Opcode Communication(const Instruction& instruction) {
  if (instruction.async_name.empty()) return instruction.opcode;
  return OpcodeFromName(instruction.async_name).value_or(instruction.opcode);
}

bool IsDone(Opcode opcode) { return OpcodeName(opcode).ends_with("-done"); }

// How many devices take part in a collective, 1 if it has none to talk to.
int64_t Participants(const Module& module, const Instruction& instruction) {
  if (const std::string* const pairs = FindAttribute(instruction, "source_target_pairs")) {
    return MovesAnything(*pairs) ? 2 : 1;
  }
  for (const std::string_view name : {"replica_groups", "collective_device_list"}) {
    const std::string* const groups = FindAttribute(instruction, name);
    const int64_t largest = groups == nullptr ? 0 : LargestGroup(*groups);
    if (largest > 0) return largest;
  }
  const int64_t devices = CountOf(module, kReplicas) * CountOf(module, kPartitions);
  const bool has_channel = FindAttribute(instruction, "channel_id") != nullptr;
  return std::max<int64_t>(devices, has_channel ? 2 : 1);
}

// What shows that the instruction runs on shards; empty if nothing does.
std::string SignIn(const Module& module, const Instruction& instruction) {
  if (absl::StrContains(instruction.sharding, "manual")) {
    return ManualMessage(StrCat("sharding=", instruction.sharding));
  }
  const Opcode opcode = Communication(instruction);
  if (opcode == Opcode::kCustomCall) {
    if (instruction.custom_call_target == kRaggedAllToAll)
      return StrCat(kRaggedAllToAll, " among several devices: ", kInstead);
    const bool is_manual = std::find(std::begin(kManualTargets), std::end(kManualTargets),
                                     instruction.custom_call_target) != std::end(kManualTargets);
    return is_manual ? ManualMessage(StrCat("custom-call ", instruction.custom_call_target)) : "";
  }
  if (opcode == Opcode::kSend || opcode == Opcode::kRecv) {
    const std::string* const host = FindAttribute(instruction, "is_host_transfer");
    if (host != nullptr && *host == "true") return "";
    return StrCat(OpcodeName(opcode), " between devices: ", kInstead);
  }
  if (opcode == Opcode::kPartitionId || opcode == Opcode::kReplicaId)
    return StrCat(OpcodeName(opcode), ", which device this is: ", kInstead);
  if (!IsCollective(opcode) || IsDone(opcode)) return "";
  if (Participants(module, instruction) <= 1) return "";
  return StrCat(OpcodeName(opcode), " among several devices: ", kInstead);
}

// `main.4_spmd`: XLA numbers computations, and its partitioner adds the word.
bool IsNamedByPartitioner(std::string_view entry) {
  constexpr std::string_view kSuffix = "_spmd";
  if (!entry.ends_with(kSuffix)) return false;
  entry.remove_suffix(kSuffix.size());
  return !entry.empty() && entry.back() >= '0' && entry.back() <= '9';
}

}  // namespace

std::string ManualMessage(std::string_view what) {
  return StrCat(
      what,
      ": the body of a shard_map or pmap is written for one device and cannot be planned; "
      "lower the program without it");
}

absl::Status CheckNotPartitioned(const Module& module, std::string_view file_name) {
  MW_RETURN_IF_ERROR(CheckCounts(module, file_name));
  bool has_fusions = false;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      has_fusions |= instruction.opcode == Opcode::kFusion;
      const std::string sign = SignIn(module, instruction);
      if (sign.empty()) continue;
      return absl::InvalidArgumentError(
          StrCat(file_name, instruction.place.Suffix(), ": ", instruction.name, ": ", sign));
    }
  }
  if (const int64_t replicas = CountOf(module, kReplicas); replicas > 1) {
    return absl::InvalidArgumentError(
        StrCat(file_name, module.devices_place.Suffix(), ": ", replicas,
               " replicas: every one of them runs this program on its own part of the data (pmap); "
               "pass one for the whole data: jax.jit(f).lower(...).as_text()"));
  }
  const int64_t partitions = CountOf(module, kPartitions);
  const std::string& entry = module.entry_computation().name;
  const bool by_partitioner = IsNamedByPartitioner(entry);
  if (by_partitioner || (partitions > 1 && (module.is_scheduled || has_fusions))) {
    const std::string devices =
        partitions > 1 ? StrCat(partitions, " devices") : std::string("several devices");
    const SourcePlace place = by_partitioner ? module.entry_computation().instructions.front().place
                                             : module.devices_place;
    return absl::InvalidArgumentError(StrCat(file_name, place.Suffix(), ": ",
                                             by_partitioner ? StrCat(entry, " is") : "compiled",
                                             " for ", devices, ": ", kInstead));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
