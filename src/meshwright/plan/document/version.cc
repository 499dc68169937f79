#include "meshwright/plan/document/version.h"

namespace meshwright {

std::string_view ToolVersion() { return MESHWRIGHT_VERSION; }

}  // namespace meshwright
