#include "meshwright/hlo/program/known_attributes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/attribute_tables.h"
#include "meshwright/hlo/proto/attributes.h"
#include "meshwright/hlo/text/attributes.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// Those of instructions that neither Instruction nor HloInstructionProto as read here has a field
// for: newer ones, ones that were dropped, and what text alone says.
struct WithoutField {
  std::string_view name;
  bool (*applies)(Opcode opcode);
};
constexpr WithoutField kWithoutField[] = {
    {"all_reduce_id", IsCollective},
    {"async_group_id", IsAsync},
    {"barrier", IsCollective},
    {"collective_device_list", IsCollective},
    {"conv_kind", Is<Opcode::kConvolution>},
    {"is_associative", Is<Opcode::kScan>},
    {"is_cross_program_prefetch", Is<Opcode::kCopyStart>},
    {"is_reverse", Is<Opcode::kScan>},
    {"literal", Is<Opcode::kCustomCall>},
    {"mode", IsCollective},
    {"num_carries", Is<Opcode::kScan>},
    {"origin", Any},
    {"original_value", Any},
    {"outer_dimension_partitions", Any},
    {"slice_sizes", Is<Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart>},
    {"sparsity", Is<Opcode::kDot>},
    {"statistics", Any},
};

bool IsKnownAttribute(std::string_view name, Opcode opcode) {
  return HasAttributeField(name, opcode) ||
         std::any_of(
             std::begin(kWithoutField), std::end(kWithoutField),
             [&](const WithoutField& row) { return row.name == name && row.applies(opcode); });
}

// Those of the header that Module has no field for.
constexpr std::string_view kOfHeader[] = {
    "alias_passthrough_params",
    "allow_spmd_sharding_propagation_to_output",
    "allow_spmd_sharding_propagation_to_parameters",
    "frontend_attributes",
    "num_partitions",
    "origin_recovery_table",
    "replica_count",
};

struct UnknownAttribute {
  std::string_view name, owner;  // of an opcode, or of the header
  const Instruction* first = nullptr;
  size_t count = 0;
};

}  // namespace

std::string UnknownAttributesWarning(const Module& module) {
  std::vector<UnknownAttribute> found;
  const auto note = [&found](std::string_view name, std::string_view owner,
                             const Instruction* first) {
    auto it = std::find_if(found.begin(), found.end(), [&](const UnknownAttribute& other) {
      return other.name == name && other.owner == owner;
    });
    // Text that is no program may have any number of names.
    constexpr size_t kMost = 100;
    if (it == found.end() && found.size() == kMost) return;
    if (it == found.end()) it = found.insert(it, {name, owner, first, 0});
    ++it->count;
  };
  for (const auto& [name, text] : module.other) {
    if (std::find(std::begin(kOfHeader), std::end(kOfHeader), name) != std::end(kOfHeader))
      continue;
    note(name, "HloModule", nullptr);
  }
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      const Opcode opcode = AttributeOpcode(instruction);
      for (const auto& [name, text] : instruction.other) {
        // `all-to-all-start` has those of the all-to-all, and those of an asynchronous start.
        if (IsKnownAttribute(name, opcode) || IsKnownAttribute(name, instruction.opcode)) continue;
        note(name, OpcodeName(opcode), &instruction);
      }
    }
  }
  if (found.empty()) return "";
  std::string out = "attributes that are not known are ignored: ";
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < std::min(found.size(), kShown); ++i) {
    const auto& [name, owner, first, count] = found[i];
    StrAppend(&out, i == 0 ? "" : ", ", name, "= of ", owner);
    if (first == nullptr) continue;
    StrAppend(&out, " (");
    if (count > 1) StrAppend(&out, count, " times, first ");
    StrAppend(&out, "\"", first->name, "\" in line ", first->place.line, ")");
  }
  if (found.size() > kShown) StrAppend(&out, " and ", found.size() - kShown, " more");
  return out;
}

}  // namespace meshwright
