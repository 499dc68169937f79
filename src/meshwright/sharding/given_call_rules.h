#ifndef MESHWRIGHT_SHARDING_GIVEN_CALL_RULES_H_
#define MESHWRIGHT_SHARDING_GIVEN_CALL_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"

// Rules of calls that the user gives: kernels that neither the program nor the table of calls says
// how to shard. A file has one a line, `#` begins a comment:
//
//   my_kernel_*  ([b, s, h], [h])->([b, s, h]) need_replication={h}  flops=6*b*s*h
//
// What a call calls, as a pattern (GlobMatch), and its rule (call_rule.h). Of several lines for one
// call the first that fits its shapes holds. They go before the table of calls and before what the
// program states.

namespace meshwright {

// Where a call keeps the rule that was given for it, in Instruction::frontend_attributes: so it
// goes along into stages, micro-batches and what is written.
inline constexpr std::string_view kGivenRuleAttribute = "meshwright.call_rule";

struct GivenCallRule {
  std::string target;  // pattern
  std::string rule;    // as ParseCallRule takes it
  std::string where;   // "rules.txt:3"
  friend bool operator==(const GivenCallRule&, const GivenCallRule&) = default;
};

// Errors: `file:line:column: what was found, what would be valid`.
absl::StatusOr<std::vector<GivenCallRule>> ParseGivenCallRules(std::string_view text,
                                                               std::string_view file_name);

// Gives the calls of `module`, from which `graph` was built, their rules. Errors: a line is for the
// target of a call, and none of those that are fits its shapes.
absl::Status StateGivenCallRules(const std::vector<GivenCallRule>& rules, const Graph& graph,
                                 Module* module);

// The calls of `graph`, read from `name`, that have no rule: a file of rules to be completed, with
// one line for all calls that are alike.
std::string DraftCallRules(const Graph& graph, std::string_view name);

// A line for the call `op` as a file of rules would have it, to be completed: dimensions of one
// size share a factor, and all factors are replicated.
std::string DraftCallRule(const Graph& graph, const Op& op);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_GIVEN_CALL_RULES_H_
