#ifndef MESHWRIGHT_EXPLAIN_COLLECTIVE_CAUSES_H_
#define MESHWRIGHT_EXPLAIN_COLLECTIVE_CAUSES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "meshwright/explain/plan_part.h"

namespace meshwright {

// Its result is its first operand with other types or places of its elements, or a part of it.
bool ShowsItsOperand(const PlanInstruction& instruction);

// Why a collective runs.
struct CollectiveCause {
  // "reduces partial sums of", "all-gathers", "reshards", "exchanges parts of".
  std::string_view verb;
  std::string moved;  // name of what is moved: a parameter's, else an operator's
  const PlanInstruction* at =
      nullptr;                // the operator that causes it: it sums, or needs its operand so
  bool is_parameter = false;  // `moved` names a parameter
};

// Finds the causes of a part's collectives. `part` must outlive it.
class CauseFinder {
 public:
  explicit CauseFinder(const PlanPart& part);

  // Of a collective in the list of `user`.
  CollectiveCause Find(const PlanInstruction& user, const PlanCollective& collective) const;

  // Position of the instruction of that name.
  std::optional<size_t> Named(std::string_view name) const;
  // The parameter (position in part.parameters) that the instruction's result is, or is a view of.
  std::optional<size_t> ParameterBehind(size_t instruction) const;

 private:
  const PlanPart& part_;
  absl::flat_hash_map<std::string_view, size_t> by_name_;
  absl::flat_hash_map<size_t, size_t> parameters_;  // by instruction
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_COLLECTIVE_CAUSES_H_
