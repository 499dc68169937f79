#include "meshwright/solve/solution_json.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/json_value.h"

namespace meshwright::solve {

std::string Int128Text(Int128 value) {
  const bool negative = value < 0;
  std::string digits;
  do {
    const int digit = static_cast<int>(value % 10);
    digits.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    value /= 10;
  } while (value != 0);
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOptimal:
      return "optimal";
    case Outcome::kFeasible:
      return "feasible";
    case Outcome::kInfeasible:
      return "infeasible";
    case Outcome::kUnknown:
      break;
  }
  return "unknown";
}

std::string ChoiceText(const Solution& solution) {
  return "[" + absl::StrJoin(solution.choice, ", ") + "]";
}

// Written by hand because no JSON library holds integers of 128 bits; only the name needs escaping.
std::string SolutionToJson(const Problem& problem, const Solution& solution) {
  const std::string name =
      Json(problem.name).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  const std::string limit =
      problem.usage_limit == kUnlimited ? "null" : absl::StrFormat("%d", problem.usage_limit);
  const std::string improvements =
      absl::StrJoin(solution.history, ", ", [](std::string* out, const Improvement& improvement) {
        absl::StrAppendFormat(out, "{\"seconds\": %.6f, \"cost\": %s}", improvement.seconds,
                              Int128Text(improvement.cost));
      });
  return absl::StrFormat(
      "{\n  \"problem\": %s,\n  \"outcome\": \"%s\",\n  \"cost\": %s,\n  \"bound\": %s,\n"
      "  \"gap\": %.17g,\n  \"peak_usage\": %s,\n  \"usage_limit\": %s,\n  \"choice\": %s,\n"
      "  \"improvements\": [%s],\n  \"reduced_nodes\": %d,\n  \"reduced_edges\": %d\n}\n",
      name, OutcomeName(solution.outcome), Int128Text(solution.cost), Int128Text(solution.bound),
      solution.gap, Int128Text(solution.peak), limit, ChoiceText(solution), improvements,
      solution.reduced_nodes, solution.reduced_edges);
}

}  // namespace meshwright::solve
