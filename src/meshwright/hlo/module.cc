#include "meshwright/hlo/module.h"

#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace meshwright {
namespace {

// Everything that is compared; `line` is where the text stood, not what it said.
auto Compared(const Instruction& i) {
  return std::tie(i.opcode, i.name, i.shape, i.operands, i.called, i.parameter_number, i.literal,
                  i.dimensions, i.iota_dimension, i.tuple_index, i.dot, i.window, i.convolution,
                  i.feature_group_count, i.batch_group_count, i.gather, i.scatter, i.slice,
                  i.dynamic_slice_sizes, i.padding, i.direction, i.fusion_kind,
                  i.custom_call_target, i.async_name, i.is_root, i.other, i.sharding,
                  i.backend_config, i.frontend_attributes, i.control_predecessors, i.metadata);
}

auto Compared(const Computation& c) {
  return std::tie(c.name, c.instructions, c.parameters, c.root, c.execution_thread);
}

}  // namespace

bool operator==(const Instruction& a, const Instruction& b) { return Compared(a) == Compared(b); }
bool operator==(const Computation& a, const Computation& b) { return Compared(a) == Compared(b); }

const std::string* FindAttribute(const Instruction& instruction, std::string_view name) {
  for (const auto& [key, value] : instruction.other) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::optional<std::vector<int64_t>> FindIntegers(const Instruction& instruction,
                                                 std::string_view name) {
  const std::string* const text = FindAttribute(instruction, name);
  if (text == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const absl::string_view word :
       absl::StrSplit(absl::string_view(*text), absl::ByAnyChar("{,} "), absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(word, &numbers.emplace_back())) return std::nullopt;
  }
  return numbers;
}

}  // namespace meshwright
