#ifndef MESHWRIGHT_REQUEST_PROGRAM_REQUEST_H_
#define MESHWRIGHT_REQUEST_PROGRAM_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/request/subject.h"

namespace meshwright {

// InputFile::kind of a file of --rules.
inline constexpr char kCallRulesFile[] = "call_rules";

// The request for `program`, as one, for a pipeline or with a database, that `asked` describes, the
// files of fixes read. Errors name the option at fault.
absl::StatusOr<ProgramRequest> ToProgramRequest(const Subject& program, const AskedOptions& asked);

// --memory: "device", "unlimited" or bytes.
absl::StatusOr<MemoryBudget> ParseMemory(const std::string& text);

// Seconds that a search has which no counted work ends.
inline constexpr double kUsualDeadline = 30;
// Seconds of --deadline; `usual` of "auto".
absl::StatusOr<double> ParseDeadline(const std::string& text, double usual);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_PROGRAM_REQUEST_H_
