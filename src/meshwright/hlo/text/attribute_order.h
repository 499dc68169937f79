#ifndef MESHWRIGHT_HLO_TEXT_ATTRIBUTE_ORDER_H_
#define MESHWRIGHT_HLO_TEXT_ATTRIBUTE_ORDER_H_

#include <string_view>

#include "meshwright/hlo/module.h"

namespace meshwright {

// Position of an attribute in the order XLA prints them for `instruction`'s opcode.
int AttributeRank(const Instruction& instruction, std::string_view name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_ATTRIBUTE_ORDER_H_
