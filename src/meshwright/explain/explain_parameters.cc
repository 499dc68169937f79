#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/strings.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/json.h"
#include "meshwright/explain/parallelism.h"
#include "meshwright/explain/screen.h"
#include "meshwright/plan/columns.h"
#include "meshwright/plan/plan_table.h"

// As Alpa's users asked for placements: each parameter by itself, in program order.

namespace meshwright {
namespace {

absl::Status CheckHasParameters(const Plan& plan) {
  if (!IsOfModel(plan)) return absl::OkStatus();
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
  for (const PlanPart& part : PartsOf(plan)) {
    const std::string mesh =
        part.mesh.empty() ? "one device" : StrCat("mesh ", MeshText(part.mesh));
    if (part.stages.empty()) {
      StrAppend(&text, WrapWords(mesh, 2));
    } else {
      StrAppend(&text, WrapWords(StrCat(part.stages.size() == 1 ? "stage " : "stages ",
                                        absl::StrJoin(part.stages, ","), ", ", mesh),
                                 2));
    }
    const std::vector<ParameterParallelism> judged = JudgeParameters(part);
    std::vector<std::vector<std::string>> rows = {
        {"parameter", "type", "spec", "bytes", "replicas", "parallelism"}};
    for (size_t p = 0; p < part.parameters.size(); ++p) {
      const PlanTensor& tensor = part.parameters[p];
      rows.push_back({tensor.name, TypeText({tensor.dtype, tensor.shape}), SpecText(tensor.spec),
                      BytesText(tensor.bytes_per_device),
                      absl::StrFormat("%.0f", Replicas(part, tensor)),
                      RolesText(judged[p].roles, part.mesh)});
    }
    StrAppend(&text, ParameterTable(std::move(rows)));
  }
  return text;
}

absl::StatusOr<std::string> ExplainParametersJson(const Plan& plan) {
  if (absl::Status status = CheckHasParameters(plan); !status.ok()) return status;
  ExplainJson list = ExplainJson::array();
  for (const PlanPart& part : PartsOf(plan)) {
    const std::vector<ParameterParallelism> judged = JudgeParameters(part);
    for (size_t p = 0; p < part.parameters.size(); ++p) {
      const PlanTensor& tensor = part.parameters[p];
      ExplainJson roles = ExplainJson::object(), mesh = ExplainJson::object();
      for (size_t a = 0; a < part.mesh.size(); ++a) {
        mesh[part.mesh[a].name] = part.mesh[a].size;
        roles[part.mesh[a].name] = AxisRoleName(judged[p].roles[a]);
      }
      ExplainJson one = {{"name", tensor.name},
                         {"dtype", tensor.dtype},
                         {"shape", tensor.shape},
                         {"category", MemoryCategoryName(tensor.category)},
                         {"mesh", std::move(mesh)},
                         {"spec", tensor.spec},
                         {"bytes_per_device", tensor.bytes_per_device},
                         {"replicas", Replicas(part, tensor)},
                         {"kind", KindName(judged[p].roles)},
                         {"roles", std::move(roles)},
                         {"stages", part.stages}};
      one["layer"] = judged[p].layer.has_value() ? ExplainJson(*judged[p].layer) : ExplainJson();
      one["used_by"] =
          judged[p].use.has_value()
              ? ExplainJson(part.instructions[static_cast<size_t>(*judged[p].use)].name)
              : ExplainJson();
      list.push_back(std::move(one));
    }
  }
  return JsonText({{"parameters", std::move(list)}});
}

}  // namespace meshwright
