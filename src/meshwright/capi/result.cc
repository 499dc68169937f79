#include "meshwright/capi/result.h"

#include <algorithm>
#include <exception>
#include <memory>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

// For when there is no memory to say so; made when the library is loaded.
mw_result* const kOutOfMemory = [] {
  auto* const made = new mw_result;
  made->error = "internal";
  made->message = "no memory left";
  return made;
}();

const char* ErrorName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
      return "not found";
    case absl::StatusCode::kUnimplemented:
      return "unsupported";
    case absl::StatusCode::kResourceExhausted:
      return "infeasible";
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return "internal";
    default:
      return "invalid argument";
  }
}

// An error in the words of this interface: "--seed" is the option "seed". Commands in it, which
// stand between backticks or on lines of their own, stay as they are.
std::string WithoutDashes(std::string_view message) {
  constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::string text;
  bool quoted = false;
  for (size_t i = 0; i < message.size();) {
    if (message.substr(i, 3) == "\n  ") return text + std::string(message.substr(i));
    if (message[i] == '`') quoted = !quoted;
    const bool begins = i == 0 || message[i - 1] == ' ' || message[i - 1] == '(';
    const size_t end = std::min(message.find_first_not_of(kNames, i), message.size());
    if (!quoted && begins && message.substr(i, 2) == "--" && end > i + 2) {
      StrAppend(&text, "\"", message.substr(i + 2, end - i - 2), "\"");
      i = end;
    } else {
      text += message[i++];
    }
  }
  return text;
}

}  // namespace

mw_result* Answer(const std::function<absl::Status(mw_result&)>& fill) {
  try {
    auto result = std::make_unique<mw_result>();
    absl::Status status;
    try {
      status = fill(*result);
    } catch (const std::exception& error) {
      status = absl::InternalError(StrCat("unexpected failure: ", error.what()));
    }
    if (!status.ok()) {
      result->writers.clear();
      result->texts.clear();
      result->error = ErrorName(status.code());
      result->message = WithoutDashes(FromAbsl(status.message()));
    }
    return result.release();
  } catch (const std::exception&) {
    return kOutOfMemory;
  }
}

bool IsOutOfMemory(const mw_result* result) { return result == kOutOfMemory; }

absl::StatusOr<std::string_view> Bytes(const void* data, size_t size, const char* what) {
  if (data == nullptr && size > 0) {
    return absl::InvalidArgumentError(StrCat("the ", what, " is a null pointer"));
  }
  return std::string_view(static_cast<const char*>(data), size);
}

absl::StatusOr<Plan> PlanArgument(const char* plan, size_t plan_bytes) {
  MW_ASSIGN_OR_RETURN(const std::string_view text, Bytes(plan, plan_bytes, "plan"));
  return ParsePlanJson(text, "plan");
}

}  // namespace meshwright
