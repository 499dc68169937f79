#include "meshwright/plan/document/memory_category.h"

namespace meshwright {
namespace {

constexpr std::array<std::string_view, kMemoryCategories> kNames = {
    "parameters", "optimizer_state", "inputs", "gradients", "activations", "temporaries"};

}  // namespace

std::string_view MemoryCategoryName(MemoryCategory category) {
  return kNames[static_cast<size_t>(category)];
}

std::optional<MemoryCategory> MemoryCategoryFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<MemoryCategory>(i);
  }
  return std::nullopt;
}

}  // namespace meshwright
