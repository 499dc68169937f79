#ifndef MESHWRIGHT_SHARDING_RULE_TABLE_H_
#define MESHWRIGHT_SHARDING_RULE_TABLE_H_

#include <string_view>
#include <vector>

#include "meshwright/hlo/opcode.h"
#include "meshwright/sharding/rule_builder.h"

namespace meshwright {

// How one opcode shards. The one list of what is supported: rules are looked up in it, and
// `meshwright ops` prints it.
struct RuleRow {
  Opcode opcode;
  void (*build)(RuleBuilder&);
  std::string_view
      notation;  // "([b,m,k],[b,k,n])->[b,m,n]  k:sum"; capitals stay whole; "" if there is no rule
  std::string_view remark;
};

// One row for every opcode, in the order of their enumerators.
const std::vector<RuleRow>& RuleTable();

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_RULE_TABLE_H_
