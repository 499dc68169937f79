#ifndef MESHWRIGHT_SHARDING_RULES_DIMENSION_LISTS_H_
#define MESHWRIGHT_SHARDING_RULES_DIMENSION_LISTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "meshwright/sharding/rule_builder.h"

namespace meshwright::rules {

inline constexpr int64_t kNoDim = RuleBuilder::kNoDim;

inline bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace meshwright::rules

#endif  // MESHWRIGHT_SHARDING_RULES_DIMENSION_LISTS_H_
