#ifndef MESHWRIGHT_HLO_STABLEHLO_NAMES_H_
#define MESHWRIGHT_HLO_STABLEHLO_NAMES_H_

#include <string>
#include <string_view>

namespace meshwright {

// The name under which the tables of stablehlo_lowering.h know the operation `name`: the name
// itself, or, for one of mhlo, that of the operation of StableHLO or CHLO that is the same. Lives
// as long as the program. Empty if nobody knows the operation.
std::string_view StablehloName(std::string_view name);

// Why an operation that StablehloName does not know cannot be planned, and what can.
std::string WhyUnknown(std::string_view name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_NAMES_H_
