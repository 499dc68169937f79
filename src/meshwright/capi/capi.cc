// The functions of include/meshwright.h that plan, read and annotate programs.

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright.h"
#include "meshwright/answer/ask_planner.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/capi/result.h"
#include "meshwright/capi/tables_json.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/in_short.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/proto/writer.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/stablehlo/separate_functions.h"
#include "meshwright/inter/layers/fingerprint.h"
#include "meshwright/plan/annotate/annotate_stablehlo.h"
#include "meshwright/plan/annotate/apply_plan.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/document/version.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/profile/operand_constraints.h"
#include "meshwright/report/headline.h"
#include "meshwright/request/program_request.h"
#include "meshwright/sharding/given_call_rules.h"

namespace meshwright {
namespace {

void FillPlan(PlanAnswer made, mw_result& result) {
  const auto answer = std::make_shared<const PlanAnswer>(std::move(made));
  if (answer->plan.has_value()) {
    result.writers["plan"] = [answer] { return PlanToJson(*answer->plan); };
  }
  result.writers["table"] = [answer] { return answer->table(); };
  if (answer->csv) result.writers["csv"] = [answer] { return answer->csv(); };
  if (answer->plot) result.writers["plot"] = [answer] { return answer->plot(); };
  if (answer->program == nullptr) return;
  result.writers["program"] = [answer] { return AnnotatedProgram(*answer->program); };
  result.writers["proto"] = [answer] { return ToHloProto(Annotated(*answer->program)); };
}

std::string StagesJson(const std::vector<StageFile>& stages) {
  Json list = Json::array();
  for (const StageFile& file : stages)
    list.push_back({{"name", file.name}, {"contents", file.contents}});
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A program for a plan's annotations, as something to be run: a function that is called several
// times would have one annotation for all of them. Operators and values have the numbers that they
// have in the program.

// HLO without calls. What an operator takes otherwise is moved right before it, as
// AnnotateStablehlo does.
absl::StatusOr<std::string> RunnableProto(const Program& program, const AppliedPlan& plan) {
  MW_ASSIGN_OR_RETURN(const Module module, InlineCalls(*program.module));
  MW_ASSIGN_OR_RETURN(const Graph graph, BuildGraph(module));
  return ToHloProto(WithMovements(graph, plan.mesh, plan.values, plan.outputs, plan.movements));
}

// StableHLO with a function of its own for every call.
absl::StatusOr<std::string> RunnableStablehlo(const StablehloText& program,
                                              const AppliedPlan& plan) {
  MW_ASSIGN_OR_RETURN(const std::string text, SeparateFunctions(program.text, "program"));
  MW_ASSIGN_OR_RETURN(const StablehloProgram read, ReadStablehlo(text, "program"));
  MW_ASSIGN_OR_RETURN(const Graph graph, BuildGraph(read.module));
  return AnnotateStablehlo(text, read.source, graph, plan.mesh, plan.values, plan.outputs,
                           plan.movements, /*marks_calls=*/true);
}

absl::Status FillAnnotated(std::string_view program, std::string_view plan_json,
                           mw_result& result) {
  MW_ASSIGN_OR_RETURN(const Plan plan, ParsePlanJson(plan_json, "plan"));
  MW_ASSIGN_OR_RETURN(Program made, ParseProgram(std::string(program), "program"));
  MW_ASSIGN_OR_RETURN(AppliedPlan found, ApplyPlan(made.graph, plan));
  const auto applied = std::make_shared<const AppliedPlan>(std::move(found));
  const auto read = std::make_shared<const Program>(std::move(made));
  const auto shared = std::make_shared<const Plan>(plan);
  // None can fail: the program was read, and the plan is of it.
  result.writers["program"] = [read, shared] { return *AnnotatedFromPlan(*read, *shared); };
  result.writers["proto"] = [read, applied] { return *RunnableProto(*read, *applied); };
  result.writers["runnable"] = [read, applied] {
    return read->stablehlo ? *RunnableStablehlo(*read->stablehlo, *applied)
                           : *RunnableProto(*read, *applied);
  };
  return absl::OkStatus();
}

absl::Status FillProgram(std::string_view program, mw_result& result) {
  MW_ASSIGN_OR_RETURN(Program made, ParseProgram(std::string(program), "program"));
  const auto read = std::make_shared<const Program>(std::move(made));
  result.writers["format"] = [read] { return read->input.kind; };
  result.writers["parameters"] = [read] { return ParametersJson(read->graph); };
  result.writers["outputs"] = [read] { return OutputsJson(read->graph); };
  result.writers["fingerprint"] = [read] { return GraphFingerprint(read->graph); };
  result.writers["rules"] = [read] { return DraftCallRules(read->graph, "program"); };
  result.writers["bounded"] = [read] { return FindBoundedSize(read->graph); };
  if (read->stablehlo) {
    result.writers["stablehlo"] = [read] { return read->stablehlo->text; };
  } else {
    result.writers["proto"] = [read] { return ToHloProto(*read->module); };
  }
  return absl::OkStatus();
}

mw_result* PlanWith(Options (*rows_of)(AskedOptions& asked), bool estimate, const void* program,
                    size_t program_bytes, const char* options_json) {
  return Answer([&](mw_result& result) -> absl::Status {
    if (options_json == nullptr) {
      return absl::InvalidArgumentError("the options are a null pointer");
    }
    Subject subject = {.name = program == nullptr ? "" : "program"};
    AskedOptions asked;
    Options rows = rows_of(asked);
    rows.push_back({"program",
                    &subject.name,
                    "what the program is called, or what it is",
                    {.required = program == nullptr}});
    MW_ASSIGN_OR_RETURN(asked.given, ReadOptions(options_json, rows));
    if (program != nullptr || program_bytes > 0) {
      MW_ASSIGN_OR_RETURN(subject.contents, Bytes(program, program_bytes, "program"));
    }
    PlanningRequest request;
    if (estimate) {
      MW_ASSIGN_OR_RETURN(request, ToProgramRequest(subject, asked));
    } else {
      MW_ASSIGN_OR_RETURN(request, MakeRequest(subject, asked));
    }
    MW_ASSIGN_OR_RETURN(PlanAnswer answer, AskPlanner(std::move(request), {}));
    if (answer.pipeline != nullptr && !asked.emit_path.empty()) {
      MW_ASSIGN_OR_RETURN(const std::vector<StageFile> stages, StagesToEmit(*answer.pipeline));
      result.texts["stages"] = StagesJson(stages);
    }
    FillPlan(std::move(answer), result);
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace meshwright

extern "C" {

int mw_abi_version(void) { return MW_ABI_VERSION; }

const char* mw_version(void) { return meshwright::ToolVersion().data(); }

mw_result* mw_plan(const void* program, size_t program_bytes, const char* options) {
  return meshwright::PlanWith(&meshwright::PlanOptionRows, /*estimate=*/false, program,
                              program_bytes, options);
}

mw_result* mw_estimate(const void* program, size_t program_bytes, const char* options) {
  return meshwright::PlanWith(&meshwright::EstimateOptionRows, /*estimate=*/true, program,
                              program_bytes, options);
}

mw_result* mw_annotate(const void* program, size_t program_bytes, const char* plan,
                       size_t plan_bytes) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const std::string_view program_text,
                        meshwright::Bytes(program, program_bytes, "program"));
    MW_ASSIGN_OR_RETURN(const std::string_view plan_text,
                        meshwright::Bytes(plan, plan_bytes, "plan"));
    return meshwright::FillAnnotated(program_text, plan_text, result);
  });
}

mw_result* mw_read_program(const void* program, size_t program_bytes) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const std::string_view text,
                        meshwright::Bytes(program, program_bytes, "program"));
    return meshwright::FillProgram(text, result);
  });
}

