#ifndef MESHWRIGHT_SHARDING_SIZE_EXPRESSION_H_
#define MESHWRIGHT_SHARDING_SIZE_EXPRESSION_H_

#include <optional>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {

// Evaluates the arithmetic at `cursor`, as far as it goes: numbers, names, `+ - * /`, parentheses,
// min(a, b) and max(a, b). `size_of` gives the value of a name; nullopt: there is no such name.
// Errors: `file:line:column: ...`, also for a division by 0.
absl::StatusOr<double> EvaluateSizes(
    TextCursor& cursor, absl::FunctionRef<std::optional<double>(std::string_view)> size_of);

}  // namespace meshwright

#endif  // MESHWRIGHT_SHARDING_SIZE_EXPRESSION_H_
