// The functions of include/meshwright.h that say more of plans, and of what is not planned.

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "meshwright.h"
#include "meshwright/answer/blocks_request.h"
#include "meshwright/answer/calibrate_request.h"
#include "meshwright/answer/db_request.h"
#include "meshwright/answer/explain_request.h"
#include "meshwright/answer/export_request.h"
#include "meshwright/answer/profile_request.h"
#include "meshwright/answer/simulate_request.h"
#include "meshwright/answer/solve_request.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/capi/result.h"
#include "meshwright/explain/plan_difference.h"
#include "meshwright/model/model_table.h"
#include "meshwright/report/csv_tables.h"
#include "meshwright/report/device_programs.h"
#include "meshwright/report/documents.h"
#include "meshwright/report/report_page.h"
#include "meshwright/report/segment_dot.h"
#include "meshwright/request/model_request.h"
#include "meshwright/solve/iopddl_json.h"

namespace meshwright {
namespace {

// Options, which may be a null pointer: none are given.
absl::StatusOr<GivenOptions> OptionsArgument(const char* options, const Options& rows) {
  return ReadOptions(options == nullptr ? "{}" : options, rows);
}

absl::Status FillExplanation(const Plan& plan, const ExplainAsked& asked, mw_result& result) {
  MW_ASSIGN_OR_RETURN(const Explanation answer, Explain(plan, asked, nullptr));
  MW_ASSIGN_OR_RETURN(result.texts["text"], answer.text());
  MW_ASSIGN_OR_RETURN(result.texts["json"], answer.json());
  return absl::OkStatus();
}

// The documents of a report: a JSON list of objects with "name" and "text".
absl::StatusOr<ReportDocuments> DocumentsArgument(const char* text) {
  MW_ASSIGN_OR_RETURN(const InputJson json,
                      ParseInputJson(text == nullptr ? "" : text, "documents"));
  absl::Status status;
  ReportDocuments documents;
  for (const JsonValue& one : JsonValue(json, &status).Elements()) {
    const std::string name = one.At("name").Text(), contents = one.At("text").Text();
    MW_RETURN_IF_ERROR(status);
    MW_RETURN_IF_ERROR(AddDocument(contents, name, documents));
  }
  MW_RETURN_IF_ERROR(status);
  return documents;
}

std::string TablesJson(const ReportDocuments& documents) {
  Json files = Json::object();
  for (CsvFile& file : CsvTables(documents)) files[file.name] = std::move(file.contents);
  return files.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string FilesJson(const Artefacts& files) {
  Json list = Json::array();
  for (const Artefact& file : files) {
    list.push_back(
        {{"name", file.name}, {"contents", file.contents}, {"executable", file.executable}});
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace
}  // namespace meshwright

extern "C" {

mw_result* mw_explain(const char* plan, size_t plan_bytes, const void* program,
                      size_t program_bytes, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::ExplainAsked asked;
    MW_ASSIGN_OR_RETURN(asked.given,
                        meshwright::OptionsArgument(options, meshwright::ExplainOptionRows(asked)));
    MW_ASSIGN_OR_RETURN(const meshwright::Plan read, meshwright::PlanArgument(plan, plan_bytes));
    if (program != nullptr) {
      MW_ASSIGN_OR_RETURN(asked.contents, meshwright::Bytes(program, program_bytes, "program"));
    }
    return meshwright::FillExplanation(read, asked, result);
  });
}

mw_result* mw_diff(const char* before, size_t before_bytes, const char* after, size_t after_bytes) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const meshwright::Plan a, meshwright::PlanArgument(before, before_bytes));
    MW_ASSIGN_OR_RETURN(const meshwright::Plan b, meshwright::PlanArgument(after, after_bytes));
    const meshwright::PlanDifference difference = meshwright::DiffPlans(a, b);
    result.texts["text"] = meshwright::DiffText(a, b, difference);
    result.texts["json"] = meshwright::DiffJson(difference);
    return absl::OkStatus();
  });
}

