#ifndef MESHWRIGHT_CAPI_OPTIONS_JSON_H_
#define MESHWRIGHT_CAPI_OPTIONS_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/plan/make/request_options.h"

namespace meshwright {

// What include/meshwright.h takes as options.
struct CapiOptions {
  std::string program = "program";
  RequestOptions search;
};

// Reads the JSON object `text` over `defaults`. Errors name the key: JSON that does not parse, an
// unknown key (with the nearest known one), a value of another type or out of range.
absl::StatusOr<CapiOptions> ParseOptionsJson(std::string_view text, CapiOptions defaults);

}  // namespace meshwright

#endif  // MESHWRIGHT_CAPI_OPTIONS_JSON_H_
