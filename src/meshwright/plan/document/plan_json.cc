#include "meshwright/plan/document/plan_json.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_members.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/program/file_kind.h"
#include "meshwright/plan/document/degrees_json.h"
#include "meshwright/plan/document/document_checks.h"
#include "meshwright/plan/document/json_forms.h"

// A plan's members are listed beside its structs; here is how its parts lie in the document.

namespace meshwright {
namespace {

// The object "transformer": what a model has, and what it has over groups of nodes.
template <typename Model, typename Groups>
struct ModelMember {
  Model& model;
  Groups& groups;
  bool has_value() const { return model.has_value(); }

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    if constexpr (!std::is_const_v<Model>) self.model.emplace();
    PlanTransformer::VisitMembers(*self.model, visit);
    visit("over_groups", self.groups);
  }
};

// All keys of the document, in its order. The pipeline stands in it member by member; `schedule` is
// none where there is no pipeline.
template <typename PlanOrConst, typename Pipeline, typename Visitor>
void VisitDocument(PlanOrConst& plan, std::optional<std::string>& schedule, Pipeline& pipeline,
                   const Visitor& visit) {
  visit("schema", plan.schema);
  visit("tool_version", plan.tool_version);
  visit("inputs", plan.inputs);
  visit("options", plan.options);
  visit("cluster", plan.cluster);
  visit("mesh", plan.mesh);
  visit("objective_seconds", plan.objective_seconds);
  visit("bound_seconds", plan.bound_seconds);
  visit("gap", plan.gap, kShare);
  visit("compute_seconds", plan.compute_seconds);
  visit("communication_seconds", plan.communication_seconds);
  visit("step_seconds", plan.step_seconds);
  visit("time_use", plan.time_use);
  visit("time_error", plan.time_error);
  visit("memory_error", plan.memory_error);
  visit("time_classes", plan.time_classes);
  visit("peak_bytes", plan.peak_bytes);
  visit("budget_bytes", plan.budget_bytes);
  visit("peak_at", plan.peak_at);
  visit("memory_by_category", plan.memory_by_category);
  ProgramPart::VisitBorders(plan.program, visit);
  ProgramPart::VisitInside(plan.program, visit);
  visit("schedule", schedule);
  visit("micro_batches", plan.micro_batches);
  visit("chunks", plan.chunks);
  visit("bubble_share", plan.bubble_share, kShare);
  visit("stages", pipeline.stages);
  visit("cross_stage", pipeline.cross_stage);
  ModelMember<std::remove_reference_t<decltype((plan.model))>,
              std::remove_reference_t<decltype((plan.groups))>>
      model{plan.model, plan.groups};
  visit("transformer", model, kMayBeAbsent);
  visit("segments", plan.segments, MemberForm{.may_be_absent = !plan.profile.has_value()});
  visit("profile", plan.profile, kMayBeAbsent);
  visit("warnings", plan.warnings);
  visit("planning_seconds", plan.planning_seconds);
}

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Whether a member's elements get a line each.
template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = true;
template <>
constexpr bool kIsList<std::vector<PlanAxis>> = false;

template <typename T>
std::string Lines(const std::vector<T>& list) {
  std::string text = "[";
  for (const T& element : list) {
    absl::StrAppend(&text, text.size() == 1 ? "\n    " : ",\n    ", Text(WriteJson(element)));
  }
  return text + (list.empty() ? "]" : "\n  ]");
}

// Before anything else is looked at: another version has other keys.
void CheckSchema(const JsonValue& json) {
  if (json.IsObject() && !json.Has("schema"))
    return json.Fail("the key \"schema\" is missing; this is no plan");
  int64_t version = 0;
  ReadJson(json.At("schema"), version);
  if (!json.ok() || version == kPlanSchema) return;
  json.At("schema").Fail(
      StrCat("found version ", version, "; this program reads version ", kPlanSchema, " only"));
}

// Puts the members of a pipeline that were read where they belong, if there is one.
void SetPipeline(const JsonValue& json, const std::optional<std::string>& schedule,
                 PipelinePart& pipeline, Plan& plan) {
  const bool stages = !pipeline.stages.empty();
  if (stages != schedule.has_value()) {
    json.At("schedule")
        .Fail(stages ? "found null, expected that of the stages"
                     : "found one, expected null as there are no stages");
  }
  if (!stages && !pipeline.cross_stage.empty())
    json.At("cross_stage").Fail("found transfers, expected none as there are no stages");
  if (!stages) return;
  pipeline.schedule = schedule.value_or("");
  plan.pipeline = std::move(pipeline);
}

absl::StatusOr<Plan> ReadDocument(const InputJson& document) {
  absl::Status status;
  const JsonValue json(document, &status);
  CheckSchema(json);
  Plan plan;
  std::optional<std::string> schedule;
  PipelinePart pipeline;
  JsonMembers members(json);
  VisitDocument(plan, schedule, pipeline,
                [&members](const char* key, auto& member, MemberForm form = {}) {
                  members.Read(key, member, form);
                });
  members.Finish();
  SetPipeline(json, schedule, pipeline, plan);
  MW_RETURN_IF_ERROR(status);
  MW_RETURN_IF_ERROR(CheckDocument(plan));
  return plan;
}

}  // namespace

std::string PlanToJson(const Plan& plan) {
  static const auto* const kNoPipeline = new PipelinePart();
  std::optional<std::string> schedule;
  if (plan.pipeline.has_value()) schedule = plan.pipeline->schedule;
  // Members are written one a line, lists one element a line: a plan is read by people and compared
  // with line-based tools, and a program has tens of thousands of instructions.
  std::string text;
  VisitDocument(
      plan, schedule, plan.pipeline.has_value() ? *plan.pipeline : *kNoPipeline,
      [&text]<typename Member>(const char* key, const Member& member, MemberForm form = {}) {
        if constexpr (requires { IsEmptyMember(member); }) {
          if (form.may_be_absent && IsEmptyMember(member)) return;
        }
        absl::StrAppend(&text, text.empty() ? "{\n  \"" : ",\n  \"", key, "\": ");
        if constexpr (kIsList<Member>) {
          text += Lines(member);
        } else {
          text += Text(WriteJson(member));
        }
      });
  return text + "\n}\n";
}

absl::StatusOr<Plan> ParsePlanJson(std::string_view text, std::string_view file) {
  MW_RETURN_IF_ERROR(CheckFileKind(text, file, WantedFile::kPlan));
  MW_ASSIGN_OR_RETURN(const InputJson json, ParseInputJson(text, file));
  absl::StatusOr<Plan> plan = ReadDocument(json);
  if (plan.ok()) return plan;
  return absl::Status(plan.status().code(), StrCat(file, ": ", plan.status().message()));
}

}  // namespace meshwright
