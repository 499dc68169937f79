#include "meshwright/cli/reproduce_files.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_format.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/published/nersc/reproduce.h"

namespace meshwright {
namespace {

using transformer::nersc::FileReport;

struct TimedReport {
  FileReport report;
  double milliseconds = 0;
};

std::string Table(const std::vector<TimedReport>& reports) {
  constexpr size_t kNameColumns = 22;
  std::string text =
      absl::StrFormat("%s %-11s %7s %7s %6s %7s %5s\n", FirstColumn("file", kNameColumns), "kind",
                      "records", "figures", "differ", "off by", "ms");
  for (const auto& [report, milliseconds] : reports) {
    const std::string name = report.file.substr(report.file.rfind('/') + 1);
    StrAppend(&text, absl::StrFormat("%s %-11s %7d %7d %6d %7.2g %5s  %s\n",
                                     FirstColumn(name, kNameColumns), report.kind, report.records,
                                     report.figures, report.differ, report.largest_deviation,
                                     MillisecondsText(milliseconds),
                                     report.differ == 0 ? "ok" : "DIFFERS"));
    for (const std::string& difference : report.differences) {
      StrAppend(&text, "  ", difference, "\n");
    }
    const int64_t more = report.differ - static_cast<int64_t>(report.differences.size());
    if (more > 0) StrAppend(&text, "  and ", more, " more\n");
  }
  return text;
}

Json DeviationJson(double deviation) { return std::isfinite(deviation) ? Json(deviation) : Json(); }

std::string Document(std::string_view name, const std::vector<TimedReport>& reports, int64_t differ,
                     double largest) {
  Json cases = Json::array();
  for (const auto& [report, milliseconds] : reports) {
    cases.push_back({{"name", report.file},
                     {"kind", report.kind},
                     {"records", report.records},
                     {"figures", report.figures},
                     {"differ", report.differ},
                     {"deviation", DeviationJson(report.largest_deviation)},
                     {"differences", report.differences},
                     {"milliseconds", milliseconds},
                     {"ok", report.differ == 0}});
  }
  const Json document = {{"reproduction", name},
                         {"cases", std::move(cases)},
                         {"differ", differ},
                         {"largest_deviation", DeviationJson(largest)}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string MillisecondsText(double milliseconds) {
  const int decimals = milliseconds < 10 ? 2 : milliseconds < 1000 ? 1 : 0;
  return absl::StrFormat("%.*f", decimals, milliseconds);
}

absl::Status ReproduceFiles(std::string_view name, FileReproduction reproduce,
                            const std::vector<std::string>& files, bool json) {
  std::vector<TimedReport> reports;
  int64_t differ = 0, figures = 0, files_differ = 0;
  double largest = 0;
  for (const std::string& file : files) {
    const auto start = std::chrono::steady_clock::now();
    MW_ASSIGN_OR_RETURN(FileReport report, reproduce(file));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    figures += report.figures;
    differ += report.differ;
    files_differ += report.differ > 0 ? 1 : 0;
    largest = std::max(largest, report.largest_deviation);
    reports.push_back({std::move(report), time.count()});
  }
  if (json) {
    MW_RETURN_IF_ERROR(PrintOutput(Document(name, reports, files_differ, largest)));
  } else {
    MW_RETURN_IF_ERROR(PrintScreen(
        StrCat(Table(reports), absl::StrFormat("%d files, %d differ, largest deviation %.2g\n",
                                               reports.size(), files_differ, largest))));
  }
  if (differ == 0) return absl::OkStatus();
  return absl::AbortedError(
      StrCat(differ, " of ", figures, " recorded figures were not reproduced"));
}

}  // namespace meshwright