mw_result* mw_read_plan(const char* plan, size_t plan_bytes) {
  return meshwright::Answer([&](mw_result& result) -> absl::Status {
    MW_ASSIGN_OR_RETURN(meshwright::Plan read, meshwright::PlanArgument(plan, plan_bytes));
    const auto shared = std::make_shared<const meshwright::Plan>(std::move(read));
    result.writers["plan"] = [shared] { return meshwright::PlanToJson(*shared); };
    result.writers["table"] = [shared] {
      return meshwright::PlanTable(*shared, meshwright::InShort(*shared));
    };
    result.writers["explanation"] = [shared] { return meshwright::ExplainPlan(*shared); };
    result.writers["headline"] = [shared] {
      return meshwright::Json(meshwright::Headline(*shared)).dump();
    };
    return absl::OkStatus();
  });
}

mw_result* mw_tables(void) {
  return meshwright::Answer([](mw_result& result) {
    result.writers["devices"] = &meshwright::DevicesJson;
    result.writers["operators"] = &meshwright::OperatorsJson;
    result.writers["calls"] = &meshwright::CallsJson;
    result.writers["models"] = &meshwright::ModelsJson;
    result.writers["options"] = &meshwright::AllOptionsJson;
    return absl::OkStatus();
  });
}

const char* mw_error(const mw_result* result) { return result->error; }

const char* mw_message(const mw_result* result) { return result->message.c_str(); }

const char* mw_text(mw_result* result, const char* name, size_t* size) {
  if (size != nullptr) *size = 0;
  try {
    auto text = result->texts.find(std::string_view(name));
    if (text == result->texts.end()) {
      const auto writer = result->writers.find(std::string_view(name));
      if (writer == result->writers.end()) return nullptr;
      text = result->texts.emplace(writer->first, writer->second()).first;
    }
    if (size != nullptr) *size = text->second.size();
    return text->second.c_str();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void mw_free(mw_result* result) {
  if (!meshwright::IsOutOfMemory(result)) delete result;
}

}  // extern "C"
