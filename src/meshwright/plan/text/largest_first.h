#ifndef MESHWRIGHT_PLAN_TEXT_LARGEST_FIRST_H_
#define MESHWRIGHT_PLAN_TEXT_LARGEST_FIRST_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "meshwright/base/json_members.h"

namespace meshwright {

struct NamedAmount {
  std::string name;
  double amount = 0;
};

// The members of `parts` that are not 0, nor what rounding leaves beside the largest; the largest
// first.
template <typename Parts>
std::vector<NamedAmount> LargestFirst(const Parts& parts) {
  std::vector<NamedAmount> all;
  Parts::VisitMembers(parts, [&](const char* name, auto amount, MemberForm = {}) {
    if (amount != 0)
      all.push_back({absl::StrReplaceAll(name, {{"_", " "}}), static_cast<double>(amount)});
  });
  std::stable_sort(all.begin(), all.end(), [](const NamedAmount& a, const NamedAmount& b) {
    return std::abs(a.amount) > std::abs(b.amount);
  });
  constexpr double kRounding = 1e-12;
  while (!all.empty() && std::abs(all.back().amount) < kRounding * std::abs(all.front().amount))
    all.pop_back();
  return all;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_LARGEST_FIRST_H_
