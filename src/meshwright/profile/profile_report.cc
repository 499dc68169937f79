#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/wrap.h"
#include "meshwright/profile/profile_program.h"

namespace meshwright {
namespace {

// Runs of equal segments in a row are shown as one, at most so many runs.
constexpr size_t kMostRunsShown = 20;

std::string SequenceRuns(const std::vector<int32_t>& sequence) {
  std::string text;
  size_t runs = 0;
  for (size_t begin = 0, end = 0; begin < sequence.size(); begin = end) {
    while (end < sequence.size() && sequence[end] == sequence[begin]) ++end;
    if (++runs > kMostRunsShown) return text + " ...";
    absl::StrAppend(&text, begin == 0 ? "" : " ", sequence[begin]);
    if (end - begin > 1) absl::StrAppend(&text, "x", end - begin);
  }
  return text;
}

// Millions of millions do not fit a column.
std::string Count(double count) {
  constexpr double kMostDigits = 1e6;
  return count < kMostDigits ? absl::StrFormat("%.0f", count) : absl::StrFormat("%.1e", count);
}

std::string Milliseconds(double seconds) { return absl::StrFormat("%.3f", 1e3 * seconds); }

}  // namespace

std::string ProfileTable(const ProfileReport& report) {
  const ProfileEnvironment& environment = report.environment;
  std::string text = absl::StrCat("devices   ", environment.device);
  if (environment.hosts > 1) absl::StrAppend(&text, ", ", environment.hosts, " hosts");
  absl::StrAppend(&text, "\nlibraries ", environment.libraries, "\nmesh      ", report.mesh,
                  "\nsequence  ", SequenceRuns(report.sequence), "\n");
  std::vector<std::vector<std::string>> rows = {
      {"segment", "times", "blocks", "choices", "measured", "failed", "best ms", "+-", "model ms"}};
  for (size_t s = 0; s < report.segments.size(); ++s) {
    const SegmentProfile& segment = report.segments[s];
    const bool measured = segment.measured > 0;
    rows.push_back({absl::StrCat(s, segment.complete ? "" : "*"), absl::StrCat(segment.times),
                    absl::StrCat(segment.blocks), Count(segment.choices),
                    absl::StrCat(segment.measured), absl::StrCat(segment.failed),
                    measured ? Milliseconds(segment.best_seconds) : "-",
                    measured ? Milliseconds(segment.best_spread) : "-",
                    measured ? Milliseconds(segment.best_predicted) : "-"});
  }
  absl::StrAppend(
      &text, Columns(std::move(rows), {false, true, true, true, true, true, true, true, true}));
  for (size_t s = 0; s < report.segments.size(); ++s) {
    if (report.segments[s].measured > 0)
      text += Hanging(absl::StrCat("best of ", s, " "), report.segments[s].best);
  }
  absl::StrAppend(&text, "measured  ", report.measured, " now, ", report.known,
                  " known before; reshardings ", report.reshardings, "\n");
  if (const FinalistReport& steps = report.finalists; steps.steps > 0) {
    absl::StrAppend(&text, "steps     ", steps.steps, " measured as a whole, the fastest ",
                    Milliseconds(steps.best_seconds), " +- ", Milliseconds(steps.best_spread),
                    " ms,\n          from its segments ", Milliseconds(steps.best_composed),
                    " ms\n");
  }
  if (!report.complete) {
    text += Hanging("* ",
                    "not all that could be best is measured: run it again to go on, or plan with "
                    "what there is; the rest is predicted");
  }
  for (const std::string& warning : report.warnings) text += Hanging("warning: ", warning);
  return text;
}

absl::StatusOr<std::string> LayersCsv(const ProfileReport& report) {
  std::string text =
      "gpu,tp,micro_batch,layer_id,forward_seconds,backward_seconds,update_seconds\n";
  for (size_t p = 0; p < report.sequence.size(); ++p) {
    const SegmentProfile& segment = report.segments[static_cast<size_t>(report.sequence[p])];
    if (segment.whole_forward < 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--layers-csv: of segment ", report.sequence[p],
          " no choice was measured that leaves the batch unsharded: give it more time, or "
          "a mesh of 1"));
    }
    absl::StrAppendFormat(&text, "%s,%d,%d,%d,%.9g,%.9g,%.9g\n", report.environment.device_type,
                          report.mesh_devices, report.batch_size, p, segment.whole_forward,
                          segment.whole_backward, segment.whole_update);
  }
  return text;
}

std::string ProfileJson(const ProfileReport& report) {
  Json json;
  json["environment"] = {{"device", report.environment.device},
                         {"driver", report.environment.driver},
                         {"libraries", report.environment.libraries},
                         {"device_type", report.environment.device_type},
                         {"hosts", report.environment.hosts}};
  json["mesh"] = report.mesh;
  json["segments"] = Json::array();
  for (const SegmentProfile& segment : report.segments) {
    Json& row = json["segments"].emplace_back();
    row = {{"fingerprint", segment.fingerprint}, {"times", segment.times},
           {"blocks", segment.blocks},           {"choices", segment.choices},
           {"measured", segment.measured},       {"failed", segment.failed},
           {"skipped", segment.skipped},         {"complete", segment.complete}};
    if (segment.measured == 0) continue;
    row["best"] = segment.best;
    row["seconds"] = segment.best_seconds;
    row["spread"] = segment.best_spread;
    row["predicted"] = segment.best_predicted;
  }
  json["sequence"] = report.sequence;
  json["reshardings"] = report.reshardings;
  json["measured"] = report.measured;
  json["known"] = report.known;
  json["failed"] = report.failed;
  const FinalistReport& steps = report.finalists;
  json["steps"] = {{"measured", steps.steps}, {"failed", steps.failed}};
  if (steps.steps > 0) {
    json["steps"]["seconds"] = steps.best_seconds;
    json["steps"]["spread"] = steps.best_spread;
    json["steps"]["composed"] = steps.best_composed;
  }
  json["complete"] = report.complete;
  json["warnings"] = report.warnings;
  return json.dump(1) + "\n";
}

}  // namespace meshwright
