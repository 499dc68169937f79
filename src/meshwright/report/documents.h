#ifndef MESHWRIGHT_REPORT_DOCUMENTS_H_
#define MESHWRIGHT_REPORT_DOCUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/plan/document/plan.h"

// The files that a report is made of.

namespace meshwright {

// A table that `meshwright plan --sweep --csv` wrote; rows without a plan are left out.
struct SweepTableRow {
  int64_t gpus = 0, global_batch = 0, sequence = 0;
  std::string degrees;
  double step_seconds = 0, tokens_per_second = 0, mfu = 0, efficiency = 0;
  int64_t peak_bytes = 0;
};
struct Sweep {
  std::string file;
  std::vector<SweepTableRow> rows;
};

// What `meshwright verify --json` printed.
struct VerifiedCheck {
  std::string name, outcome, planned, measured, remark;
  std::vector<std::string> notes;
  std::optional<double> planned_value, measured_value;
};
struct Verification {
  std::string file, plan, devices;
  bool passed = false;
  std::vector<VerifiedCheck> checks;
};

struct ReportDocuments {
  std::vector<std::pair<std::string, Plan>> plans;  // with the names of their files
  std::vector<Sweep> sweeps;
  std::vector<Verification> verifications;
};

// Which of the plans a verification is of, by what it says of it; none: another.
std::optional<size_t> VerifiedPlan(const Verification& verification,
                                   const ReportDocuments& documents);

// Adds what `text`, the contents of `file`, turns out to be. Errors name the file and the place in
// it, or what it would have to be.
absl::Status AddDocument(std::string_view text, const std::string& file,
                         ReportDocuments& documents);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_DOCUMENTS_H_
