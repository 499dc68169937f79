#include "meshwright/base/status.h"

namespace meshwright {

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return 1;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return 3;
    case absl::StatusCode::kAborted:
      return 4;
    default:
      return 2;
  }
}

}  // namespace meshwright
