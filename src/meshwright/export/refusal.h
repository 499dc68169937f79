#ifndef MESHWRIGHT_EXPORT_REFUSAL_H_
#define MESHWRIGHT_EXPORT_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/export/export_options.h"
#include "meshwright/export/target.h"

// Why a target cannot express a plan, and the nearest plan that it can.

namespace meshwright {

// The first few of what was found, each once.
std::string SentencesText(const Findings& findings);

// ", whose step takes 29.4 s, 0.43 % longer", of another plan than `plan`.
std::string StepAgainst(const Plan& plan, double seconds);

// Whether the target runs a launch, which breaks none of its rules, without a program of the user's
// own, where it runs some plan so; without one nothing is found, and the target says what it needs.
void CheckRunsAsItIs(const ModelLaunch& launch, const ExportTarget& target,
                     const ExportOptions& options, Findings& findings);

// Of a plan whose configuration breaks the target's rules (`findings`): these, and a command for
// the nearest plan that breaks none and fits into memory. Where nothing on as many GPUs is, one on
// more or on fewer.
absl::Status RefuseConfiguration(const Plan& plan, const ModelLaunch& launch,
                                 const ExportTarget& target, const ExportOptions& options,
                                 const Findings& findings);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_REFUSAL_H_
