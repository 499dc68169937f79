#include <string>

#include "meshwright/base/strings.h"
#include "meshwright/published/nersc/nersc.h"

namespace meshwright::transformer::nersc {

std::string_view StrategyName(Strategy strategy) {
  switch (strategy) {
    case Strategy::k1d:
      return "1d";
    case Strategy::kSumma:
      return "2d";
    case Strategy::kSequence:
      return "2d-seqp";
  }
  return "";
}

absl::StatusOr<Strategy> ParseStrategy(std::string_view name) {
  std::string names;
  for (const Strategy one : {Strategy::k1d, Strategy::kSumma, Strategy::kSequence}) {
    if (StrategyName(one) == name) return one;
    StrAppend(&names, names.empty() ? "" : ", ", StrategyName(one));
  }
  return absl::InvalidArgumentError(StrCat("unknown strategy \"", name, "\"; valid are ", names));
}

}  // namespace meshwright::transformer::nersc
