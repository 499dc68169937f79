#ifndef MESHWRIGHT_PLAN_MAKE_FIX_OPTION_H_
#define MESHWRIGHT_PLAN_MAKE_FIX_OPTION_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// "NAME=SPEC", split at the last `=` that a spec follows (`[...]`, `P(...)`, `replicated`), as
// names may contain `=`. Only the split is checked here: what the spec means depends on the mesh.
// `origin` names the text in errors and is kept in the Fix.
absl::StatusOr<Fix> ParseFix(std::string_view text, std::string_view origin);

// One fix a line; empty lines and lines that begin with `#` are skipped, as is what follows ` #`.
// Errors carry `file`:line.
absl::StatusOr<std::vector<Fix>> ParseFixFile(std::string_view text, std::string_view file);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_FIX_OPTION_H_
