#ifndef MESHWRIGHT_BASE_STATUS_H_
#define MESHWRIGHT_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Errors are absl::Status with a message that a user can act on. The code decides the exit code of
// the command line (ExitCode below):
//   kInvalidArgument, kNotFound, kOutOfRange, kUnimplemented ... bad input
//   kResourceExhausted ........................................ nothing fits
//   kDeadlineExceeded ......................................... nothing found in time
//   kAborted .................................................. a recorded result not reproduced
//   kInternal ................................................. our bug

namespace meshwright {

// Exit code of the program for `status`: 0 OK, 2 bad input, 3 nothing fits or was found in time, 4
// a recorded result not reproduced, 1 our bug.
int ExitCode(const absl::Status& status);

}  // namespace meshwright

#define MW_RETURN_IF_ERROR(expr)                                            \
  do {                                                                      \
    if (absl::Status mw_status = (expr); !mw_status.ok()) return mw_status; \
  } while (false)

#define MW_CONCAT_INNER(a, b) a##b
#define MW_CONCAT(a, b) MW_CONCAT_INNER(a, b)
#define MW_ASSIGN_OR_RETURN(lhs, expr) \
  MW_ASSIGN_OR_RETURN_IMPL(MW_CONCAT(mw_or_, __LINE__), lhs, expr)
#define MW_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)

#endif  // MESHWRIGHT_BASE_STATUS_H_
