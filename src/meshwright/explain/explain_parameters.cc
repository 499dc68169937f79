#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/json.h"
#include "meshwright/explain/parallelism.h"
#include "meshwright/explain/screen.h"
#include "meshwright/plan/document/spec_text.h"

// As Alpa's users asked for placements: each parameter by itself, in program order.

namespace meshwright {
namespace {

absl::Status CheckHasParameters(const Plan& plan) {
  if (!plan.of_model()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the plan has no parameters: it was made from a model, which has degrees but no program");
}

double Devices(const std::vector<PlanAxis>& mesh) {
  double devices = 1;
  for (const PlanAxis& axis : mesh) devices *= static_cast<double>(axis.size);
  return devices;
}

double Replicas(const PlanPart& part, const PlanTensor& tensor) {
  return Devices(part.mesh) / DevicesOf(part, AxesOfSpec(tensor.spec));
}

// A stage, or the whole plan.
struct MemberOfPart {
  std::shared_ptr<const PlanPart> part;
  size_t member = 0;  // of part->stages
  std::shared_ptr<const std::vector<ParameterParallelism>> judged;
};

// In the order of the stages.
std::vector<MemberOfPart> MembersOf(const std::vector<PlanPart>& parts) {
  std::vector<MemberOfPart> members;
  for (const PlanPart& one : parts) {
    const auto part = std::make_shared<const PlanPart>(one);
    const auto judged =
        std::make_shared<const std::vector<ParameterParallelism>>(JudgeParameters(one));
    for (size_t m = 0; m < one.members(); ++m) members.push_back({part, m, judged});
  }
  const auto stage = [](const MemberOfPart& at) {
    return at.part->is_stage() ? at.part->stages[at.member] : 0;
  };
  std::stable_sort(
      members.begin(), members.end(),
      [&](const MemberOfPart& a, const MemberOfPart& b) { return stage(a) < stage(b); });
  return members;
}

// What users tell apart among parameters, in the order in which they are listed.
struct KindOfParameter {
  const char* title;
  bool (*takes)(MemoryCategory);
};
constexpr KindOfParameter kKindsOfParameters[] = {
    {"parameter", [](MemoryCategory c) { return c == MemoryCategory::kParameters; }},
    {"optimizer state", [](MemoryCategory c) { return c == MemoryCategory::kOptimizerState; }},
    {"input", [](MemoryCategory c) {
       return c != MemoryCategory::kParameters && c != MemoryCategory::kOptimizerState;
     }}};

// On two lines each where one is too short for the names.
std::string ParameterTable(std::vector<std::vector<std::string>> rows) {
  const std::vector<bool> right = {false, false, false, true, true, false};
  if (ColumnsWidth(rows) <= kColumns) return Columns(std::move(rows), right);
  std::string text;
  std::vector<std::string> names;
  for (auto& row : rows) {
    names.push_back(StrCat("  ", Fit(row[0], kColumns - 2), "\n"));
    row[0].clear();
  }
  const std::string details = Columns(std::move(rows), right);
  size_t begin = 0;
  for (const std::string& name : names) {
    const size_t end = details.find('\n', begin) + 1;
    StrAppend(&text, name, details.substr(begin, end - begin));
    begin = end;
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ExplainParameters(const Plan& plan) {
  if (absl::Status status = CheckHasParameters(plan); !status.ok()) return status;
  std::string text;
  for (const MemberOfPart& at : MembersOf(PartsOf(plan))) {
    const std::string mesh =
        at.part->mesh.empty() ? "one device" : StrCat("mesh ", MeshText(at.part->mesh));
    const std::string stage = at.part->StageName(at.member);
    StrAppend(&text, WrapWords(stage.empty() ? mesh : StrCat(stage, ", ", mesh), 2));
    for (const KindOfParameter& kind : kKindsOfParameters) {
      std::vector<std::vector<std::string>> rows = {
          {kind.title, "type", "spec", "bytes", "replicas", "parallelism"}};
      for (size_t p = 0; p < at.part->parameters.size(); ++p) {
        const PlanTensor& tensor = at.part->parameters[p];
        if (at.part->received[p] || !kind.takes(tensor.category)) continue;
        rows.push_back({at.part->ParameterName(at.member, p),
                        TypeText({tensor.dtype, tensor.shape}), SpecText(tensor.spec),
                        BytesText(tensor.bytes_per_device),
                        absl::StrFormat("%.0f", Replicas(*at.part, tensor)),
                        RolesText((*at.judged)[p].roles, at.part->mesh)});
      }
      if (rows.size() > 1) StrAppend(&text, ParameterTable(std::move(rows)));
    }
  }
  return text;
}

absl::StatusOr<std::string> ExplainParametersJson(const Plan& plan) {
  if (absl::Status status = CheckHasParameters(plan); !status.ok()) return status;
  Json list = Json::array();
  for (const MemberOfPart& at : MembersOf(PartsOf(plan))) {
    const PlanPart& part = *at.part;
    const std::vector<ParameterParallelism>& judged = *at.judged;
    for (size_t p = 0; p < part.parameters.size(); ++p) {
      const PlanTensor& tensor = part.parameters[p];
      if (part.received[p]) continue;
      Json roles = Json::object(), mesh = Json::object();
      for (size_t a = 0; a < part.mesh.size(); ++a) {
        mesh[part.mesh[a].name] = part.mesh[a].size;
        roles[part.mesh[a].name] = AxisRoleName(judged[p].roles[a]);
      }
      Json one = {{"name", part.ParameterName(at.member, p)},
                  {"dtype", tensor.dtype},
                  {"shape", tensor.shape},
                  {"category", Word(tensor.category)},
                  {"mesh", std::move(mesh)},
                  {"spec", tensor.spec},
                  {"bytes_per_device", tensor.bytes_per_device},
                  {"replicas", Replicas(part, tensor)},
                  {"kind", KindName(judged[p].roles)},
                  {"roles", std::move(roles)},
                  {"stages", Json::array()}};
      if (part.is_stage()) one["stages"].push_back(part.stages[at.member]);
      one["layer"] = judged[p].layer.has_value()
                         ? Json(*judged[p].layer + part.layer_offset[at.member])
                         : Json();
      one["state_of"] = judged[p].state_of.has_value()
                            ? Json(part.ParameterName(at.member, *judged[p].state_of))
                            : Json();
      one["used_by"] = judged[p].use.has_value()
                           ? Json(part.instructions[static_cast<size_t>(*judged[p].use)].name)
                           : Json();
      list.push_back(std::move(one));
    }
  }
  return JsonText({{"parameters", std::move(list)}});
}

}  // namespace meshwright
