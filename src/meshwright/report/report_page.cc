#include "meshwright/report/report_page.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/json_value.h"
#include "meshwright/plan/document/version.h"
#include "meshwright/plan/make/model_sweep.h"
#include "meshwright/report/page_parts.h"
#include "meshwright/report/view_json.h"

namespace meshwright {
namespace {

template <typename T>
Json ListView(const std::vector<T>& list);

Json ToView(const SweepTableRow& row) {
  return {{"gpus", row.gpus},
          {"global_batch", row.global_batch},
          {"sequence", row.sequence},
          {"degrees", row.degrees},
          {"seconds", row.step_seconds},
          {"tokens_per_second", row.tokens_per_second},
          {"mfu", row.mfu},
          {"efficiency", row.efficiency},
          {"peak_bytes", row.peak_bytes}};
}

Json ToView(const VerifiedCheck& check) {
  return {{"name", check.name},
          {"outcome", check.outcome},
          {"planned", check.planned},
          {"measured", check.measured},
          {"remark", check.remark},
          {"notes", check.notes},
          {"planned_value", OrNull(check.planned_value)},
          {"measured_value", OrNull(check.measured_value)}};
}

Json ToView(const Sweep& sweep) {
  return {
      {"file", sweep.file}, {"axis", Word(SweptAxis(sweep.rows))}, {"rows", ListView(sweep.rows)}};
}

template <typename T>
Json ListView(const std::vector<T>& list) {
  Json json = Json::array();
  for (const T& one : list) json.push_back(ToView(one));
  return json;
}

Json VerificationsView(const ReportDocuments& documents) {
  Json list = Json::array();
  for (const Verification& one : documents.verifications) {
    list.push_back({{"file", one.file},
                    {"plan", one.plan},
                    {"plan_index", OrNull(VerifiedPlan(one, documents))},
                    {"devices", one.devices},
                    {"passed", one.passed},
                    {"checks", ListView(one.checks)}});
  }
  return list;
}

}  // namespace

absl::Status CheckReportPage() {
  if (report_page::kHeadBytes > 0) return absl::OkStatus();
  return absl::UnimplementedError(
      "this meshwright was built without the report's page (MESHWRIGHT_REPORT=OFF); --csv and "
      "--dot work");
}

std::string ReportData(const ReportDocuments& documents) {
  Json plans = Json::array();
  for (const auto& [file, plan] : documents.plans) plans.push_back(PlanView(plan, file));
  const Json data = {{"tool_version", std::string(ToolVersion())},
                     {"plans", std::move(plans)},
                     {"sweeps", ListView(documents.sweeps)},
                     {"verifications", VerificationsView(documents)}};
  // "<" occurs in strings only. Without it nothing ends the element that holds the data.
  return absl::StrReplaceAll(data.dump(-1, ' ', false, Json::error_handler_t::replace),
                             {{"<", "\\u003c"}});
}

std::string ReportPage(const ReportDocuments& documents) {
  return absl::StrCat(absl::string_view(report_page::kHead, report_page::kHeadBytes),
                      ReportData(documents),
                      absl::string_view(report_page::kTail, report_page::kTailBytes));
}

}  // namespace meshwright
