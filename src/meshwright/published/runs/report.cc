#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/published/runs/columns.h"
#include "meshwright/published/runs/errors.h"
#include "meshwright/published/runs/runs.h"

namespace meshwright::transformer {
namespace {

std::string Percent(const ErrorSum& sum) {
  return sum.rows > 0 ? absl::StrFormat("%.1f%%", 100 * sum.mean()) : std::string("-");
}

void AppendTable(const RunGrouping& grouping, const std::vector<RunPrediction>& predictions,
                 std::string* out) {
  constexpr size_t kNameColumns = 29;
  StrAppend(
      out, absl::StrFormat("%s %5s %8s %8s %8s %8s %8s\n", FirstColumn(grouping.name, kNameColumns),
                           "rows", "error", "fitted", "other", "bias", "largest"));
  for (const auto& [name, sum] : ErrorsBy(grouping, predictions)) {
    StrAppend(out, absl::StrFormat("%s %5d %8s %8s %8s %+7.1f%% %7.1f%%\n",
                                   FirstColumn(name, kNameColumns), sum.all.rows, Percent(sum.all),
                                   Percent(sum.fitted), Percent(sum.other), 100 * sum.all.bias(),
                                   100 * sum.all.largest));
  }
  StrAppend(out, "\n");
}

// The lines of all rows that say the same in `words`.
void AppendLines(std::string_view what, const std::vector<RunPrediction>& predictions,
                 std::string RunPrediction::*words, std::string* out) {
  std::map<std::string, std::vector<int>> lines_of;
  for (const RunPrediction& one : predictions) {
    if (!(one.*words).empty()) lines_of[one.*words].push_back(one.line);
  }
  for (const auto& [why, lines] : lines_of) {
    StrAppend(out, "\n",
              Hanging(StrCat(what, ", "), StrCat(Counted(std::ssize(lines), "row"), ": ", why,
                                                 "; lines ", absl::StrJoin(lines, " "))));
  }
}

}  // namespace

std::string RunsReport(const std::vector<RunPrediction>& predictions) {
  std::string out;
  for (const RunGrouping& grouping : kRunGroupings) AppendTable(grouping, predictions, &out);
  StrAppend(&out, absl::StrFormat("%6s %10s %10s %8s\n", "line", "memory", "predicted", "error"));
  for (const RunPrediction& one : predictions) {
    if (!one.skipped.empty() || !one.memory_gib.has_value()) continue;
    StrAppend(&out, absl::StrFormat("%6d %6.1f GiB %6.1f GiB %+7.1f%%\n", one.line, *one.memory_gib,
                                    *one.predicted_gib,
                                    100 * (*one.predicted_gib / *one.memory_gib - 1)));
  }
  std::vector<int> over;
  int64_t predicted = 0;
  for (const RunPrediction& one : predictions) {
    predicted += one.skipped.empty() ? 1 : 0;
    if (one.over_memory) over.push_back(one.line);
  }
  if (predicted > 0) {
    StrAppend(
        &out, "\n",
        Hanging("memory: ",
                StrCat(over.size(), " of ", predicted,
                       absl::StrFormat(" rows (%.1f %%)", 100.0 * static_cast<double>(over.size()) /
                                                              static_cast<double>(predicted)),
                       " ran and are predicted over what their GPUs have, whatever was recomputed "
                       "where they do not say",
                       over.empty() ? "" : "; lines ", absl::StrJoin(over, " "))));
  }
  AppendLines("taken", predictions, &RunPrediction::note, &out);
  AppendLines("not taken", predictions, &RunPrediction::skipped, &out);
  return out;
}

std::string PredictedCsv(const CsvTable& given, const std::vector<RunPrediction>& predictions) {
  const CsvTable table = WithRunColumns(given);
  std::vector<std::string> fields = table.header;
  for (const char* name :
       {"half", "seconds", "predicted_seconds", "error", "predicted_mem_gib", "skipped", "key"}) {
    fields.emplace_back(name);
  }
  std::string out = CsvLine(fields);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RunPrediction& one = predictions[i];
    fields = table.rows[i].fields;
    fields.emplace_back(one.fitted ? "fitted" : "other");
    if (one.skipped.empty()) {
      for (const double value :
           {one.seconds, one.predicted_seconds, one.error(), *one.predicted_gib}) {
        fields.push_back(absl::StrFormat("%.6g", value));
      }
    } else {
      fields.resize(fields.size() + 4);
    }
    fields.push_back(one.skipped);
    fields.push_back(one.key);
    out += CsvLine(fields);
  }
  return out;
}

}  // namespace meshwright::transformer
