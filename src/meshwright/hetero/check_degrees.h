#ifndef MESHWRIGHT_HETERO_CHECK_DEGREES_H_
#define MESHWRIGHT_HETERO_CHECK_DEGREES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "meshwright/hetero/problem.h"

namespace meshwright::transformer::hetero {

// Degrees that stages can have.
struct Degrees {
  std::map<std::string, std::set<int64_t>> values;  // by key of Fixes: tp, dp, mbs, zero
  int64_t most_stages = 0;                          // that the nodes can hold
  bool empty() const { return values.empty(); }
};

// ... with `fixes` in place of the problem's own; but for the number of stages.
Degrees DegreesWith(Problem problem, const Fixes& fixes);

// Whether stages over the groups of nodes can have what is fixed, `problem` having passed
// CheckProblem. Errors name a fix that they cannot have, and what they can.
absl::Status CheckDegrees(const Problem& problem);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_CHECK_DEGREES_H_
