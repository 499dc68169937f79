#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_value.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/plan/make/model_sweep.h"
#include "meshwright/plan/text/transformer_table.h"
#include "meshwright/report/view_json.h"

namespace meshwright {
namespace {

Json NodeGroupView(const PlanNodeGroup& group) {
  return {{"name", group.name},
          {"device", group.device},
          {"nodes", group.nodes},
          {"per_node", group.devices_per_node},
          {"used_nodes", group.used_nodes},
          {"stages", group.stages},
          {"tp", group.tp},
          {"dp", group.dp},
          {"micro_batch", group.micro_batch},
          {"dollars_per_hour", OrNull(group.dollars_per_hour)}};
}

Json OverGroupsView(const PlanOverGroups& over) {
  Json groups = Json::array(), choices = groups;
  for (const PlanNodeGroup& group : over.groups) groups.push_back(NodeGroupView(group));
  for (const PlanNodeChoice& one : over.choices) {
    choices.push_back({{"nodes", one.nodes},
                       {"seconds", Shortened(one.step_seconds)},
                       {"dollars", OrNull(one.step_dollars)},
                       {"degrees", one.degrees},
                       {"is_bound", one.is_bound},
                       {"on_front", one.on_front},
                       {"beaten_by", OrNull(one.beaten_by)},
                       {"groups", one.groups},
                       {"layers", one.layers}});
  }
  return {{"groups", std::move(groups)},
          {"stage_groups", over.stage_groups},
          {"steps", OrNull(over.steps)},
          {"most_seconds", OrNull(over.most_seconds)},
          {"most_dollars", OrNull(over.most_dollars)},
          {"dollars", OrNull(over.step_dollars)},
          {"choices", std::move(choices)}};
}

// The degrees that divide the devices, or what lies on them, in the order in which users name them.
Json SizesOf(const transformer::Configuration& degrees) {
  return {{"tp", degrees.tp}, {"cp", degrees.cp}, {"pp", degrees.pp},
          {"dp", degrees.dp}, {"ep", degrees.ep}, {"etp", degrees.etp}};
}

// How devices are numbered, where not in order.
Json PlacementView(const transformer::Configuration& degrees) {
  if (degrees.inside.tp == 0) return Json();
  const transformer::Placement& in = degrees.inside;
  Json placement = {{"tp", in.tp}, {"tp2", in.tp2}, {"cp", in.cp}, {"dp", in.dp}, {"pp", in.pp}};
  placement["rows"] = std::max<int64_t>(1, degrees.tp2);
  return placement;
}

}  // namespace

Json TransformerView(const Plan& plan) {
  const PlanTransformer& model = *plan.model;
  Json memory = Json::array(), alternatives = memory, sensitivity = memory, sweep = memory;
  for (const PlanGroupBytes& group : model.memory) memory.push_back(WriteJson(group));
  for (const PlanAlternative& one : model.alternatives) {
    alternatives.push_back({{"degrees", transformer::ConfigurationText(one.configuration)},
                            {"seconds", one.step_seconds},
                            {"peak_bytes", one.peak_bytes},
                            {"mfu", one.mfu},
                            {"slower_by", WriteJson(one.slower_by)}});
  }
  for (const PlanSensitivity& one : model.sensitivity) sensitivity.push_back(WriteJson(one));
  for (const PlanSweepRow& row : model.sweep) {
    sweep.push_back({{"gpus", row.gpus},
                     {"global_batch", row.global_batch},
                     {"sequence", row.sequence},
                     {"degrees", transformer::ConfigurationText(row.configuration)},
                     {"seconds", row.step_seconds},
                     {"tokens_per_second", row.tokens_per_second},
                     {"mfu", row.mfu},
                     {"efficiency", row.efficiency},
                     {"peak_bytes", row.peak_bytes}});
  }
  return {{"model", model.model},
          {"parameters", model.parameters},
          {"sequence", model.sequence},
          {"global_batch", model.global_batch},
          {"objective", Word(model.objective)},
          {"degrees", transformer::ConfigurationText(model.configuration)},
          {"sizes", SizesOf(model.configuration)},
          {"placement", PlacementView(model.configuration)},
          {"mfu", model.mfu},
          {"hfu", model.hfu},
          {"seconds", WriteJson(model.seconds)},
          {"memory", std::move(memory)},
          {"search", WriteJson(model.search)},
          {"alternatives", std::move(alternatives)},
          {"sensitivity", std::move(sensitivity)},
          {"sweep", std::move(sweep)},
          {"sweep_axis", Word(SweptAxis(model.sweep))},
          {"goodput", model.goodput.has_value() ? WriteJson(*model.goodput) : Json()},
          {"over_groups", plan.groups.has_value() ? OverGroupsView(*plan.groups) : Json()}};
}

}  // namespace meshwright
