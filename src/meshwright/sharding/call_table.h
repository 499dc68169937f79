#ifndef MESHWRIGHT_SHARDING_CALL_TABLE_H_
#define MESHWRIGHT_SHARDING_CALL_TABLE_H_

#include <string_view>
#include <vector>

#include "meshwright/sharding/rule_builder.h"

namespace meshwright {

// How the calls of one target shard and what they cost: kernels that stand outside of the program.
// The one list of targets that are known: rules are looked up in it, and `meshwright ops` prints
// it.
struct CallRow {
  std::string_view target;  // may hold `*` and `?`
  // The rule, in the notation of call_rule.h. Several of them, by lines: the first that fits the
  // call's shapes.
  std::string_view notation;
  std::string_view remark;
  // Where the rule depends on more than shapes; nullptr: the notation is the rule.
  void (*build)(RuleBuilder&) = nullptr;
};
const std::vector<CallRow>& CallTable();

// The first row for `target`, or nullptr.
const CallRow* FindCall(std::string_view target);

// Builds the rule of a call by the notation of `row`; unsupported if no line of it fits.
void BuildNotation(const CallRow& row, RuleBuilder& builder);

// Builds the rule of a call by `row`; unsupported if the call is not as the row says.
void BuildCall(const CallRow& row, RuleBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_CALL_TABLE_H_
