#include "meshwright/explain/why_not_inputs.h"

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/request/asked_of_plan.h"

namespace meshwright {

absl::StatusOr<std::string> ReadPlannedProgram(const Plan& plan, const WhyNotRequest& request) {
  const InputFile* const input = plan.program_file();
  if (input == nullptr)
    return absl::InvalidArgumentError("the plan does not name the program that it was made from");
  if (request.contents.has_value()) {
    MW_RETURN_IF_ERROR(CheckSame(*request.contents, "the program given", *input, "program"));
    return std::string(*request.contents);
  }
  if (!request.program.empty()) return ReadSame(request.program, *input, "program");
  if (input->path == "-") {
    return absl::InvalidArgumentError(
        "the plan was made from standard input: give the program with --program");
  }
  absl::StatusOr<std::string> contents = ReadSame(input->path, *input, "program");
  if (contents.ok()) return contents;
  return absl::Status(contents.status().code(),
                      StrCat(contents.status().message(), "; give the program with --program"));
}

absl::StatusOr<ProgramRequest> PlannedRequest(const Plan& plan) {
  MW_ASSIGN_OR_RETURN(PlanningRequest request, RequestOf(plan, AskedOf(plan)));
  return std::get<ProgramRequest>(std::move(request));
}

}  // namespace meshwright
