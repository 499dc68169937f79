#include "meshwright/export/findings.h"

#include <utility>

namespace meshwright {

void Findings::Add(std::string&& sentence) { sentences_.push_back(std::move(sentence)); }

}  // namespace meshwright
