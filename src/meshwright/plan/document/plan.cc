#include "meshwright/plan/document/plan.h"

#include <algorithm>

#include "meshwright/hlo/program/program.h"

namespace meshwright {

const InputFile* Plan::program_file() const {
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [](const InputFile& input) { return IsProgramKind(input.kind); });
  return found == inputs.end() ? nullptr : &*found;
}

}  // namespace meshwright
