#include "meshwright/hlo/opcode.h"

#include <array>

#include "absl/container/flat_hash_map.h"

namespace meshwright {
namespace {

struct OpcodeInfo {
  std::string_view name;
  int arity;
  OpcodeClass opcode_class;
};

constexpr std::array<OpcodeInfo, kOpcodeCount> kOpcodes = {{
#define MESHWRIGHT_OPCODE_INFO(enumerator, text, arity, opcode_class) \
  {text, arity, OpcodeClass::opcode_class},
    MESHWRIGHT_OPCODES(MESHWRIGHT_OPCODE_INFO)
#undef MESHWRIGHT_OPCODE_INFO
}};

const OpcodeInfo& Info(Opcode opcode) { return kOpcodes[static_cast<size_t>(opcode)]; }

}  // namespace

std::string_view OpcodeName(Opcode opcode) { return Info(opcode).name; }

std::optional<Opcode> OpcodeFromName(std::string_view name) {
  static const auto& by_name = *[] {
    auto* map = new absl::flat_hash_map<std::string_view, Opcode>();
    for (int i = 0; i < kOpcodeCount; ++i) {
      map->emplace(kOpcodes[static_cast<size_t>(i)].name, static_cast<Opcode>(i));
    }
    return map;
  }();
  const auto it = by_name.find(name);
  if (it == by_name.end()) return std::nullopt;
  return it->second;
}

int OpcodeArity(Opcode opcode) { return Info(opcode).arity; }

bool IsElementwiseUnary(Opcode opcode) { return IsElementwise(opcode) && OpcodeArity(opcode) == 1; }

bool IsElementwise(Opcode opcode) { return Info(opcode).opcode_class == OpcodeClass::kElementwise; }

bool IsCollective(Opcode opcode) { return Info(opcode).opcode_class == OpcodeClass::kCollective; }

}  // namespace meshwright
