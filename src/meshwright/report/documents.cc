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
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/json_reader.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

constexpr const char* kSweepHeader = "gpus,global_batch,";

// Members of an object that may have others too.
class Members {
 public:
  Members(const InputJson& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) status_ = WrongJsonType(json, path_, "an object");
  }

  template <typename T>
  Members& Get(const char* key, T& value) {
    if (!status_.ok()) return *this;
    const auto member = json_.find(key);
    status_ = member == json_.end()
                  ? JsonErrorAt(path_, absl::StrCat("the key \"", key, "\" is missing"))
                  : ReadJson(*member, absl::StrCat(path_, ".", key), value);
    return *this;
  }

  template <typename Element, typename Read>
  Members& List(const char* key, std::vector<Element>& list, const Read& read) {
    if (!status_.ok()) return *this;
    const auto member = json_.find(key);
    const std::string path = absl::StrCat(path_, ".", key);
    if (member == json_.end() || !member->is_array()) {
      status_ = member == json_.end()
                    ? JsonErrorAt(path_, absl::StrCat("the key \"", key, "\" is missing"))
                    : WrongJsonType(*member, path, "a list");
      return *this;
    }
    for (size_t i = 0; i < member->size() && status_.ok(); ++i) {
      status_ = read((*member)[i], absl::StrCat(path, "[", i, "]"), list.emplace_back());
    }
    return *this;
  }

  const absl::Status& status() const { return status_; }

 private:
  const InputJson& json_;
  std::string path_;
  absl::Status status_;
};

// The figures that a check compares, under whichever names it gives them.
void ReadFigures(const InputJson& json, VerifiedCheck& check) {
  const auto figures = json.find("figures");
  if (figures == json.end() || !figures->is_object()) return;
  const auto figure = [&](const char* key) -> std::optional<double> {
    const auto value = figures->find(key);
    if (value == figures->end() || !value->is_number()) return std::nullopt;
    return value->get<double>();
  };
  for (const auto& [planned, measured] :
       {std::pair("planned", "measured"), std::pair("planned_bytes", "compiled_bytes")}) {
    if (!figure(planned).has_value()) continue;
    check.planned_value = figure(planned);
    check.measured_value = figure(measured);
  }
}

absl::Status ReadCheck(const InputJson& json, const std::string& path, VerifiedCheck& check) {
  MW_RETURN_IF_ERROR(Members(json, path)
                         .Get("name", check.name)
                         .Get("outcome", check.outcome)
                         .Get("planned", check.planned)
                         .Get("measured", check.measured)
                         .Get("remark", check.remark)
                         .Get("notes", check.notes)
                         .status());
  ReadFigures(json, check);
  return absl::OkStatus();
}

absl::Status AddVerification(const InputJson& json, const std::string& file,
                             ReportDocuments& documents) {
  Verification verification;
  verification.file = file;
  MW_RETURN_IF_ERROR(Members(json, "$")
                         .Get("plan", verification.plan)
                         .Get("devices", verification.devices)
                         .Get("passed", verification.passed)
                         .List("checks", verification.checks, ReadCheck)
                         .status());
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
      plan.stages.empty()
          ? absl::StrCat("mesh ", absl::StrJoin(plan.mesh, ",",
                                                [](std::string* out, const PlanAxis& axis) {
                                                  absl::StrAppend(out, axis.name, "=", axis.size);
                                                }))
          : absl::StrCat(Counted(static_cast<int64_t>(plan.stages.size()), "stage"), ", ",
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
