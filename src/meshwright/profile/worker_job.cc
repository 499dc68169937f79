#include "meshwright/profile/worker_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/one_line.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/writer.h"
#include "meshwright/intra/names.h"
#include "meshwright/plan/annotate/annotate.h"
#include "meshwright/plan/annotate/movements.h"
#include "meshwright/plan/annotate/output_shardings.h"
#include "meshwright/plan/make/op_roles.h"
#include "meshwright/profile/operand_constraints.h"

namespace meshwright {
namespace {

Json SpecJson(const Sharding& sharding, const Mesh& mesh) {
  Json dims = Json::array();
  for (const AxisList& axes : sharding.dims) {
    Json& dim = dims.emplace_back(Json::array());
    for (AxisIndex axis : axes) dim.push_back(mesh.axes[axis].name);
  }
  return dims;
}

Json TensorJson(const Shape& shape, const Sharding& sharding, const Mesh& mesh) {
  return {{"dtype", std::string(ElementTypeName(shape.type))},
          {"shape", shape.dims},
          {"spec", SpecJson(sharding, mesh)}};
}

Json MeshJson(const Mesh& mesh) {
  Json axes = Json::array();
  for (const MeshAxis& axis : mesh.axes) axes.push_back({axis.name, axis.size});
  return axes;
}

// What integer inputs stay below: they may be indices into a table, of which they should meet
// different rows, but none that is not there.
int64_t IndexBound(const Graph& graph) {
  int64_t bound = 0;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kGather) continue;
    for (int64_t d : op.instruction->gather.start_index_map) {
      const int64_t rows = graph[op.operands[0]].shape.dims[static_cast<size_t>(d)];
      bound = bound == 0 ? rows : std::min(bound, rows);
    }
  }
  constexpr int64_t kNoTable = 2;
  return bound == 0 ? kNoTable : bound;
}

// Whether only updates read a value, as they do moments: roots may be taken of it.
bool OnlyUpdatesRead(const Graph& graph, ValueId v, absl::FunctionRef<bool(OpId)> is_update) {
  return std::all_of(graph[v].users.begin(), graph[v].users.end(), is_update);
}

MeasurementStatus StatusOf(const std::string& text) {
  return FromWord<MeasurementStatus>(absl::StrReplaceAll(text, {{"_", " "}}))
      .value_or(MeasurementStatus::kFailed);
}

// What a worker says of a failure: the first line, in which a terminal acts on nothing.
std::string ErrorLine(std::string error) {
  constexpr size_t kLongest = 300;
  absl::StripLeadingAsciiWhitespace(&error);
  return Shortened(OneLine(error.substr(0, error.find_first_of("\r\n"))), kLongest);
}

// `tied`: what the plan's outputs follow, `donated`: what becomes the next execution's input.
absl::StatusOr<WorkerJob> ProgramJob(const Graph& graph, const Mesh& mesh, const IntraPlan& plan,
                                     const std::vector<int32_t>& tied,
                                     const std::vector<int32_t>& donated,
                                     absl::FunctionRef<bool(size_t input)> positive,
                                     ProfileKey key) {
  const std::vector<Sharding> outputs = OutputShardings(graph, mesh, plan, tied);
  Json job = {{"kind", "program"}, {"mesh", MeshJson(mesh)}};
  job["inputs"] = job["outputs"] = job["state"] = Json::array();
  const int64_t bound = IndexBound(graph);
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const ValueId v = graph[graph.parameters[i]].result();
    const Shape& shape = graph[v].shape;
    if (!shape.is_array()) {
      return absl::UnimplementedError(
          StrCat("\"", ParameterName(graph, graph.parameters[i]), "\", an input, is no array"));
    }
    Json& row = job["inputs"].emplace_back(TensorJson(shape, plan.shardings[v.index()], mesh));
    if (IsInteger(shape.type)) row["below"] = bound;
    if (positive(i)) row["positive"] = true;
  }
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    const Shape& shape = graph[graph[graph.outputs[o]].operands[0]].shape;
    if (!shape.is_array()) {
      return absl::UnimplementedError(
          StrCat("\"", OutputName(graph, graph.outputs[o]), "\", a result, is no array"));
    }
    job["outputs"].push_back(TensorJson(shape, outputs[o], mesh));
    if (donated[o] >= 0) job["state"].push_back({donated[o], o});
  }
  WorkerJob result;
  result.key = std::move(key);
  result.json = job.dump();
  result.proto =
      ToHloProto(WithOperandConstraints(AnnotateModule(graph, mesh, plan, tied), graph, mesh,
                                        plan.shardings, FindMovements(graph, mesh, plan).needed));
  return result;
}

}  // namespace

absl::StatusOr<WorkerJob> SegmentJob(const ProgramSlice& slice, const Mesh& mesh,
                                     const IntraPlan& plan, ProfileKey key) {
  const auto positive = [&slice](size_t i) {
    return slice.inputs[i].role == SliceRole::kState &&
           OnlyUpdatesRead(slice.graph, InputOf(slice, i),
                           [&](OpId user) { return slice.phase[user.index()] == Phase::kUpdate; });
  };
  const std::vector<int32_t> tied = TiedParameters(slice.graph, /*by_position=*/false);
  return ProgramJob(slice.graph, mesh, plan, tied, tied, positive, std::move(key));
}

