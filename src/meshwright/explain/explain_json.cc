#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/explain_model.h"
#include "meshwright/explain/json.h"
#include "meshwright/explain/layer_labels.h"
#include "meshwright/explain/part_summary.h"

namespace meshwright {
namespace {

Json AxesJson(const std::vector<AxisSummary>& axes) {
  Json list = Json::array();
  for (const AxisSummary& axis : axes) {
    Json roles = Json::object();
    for (const RoleShare& one : axis.roles) roles[std::string(AxisRoleName(one.role))] = one.share;
    list.push_back({{"axis", axis.axis}, {"devices", axis.devices}, {"roles", std::move(roles)}});
  }
  return list;
}

Json PartJson(const JudgedPart& judged, const LayerLabels& labels) {
  const PlanPart& part = judged.part;
  const PartSummary summary = Summarize(part, judged.judged);
  Json parameters = Json::array(), layers = Json::array();
  Json phases = Json::array(), collectives = Json::array();
  Json residents = Json::array();
  for (const ParameterGroup& group : summary.parameters) {
    parameters.push_back({{"name", group.name},
                          {"exact", group.exact},
                          {"count", group.count},
                          {"dtype", group.type.dtype},
                          {"shape", group.type.shape},
                          {"spec", group.spec},
                          {"category", Word(group.category)},
                          {"kind", KindName(group.roles)},
                          {"parallelism", group.parallelism},
                          {"replicas", group.replicas},
                          {"bytes_per_device", group.bytes},
                          {"whole_bytes", group.whole_bytes}});
  }
  for (const LayerRange& range : summary.layers) {
    const auto number = [](const std::optional<int64_t>& layer) {
      return layer.has_value() ? Json(*layer) : Json();
    };
    layers.push_back({{"name", LayerRangeText(range, labels)},
                      {"first", number(range.first)},
                      {"last", number(range.last)},
                      {"axes", AxesJson(range.axes)}});
  }
  for (const PhaseSeconds& phase : summary.phases) {
    phases.push_back({{"phase", phase.phase},
                      {"compute_seconds", phase.compute},
                      {"communication_seconds", phase.communication}});
  }
  for (const CollectiveGroup& group : summary.collectives) {
    collectives.push_back({{"kind", group.sum.kind},
                           {"axes", group.sum.axes},
                           {"count", group.sum.count},
                           {"bytes_per_device", group.sum.bytes_per_device},
                           {"seconds", group.sum.seconds},
                           {"cause", group.cause},
                           {"source", group.source},
                           {"phase", group.phase},
                           {"places", group.places}});
  }
  for (const ResidentGroup& group : summary.residents) {
    residents.push_back({{"name", group.name},
                         {"exact", group.exact},
                         {"count", group.count},
                         {"source", group.source},
                         {"category", Word(group.category)},
                         {"bytes_per_device", group.bytes}});
  }
  return {{"stages", part.stages},
          {"headline", Headline(summary)},
          {"axes", AxesJson(summary.axes)},
          {"parameters", std::move(parameters)},
          {"layers", std::move(layers)},
          {"phases", std::move(phases)},
          {"contraction_seconds", summary.contraction_seconds},
          {"other_seconds", summary.other_seconds},
          {"collectives", std::move(collectives)},
          {"at_peak", std::move(residents)}};
}

}  // namespace

std::string ExplainPlanJson(const Plan& plan) {
  Json json = {{"cluster", plan.cluster.name},
               {"step_seconds", plan.step_seconds},
               {"objective_seconds", plan.objective_seconds},
               {"bound_seconds", plan.bound_seconds},
               {"gap", plan.gap},
               {"peak_bytes", plan.peak_bytes},
               {"peak_at", plan.peak_at},
               {"memory_by_category", MemoryJson(plan.memory_by_category)}};
  if (plan.of_model()) {
    Json degrees = Json::array();
    for (const DegreeUse& use : DegreeUses(plan))
      degrees.push_back({{"kind", use.kind}, {"degree", use.degree}, {"how", use.how}});
    json["degrees"] = std::move(degrees);
    return JsonText(json);
  }
  Json parts = Json::array();
  const std::vector<PlanPart> all = PartsOf(plan);
  std::vector<std::vector<ParameterParallelism>> judged;
  judged.reserve(all.size());
  std::vector<JudgedPart> judged_parts;
  for (const PlanPart& part : all)
    judged_parts.push_back({part, judged.emplace_back(JudgeParameters(part))});
  const LayerLabels labels(judged_parts);
  for (const JudgedPart& part : judged_parts) parts.push_back(PartJson(part, labels));
  json["parts"] = std::move(parts);
  return JsonText(json);
}

}  // namespace meshwright