mw_result* mw_simulate(const char* plan, size_t plan_bytes, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::SimulateAsked asked;
    MW_RETURN_IF_ERROR(
        meshwright::OptionsArgument(options, meshwright::SimulateOptionRows(asked)).status());
    MW_ASSIGN_OR_RETURN(meshwright::Plan read, meshwright::PlanArgument(plan, plan_bytes));
    const auto shared = std::make_shared<const meshwright::Plan>(std::move(read));
    MW_ASSIGN_OR_RETURN(const meshwright::SimulationAnswer answer,
                        meshwright::Simulate(*shared, asked));
    result.writers["text"] = [shared, answer] { return answer.table(); };
    result.writers["json"] = [shared, answer] { return answer.json(); };
    result.writers["trace"] = [shared, answer] { return answer.trace(); };
    result.texts["warning"] = answer.warning;
    return absl::OkStatus();
  });
}

mw_result* mw_export(const char* plan, size_t plan_bytes, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::ExportAsked asked;
    MW_ASSIGN_OR_RETURN(asked.given,
                        meshwright::OptionsArgument(options, meshwright::ExportOptionRows(asked)));
    MW_ASSIGN_OR_RETURN(const meshwright::Plan read, meshwright::PlanArgument(plan, plan_bytes));
    MW_ASSIGN_OR_RETURN(const meshwright::Artefacts files, meshwright::Export(read, asked));
    result.texts["folder"] = meshwright::UsualFolder(read, asked);
    result.texts["files"] = meshwright::FilesJson(files);
    return absl::OkStatus();
  });
}

mw_result* mw_report(const char* documents) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    MW_ASSIGN_OR_RETURN(meshwright::ReportDocuments read, meshwright::DocumentsArgument(documents));
    const auto shared = std::make_shared<const meshwright::ReportDocuments>(std::move(read));
    if (meshwright::CheckReportPage().ok()) {
      result.writers["page"] = [shared] { return meshwright::ReportPage(*shared); };
    }
    result.writers["tables"] = [shared] { return meshwright::TablesJson(*shared); };
    if (shared->plans.size() == 1 &&
        !meshwright::ProgramsOf(shared->plans[0].second).programs.empty()) {
      result.writers["dot"] = [shared] { return meshwright::SegmentDot(shared->plans[0].second); };
    }
    return absl::OkStatus();
  });
}

mw_result* mw_calibrate(const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::CalibrateAsked asked;
    MW_RETURN_IF_ERROR(
        meshwright::OptionsArgument(options, meshwright::CalibrateOptionRows(asked)).status());
    MW_ASSIGN_OR_RETURN(const meshwright::CalibrationAnswer made,
                        meshwright::MakeCalibration(asked));
    result.texts["yaml"] = made.yaml;
    result.texts["warnings"] = meshwright::Json(made.warnings).dump();
    return absl::OkStatus();
  });
}

mw_result* mw_profile(const void* program, size_t program_bytes, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::ProfileAsked asked;
    std::string& name = asked.request.program;
    if (program != nullptr) name = "program";
    meshwright::Options rows = meshwright::ProfileOptionRows(asked);
    rows.push_back({"program",
                    &name,
                    "what the program is called, or its path",
                    {.required = program == nullptr}});
    MW_RETURN_IF_ERROR(meshwright::OptionsArgument(options, rows).status());
    MW_ASSIGN_OR_RETURN(meshwright::ProfileRequest request, meshwright::ToProfileRequest(asked));
    if (program != nullptr) {
      MW_ASSIGN_OR_RETURN(request.contents, meshwright::Bytes(program, program_bytes, "program"));
    }
    MW_ASSIGN_OR_RETURN(const meshwright::ProfileReport report,
                        meshwright::ProfileProgram(request));
    result.texts["text"] = meshwright::ProfileTable(report);
    result.texts["json"] = meshwright::ProfileJson(report);
    if (!asked.layers_csv.empty()) {
      MW_ASSIGN_OR_RETURN(result.texts["layers-csv"], meshwright::LayersCsv(report));
    }
    if (!asked.calibration.empty()) {
      MW_ASSIGN_OR_RETURN(const meshwright::CalibrationAnswer made,
                          meshwright::CalibrateProfiled(report));
      result.texts["calibrate"] = made.yaml;
    }
    return absl::OkStatus();
  });
}