absl::StatusOr<WorkerJob> WholeStepJob(const Graph& graph, const Mesh& mesh, const IntraPlan& plan,
                                       ProfileKey key) {
  for (const OpId parameter : graph.parameters) {
    if (!graph[parameter].leaf.empty()) {
      return absl::UnimplementedError(
          StrCat("\"", ParameterName(graph, parameter), "\" is part of an input that is a tuple"));
    }
  }
  for (const OpId output : graph.outputs) {
    if (graph[output].leaf.size() > 1) {
      return absl::UnimplementedError(
          StrCat("\"", OutputName(graph, output), "\" is part of a result that is a tuple"));
    }
  }
  const std::vector<int32_t> tied = TiedParameters(graph, PlannerOptions().tie_outputs_by_position);
  const OpRoles roles = FindRoles(graph, tied);
  const auto positive = [&](size_t i) {
    const ValueId v = graph[graph.parameters[i]].result();
    return IsFloating(graph[v].shape.type) && OnlyUpdatesRead(graph, v, [&](OpId user) {
             return roles.phase[user.index()] == Phase::kUpdate;
           });
  };
  MW_ASSIGN_OR_RETURN(WorkerJob job, ProgramJob(graph, mesh, plan, tied,
                                                TiedParameters(graph, /*by_position=*/false),
                                                positive, std::move(key)));
  // As a training loop sees a step that it waits for, with launch overhead.
  job.json.back() = ',';
  job.json += "\"wait\":true}";
  return job;
}

std::string ProgramJobJson(const Graph& graph, const Mesh& mesh,
                           const std::vector<Sharding>& inputs,
                           const std::vector<Sharding>& outputs) {
  Json job = {{"kind", "program"}, {"mesh", MeshJson(mesh)}};
  job["inputs"] = job["outputs"] = job["state"] = Json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = graph[graph[graph.parameters[i]].result()].shape;
    job["inputs"].push_back(TensorJson(shape, inputs[i], mesh));
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Shape& shape = graph[graph[graph.outputs[o]].operands[0]].shape;
    job["outputs"].push_back(TensorJson(shape, outputs[o], mesh));
  }
  return job.dump();
}

absl::StatusOr<WorkerJob> ReshardingJob(const std::string& shape, const Mesh& mesh,
                                        const std::string& from, const std::string& to) {
  const size_t bracket = shape.find('[');
  std::vector<int64_t> dims;
  bool fine = bracket != std::string::npos && shape.back() == ']';
  if (fine && shape.size() > bracket + 2) {
    const std::string inside = shape.substr(bracket + 1, shape.size() - bracket - 2);
    for (absl::string_view word : absl::StrSplit(inside, ','))
      fine &= absl::SimpleAtoi(word, &dims.emplace_back());
  }
  if (!fine) return absl::InvalidArgumentError(absl::StrCat("\"", shape, "\" is no shape"));
  const auto rank = static_cast<int64_t>(dims.size());
  MW_ASSIGN_OR_RETURN(const Sharding source, ParseSharding(from, mesh, rank));
  MW_ASSIGN_OR_RETURN(const Sharding target, ParseSharding(to, mesh, rank));
  Shape array;
  array.type = ElementTypeFromName(shape.substr(0, bracket));
  array.dims = dims;
  WorkerJob result;
  result.key = ReshardingKey(shape, mesh, from, to);
  result.description = "resharding";
  result.json = Json{{"kind", "reshard"},
                     {"mesh", MeshJson(mesh)},
                     {"inputs", {TensorJson(array, source, mesh)}},
                     {"outputs", {TensorJson(array, target, mesh)}},
                     {"state", Json::array()}}
                    .dump();
  return result;
}

absl::StatusOr<ProfileMeasurement> ReadMeasurement(const std::string& event) {
  const InputJson json = InputJson::parse(event, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("status"))
    return absl::InternalError(absl::StrCat("the worker said: ", event));
  ProfileMeasurement measurement;
  try {
    measurement.status = StatusOf(json["status"].get<std::string>());
    measurement.error = ErrorLine(json.value("error", ""));
    measurement.sample_seconds = json.value("samples", std::vector<double>());
    measurement.peak_bytes = json.value("peak_bytes", int64_t{0});
    measurement.compile_seconds = json.value("compile_seconds", 0.0);
    if (json.contains("collectives")) {
      for (const InputJson& row : json["collectives"]) {
        measurement.collectives.push_back({row["kind"].get<std::string>(),
                                           row["count"].get<int64_t>(),
                                           row["bytes"].get<int64_t>()});
      }
    }
  } catch (const InputJson::exception& error) {
    return absl::InternalError(absl::StrCat("the worker said: ", event, ": ", error.what()));
  }
  return measurement;
}

}  // namespace meshwright
