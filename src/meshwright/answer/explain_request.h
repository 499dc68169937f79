#ifndef MESHWRIGHT_ANSWER_EXPLAIN_REQUEST_H_
#define MESHWRIGHT_ANSWER_EXPLAIN_REQUEST_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/request/option.h"

namespace meshwright {

// What `explain` is asked of a plan.
struct ExplainAsked {
  std::string tensor, program;
  std::vector<std::string> why_not;
  bool parameters = false;
  std::optional<std::string_view> contents;  // of the program, where the caller has them
  GivenOptions given;
};
Options ExplainOptionRows(ExplainAsked& asked);

// The answer in words and as JSON, each made when it is called for. The plan must outlive it.
struct Explanation {
  std::function<absl::StatusOr<std::string>()> text, json;
};
// `progress`, which may be empty, is of what --why-not plans. Errors: options that do not go
// together; those of AskWhyNot.
absl::StatusOr<Explanation> Explain(const Plan& plan, const ExplainAsked& asked,
                                    std::function<void(const ProgramProgress&)> progress);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_EXPLAIN_REQUEST_H_
