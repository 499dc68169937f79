#include "meshwright/capi/tables_json.h"

#include "meshwright/answer/blocks_request.h"
#include "meshwright/answer/calibrate_request.h"
#include "meshwright/answer/db_request.h"
#include "meshwright/answer/explain_request.h"
#include "meshwright/answer/export_request.h"
#include "meshwright/answer/profile_request.h"
#include "meshwright/answer/simulate_request.h"
#include "meshwright/answer/solve_request.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/intra/planner.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/request/model_request.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/sharding/call_table.h"
#include "meshwright/sharding/rule_table.h"

namespace meshwright {

namespace {

Json Leaf(const std::string& name, const Shape& shape) {
  return {
      {"name", name}, {"dtype", std::string(ElementTypeName(shape.type))}, {"shape", shape.dims}};
}

}  // namespace

std::string DevicesJson() {
  Json list = Json::array();
  for (const DeviceType& device : BuiltinDevices()) {
    list.push_back({{"name", device.name},
                    {"description", device.description},
                    {"memory_bytes", device.memory_bytes},
                    {"devices_per_node", device.devices_per_node}});
  }
  return list.dump();
}

std::string OperatorsJson() {
  Json list = Json::array();
  for (const RuleRow& row : RuleTable()) {
    list.push_back({{"opcode", std::string(OpcodeName(row.opcode))},
                    {"rule", std::string(row.notation)},
                    {"remark", std::string(row.remark)}});
  }
  return list.dump();
}

std::string CallsJson() {
  Json list = Json::array();
  for (const CallRow& row : CallTable()) {
    list.push_back({{"target", std::string(row.target)},
                    {"rule", std::string(row.notation)},
                    {"remark", std::string(row.remark)}});
  }
  return list.dump();
}

std::string ModelsJson() {
  Json list = Json::array();
  for (const transformer::BuiltinModel& model : transformer::BuiltinModels()) {
    list.push_back({{"name", model.name}, {"source", model.source}});
  }
  return list.dump();
}

std::string AllOptionsJson() {
  AskedOptions plan, estimate;
  BlocksAsked blocks;
  CalibrateAsked calibrate;
  DbAsked db;
  ExplainAsked explain;
  ExportAsked launch;
  ModelAsked model;
  ProfileAsked profile;
  SimulateAsked simulate;
  SolveAsked solve;
  Json all = {{"plan", OptionsJson(PlanOptionRows(plan))},
              {"estimate", OptionsJson(EstimateOptionRows(estimate))},
              {"blocks", OptionsJson(BlocksOptionRows(blocks))},
              {"calibrate", OptionsJson(CalibrateOptionRows(calibrate))},
              {"explain", OptionsJson(ExplainOptionRows(explain))},
              {"export", OptionsJson(ExportOptionRows(launch))},
              {"model", OptionsJson(ModelOptionRows(model))},
              {"profile", OptionsJson(ProfileOptionRows(profile))},
              {"simulate", OptionsJson(SimulateOptionRows(simulate))},
              {"solve", OptionsJson(SolveOptionRows(solve))}};
  for (const DbAction& action : DbActions())
    all[StrCat("db ", action.name)] = OptionsJson(action.options(db));
  return all.dump();
}

std::string ParametersJson(const Graph& graph) {
  Json list = Json::array();
  for (OpId parameter : graph.parameters) {
    list.push_back(Leaf(ParameterName(graph, parameter), graph[graph[parameter].result()].shape));
    list.back()["donated"] = false;
  }
  for (int32_t alias : graph.output_alias) {
    if (alias >= 0) list[static_cast<size_t>(alias)]["donated"] = true;
  }
  // Names may be any bytes.
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string OutputsJson(const Graph& graph) {
  Json list = Json::array();
  for (OpId output : graph.outputs) {
    list.push_back(Leaf(OutputName(graph, output), graph[graph[output].operands[0]].shape));
  }
  return list.dump();
}

}  // namespace meshwright
