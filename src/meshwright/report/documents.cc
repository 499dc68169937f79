#include "meshwright/report/documents.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/csv.h"
#include "meshwright/base/json_members.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

constexpr const char* kSweepHeader = "gpus,global_batch,";

// The figures that a check compares, under whichever names it gives them.
void ReadFigures(const JsonValue& json, VerifiedCheck& check) {
  for (const auto& [planned, measured] :
       {std::pair("planned", "measured"), std::pair("planned_bytes", "compiled_bytes")}) {
    const auto before = json.Find(planned), after = json.Find(measured);
    if (!before.has_value() || !before->IsNumber()) continue;
    check.planned_value = before->Number();
    if (after.has_value() && after->IsNumber()) check.measured_value = after->Number();
  }
}

VerifiedCheck ReadCheck(const JsonValue& json) {
  VerifiedCheck check;
  for (const auto& [key, text] : {std::pair("name", &check.name),
                                  {"outcome", &check.outcome},
                                  {"planned", &check.planned},
                                  {"measured", &check.measured},
                                  {"remark", &check.remark}}) {
    ReadJson(json.At(key), *text);
  }
  ReadJson(json.At("notes"), check.notes);
  if (const auto figures = json.Find("figures"); figures.has_value()) ReadFigures(*figures, check);
  return check;
}

absl::Status AddVerification(const InputJson& document, const std::string& file,
                             ReportDocuments& documents) {
  absl::Status status;
  const JsonValue json(document, &status);
  Verification verification;
  verification.file = file;
  ReadJson(json.At("plan"), verification.plan);
  ReadJson(json.At("devices"), verification.devices);
  ReadJson(json.At("passed"), verification.passed);
  for (const JsonValue& check : json.At("checks").Elements())
    verification.checks.push_back(ReadCheck(check));
  MW_RETURN_IF_ERROR(status);
  documents.verifications.push_back(std::move(verification));
  return absl::OkStatus();
}

// A row by the names of its columns.
class SweepRowReader {
 public:
  SweepRowReader(const CsvTable& table, const CsvRow& row, const std::string& file)
      : table_(table), row_(row), file_(file) {}

  std::string Text(const std::string& column) {
    const auto at = std::find(table_.header.begin(), table_.header.end(), column);
    if (at == table_.header.end()) {
      Fail(absl::StrCat("the column ", column, " is missing"));
      return "";
    }
    return row_.fields[static_cast<size_t>(at - table_.header.begin())];
  }
  double Number(const std::string& column) {
    const std::string text = Text(column);
    double value = 0;
    if (status.ok() && (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || value < 0)) {
      Fail(absl::StrCat(column, ": found \"", text, "\", expected a number from 0 up"));
    }
    return value;
  }
  int64_t Count(const std::string& column) {
    const std::string text = Text(column);
    int64_t value = 0;
    if (status.ok() && (!absl::SimpleAtoi(text, &value) || value < 0)) {
      Fail(absl::StrCat(column, ": found \"", text, "\", expected an integer from 0 up"));
    }
    return value;
  }

  // Those of more than one, and the rest of the configuration: "tp=8 dp=4 micro_batch=1 zero=1".
  std::string Degrees() {
    std::vector<std::string> words;
    for (const char* const degree : {"tp", "cp", "pp", "dp", "ep"}) {
      if (const std::string text = Text(degree); text != "1") {
        words.push_back(absl::StrCat(degree, "=", text));
      }
    }
    for (const char* const choice : {"micro_batch", "zero", "recompute"}) {
      words.push_back(absl::StrCat(choice, "=", Text(choice)));
    }
    return absl::StrJoin(words, " ");
  }

  absl::Status status;

 private:
  void Fail(const std::string& message) {
    if (status.ok()) {
      status = absl::InvalidArgumentError(absl::StrCat(file_, ":", row_.line, ": ", message));
    }
  }

