#ifndef MESHWRIGHT_PLAN_DOCUMENT_VERSION_H_
#define MESHWRIGHT_PLAN_DOCUMENT_VERSION_H_

#include <string_view>

namespace meshwright {

// Version of this program, e.g. "0.1.0".
std::string_view ToolVersion();

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_VERSION_H_
