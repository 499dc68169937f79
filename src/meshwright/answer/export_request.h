#ifndef MESHWRIGHT_ANSWER_EXPORT_REQUEST_H_
#define MESHWRIGHT_ANSWER_EXPORT_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/export/artefact.h"
#include "meshwright/export/export_options.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/request/option.h"

namespace meshwright {

// What `export` is asked of a plan.
struct ExportAsked {
  std::string target, folder, hostfile;
  int64_t alternative = 0;
  ExportOptions launch;
  GivenOptions given;
};
Options ExportOptionRows(ExportAsked& asked);

// The folder that is made where none is named: "llama3-8b-megatron".
std::string UsualFolder(const Plan& plan, const ExportAsked& asked);

// The files of the launch. Errors: an option that the target does not take, or that says nothing;
// those of ExportPlan.
absl::StatusOr<Artefacts> Export(const Plan& plan, ExportAsked asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_EXPORT_REQUEST_H_