  const CsvTable& table_;
  const CsvRow& row_;
  const std::string& file_;
};

absl::Status AddSweep(std::string_view text, const std::string& file, ReportDocuments& documents) {
  MW_ASSIGN_OR_RETURN(const CsvTable table, ParseCsv(text, file));
  Sweep sweep;
  sweep.file = file;
  for (const CsvRow& row : table.rows) {
    SweepRowReader reader(table, row, file);
    SweepTableRow one;
    one.gpus = reader.Count("gpus");
    one.global_batch = reader.Count("global_batch");
    one.sequence = reader.Count("sequence");
    const bool fits = !reader.Text("step_seconds").empty();
    if (reader.status.ok() && !fits) continue;
    one.degrees = reader.Degrees();
    one.step_seconds = reader.Number("step_seconds");
    one.tokens_per_second = reader.Number("tokens_per_second");
    one.mfu = reader.Number("mfu");
    one.efficiency = reader.Number("efficiency");
    one.peak_bytes = reader.Count("peak_bytes");
    MW_RETURN_IF_ERROR(reader.status);
    if (one.gpus < 1 || one.step_seconds <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", row.line, ": a plan needs GPUs and a step longer than 0"));
    }
    sweep.rows.push_back(std::move(one));
  }
  if (sweep.rows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": the sweep has no plan"));
  }
  documents.sweeps.push_back(std::move(sweep));
  return absl::OkStatus();
}

// Plans begin with their version, so that large ones are parsed once only.
bool LooksLikePlan(std::string_view text) {
  constexpr size_t kBeginning = 200;
  return absl::StrContains(ToAbsl(text.substr(0, kBeginning)), "\"schema\"");
}

absl::Status InFile(const absl::Status& status, const std::string& file) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(StrCat(file, ": ", FromAbsl(status.message())));
}

// As Python calls a plan, whose verify writes it (__repr__ in python/meshwright/document.py).
std::string VerifiedAs(const Plan& plan) {
  const std::string how =
      !plan.pipeline.has_value()
          ? absl::StrCat("mesh ", absl::StrJoin(plan.mesh, ",",
                                                [](std::string* out, const PlanAxis& axis) {
                                                  absl::StrAppend(out, axis.name, "=", axis.size);
                                                }))
          : absl::StrCat(Counted(static_cast<int64_t>(plan.stages().size()), "stage"), ", ",
                         Counted(plan.micro_batches, "micro-batch", "micro-batches"));
  return absl::StrFormat("Plan for %s, %s: %.3g ms, %.3g GiB", plan.cluster.name, how,
                         1e3 * plan.step_seconds,
                         static_cast<double>(plan.peak_bytes) / (int64_t{1} << 30));
}

}  // namespace

std::optional<size_t> VerifiedPlan(const Verification& verification,
                                   const ReportDocuments& documents) {
  for (size_t i = 0; i < documents.plans.size(); ++i) {
    if (VerifiedAs(documents.plans[i].second) == verification.plan) return i;
  }
  return std::nullopt;
}

absl::Status AddDocument(std::string_view text, const std::string& file,
                         ReportDocuments& documents) {
  if (absl::StartsWith(ToAbsl(text), kSweepHeader)) return AddSweep(text, file, documents);
  if (!LooksLikePlan(text)) {
    const InputJson json = InputJson::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && !json.contains("schema")) {
      if (json.contains("checks")) return InFile(AddVerification(json, file, documents), file);
    }
    if (!json.is_object() || !json.contains("schema")) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, json.is_discarded() ? ": is no JSON" : ": is none of our documents",
          "; a report takes what plan, estimate, verify --json and --sweep --csv write"));
    }
  }
  MW_ASSIGN_OR_RETURN(Plan plan, ParsePlanJson(text, file));
  documents.plans.emplace_back(file, std::move(plan));
  return absl::OkStatus();
}

}  // namespace meshwright