mw_result* mw_model(const char* model, size_t model_bytes, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::ModelAsked asked;
    meshwright::Subject subject = {.name = model == nullptr ? "" : "model"};
    meshwright::Options rows = meshwright::ModelOptionRows(asked);
    rows.push_back(
        {"model", &subject.name, "what the model is called", {.required = model == nullptr}});
    MW_RETURN_IF_ERROR(meshwright::OptionsArgument(options, rows).status());
    if (model != nullptr) {
      MW_ASSIGN_OR_RETURN(subject.contents, meshwright::Bytes(model, model_bytes, "model"));
    }
    MW_ASSIGN_OR_RETURN(const meshwright::DescribedModel described,
                        meshwright::DescribeModel(subject, asked));
    result.texts["text"] = meshwright::transformer::ModelTable(described.model, described.batch);
    result.texts["json"] = meshwright::transformer::ModelJson(described.model, described.batch);
    return absl::OkStatus();
  });
}

mw_result* mw_blocks(const void* program, size_t program_bytes, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::BlocksAsked asked;
    meshwright::Subject subject = {.name = program == nullptr ? "" : "program"};
    meshwright::Options rows = meshwright::BlocksOptionRows(asked);
    rows.push_back({"program",
                    &subject.name,
                    "what the program is called, or its path",
                    {.required = program == nullptr}});
    MW_RETURN_IF_ERROR(meshwright::OptionsArgument(options, rows).status());
    if (program != nullptr) {
      MW_ASSIGN_OR_RETURN(subject.contents, meshwright::Bytes(program, program_bytes, "program"));
    }
    MW_ASSIGN_OR_RETURN(const meshwright::BlocksAnswer answer,
                        meshwright::FindBlocks(subject, asked));
    result.texts["text"] = meshwright::BlocksTable(answer.report);
    result.texts["json"] = meshwright::BlocksJson(answer.report);
    meshwright::Json names = meshwright::Json::array();
    for (const meshwright::Artefact& file : answer.files) {
      names.push_back(file.name);
      result.texts[file.name] = file.contents;
    }
    result.texts["names"] = names.dump();
    return absl::OkStatus();
  });
}

mw_result* mw_db(const char* action, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    const std::string_view name = action == nullptr ? "" : action;
    const meshwright::DbAction* const found = meshwright::FindDbAction(name);
    if (found == nullptr) {
      return absl::InvalidArgumentError(
          meshwright::StrCat("found \"", name, "\", expected list, show, merge, export or prune"));
    }
    meshwright::DbAsked asked;
    meshwright::Options rows = found->arguments(asked);
    for (meshwright::Option& row : found->options(asked)) rows.push_back(std::move(row));
    MW_RETURN_IF_ERROR(meshwright::OptionsArgument(options, rows).status());
    MW_ASSIGN_OR_RETURN(const meshwright::DbAnswer answer, found->run(asked));
    result.texts["text"] = answer.text;
    result.texts["json"] = answer.json;
    return absl::OkStatus();
  });
}

mw_result* mw_solve(const void* problem, size_t problem_bytes, const char* options) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    meshwright::SolveAsked asked;
    MW_RETURN_IF_ERROR(
        meshwright::OptionsArgument(options, meshwright::SolveOptionRows(asked)).status());
    MW_ASSIGN_OR_RETURN(const meshwright::solve::SolverOptions how,
                        meshwright::ToSolverOptions(asked));
    MW_ASSIGN_OR_RETURN(const std::string_view text,
                        meshwright::Bytes(problem, problem_bytes, "problem"));
    MW_ASSIGN_OR_RETURN(const meshwright::solve::Problem read,
                        meshwright::solve::ParseIopddl(std::string(text), "problem"));
    MW_ASSIGN_OR_RETURN(const meshwright::SolveAnswer answer, meshwright::SolveProblem(read, how));
    result.texts["text"] = answer.text;
    result.texts["json"] = answer.json;
    return absl::OkStatus();
  });
}

}  // extern "C"
