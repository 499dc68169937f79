#ifndef MESHWRIGHT_CAPI_RESULT_H_
#define MESHWRIGHT_CAPI_RESULT_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright.h"
#include "meshwright/plan/document/plan.h"

// What every function of include/meshwright.h returns. Nothing may leave them but C: exceptions of
// libraries (for want of memory above all) become errors.

struct mw_result {
  const char* error = nullptr;
  std::string message;
  // By name: how texts are made where they are asked for, and those that are there. Annotated
  // programs are large.
  std::map<std::string, std::function<std::string()>, std::less<>> writers;
  std::map<std::string, std::string, std::less<>> texts;
};

namespace meshwright {

// Runs `fill` on a new result and records how it ended.
mw_result* Answer(const std::function<absl::Status(mw_result&)>& fill);

// Whether it is the one result that is not its caller's: there was no memory for another.
bool IsOutOfMemory(const mw_result* result);

// An argument as bytes, `what` for errors: a null pointer has none.
absl::StatusOr<std::string_view> Bytes(const void* data, size_t size, const char* what);

// A plan's JSON, read and checked.
absl::StatusOr<Plan> PlanArgument(const char* plan, size_t plan_bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_CAPI_RESULT_H_
