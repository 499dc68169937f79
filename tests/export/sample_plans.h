#ifndef TESTS_EXPORT_SAMPLE_PLANS_H_
#define TESTS_EXPORT_SAMPLE_PLANS_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/export/artefact.h"
#include "meshwright/export/export_options.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

struct SampleRequest {
  std::string model = "llama3-8b";  // a built-in name, or the short form
  std::string cluster = "2x8xh100-sxm";
  int64_t global_batch = 64;
  int64_t sequence = 2048;
  std::string fixes = "";
  std::string precision = "bf16";
  int64_t top = 10;
  std::string targets = "";  // that it is planned for
};

// A plan as `meshwright plan` makes it. Fails the test where there is none.
Plan SamplePlanOf(const SampleRequest& request);
absl::StatusOr<Plan> TrySamplePlanOf(const SampleRequest& request);

// Options with which every script has all that it needs.
ExportOptions CompleteOptions();

absl::StatusOr<Artefacts> ExportTo(const std::string& target, const Plan& plan,
                                   const ExportOptions& options, int64_t alternative = 0);
// Contents of the file `name`; fails the test if there is none.
std::string ContentsOf(const Artefacts& files, const std::string& name);

}  // namespace meshwright

#endif  // TESTS_EXPORT_SAMPLE_PLANS_H_
