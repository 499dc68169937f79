#include "meshwright/plan/make/stage_modules.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/writer.h"
#include "meshwright/inter/layers/fingerprint.h"
#include "meshwright/inter/layers/whole_batch.h"
#include "meshwright/intra/names.h"
#include "meshwright/plan/annotate/annotate.h"
#include "meshwright/plan/annotate/output_shardings.h"

namespace meshwright {
namespace {

std::string_view RoleName(SliceRole role) {
  switch (role) {
    case SliceRole::kState:
      return "state";
    case SliceRole::kData:
      return "data";
    case SliceRole::kActivation:
      return "activation";
    case SliceRole::kGradient:
      return "gradient";
    case SliceRole::kSaved:
      return "saved";
    case SliceRole::kSum:
      return "sum";
    case SliceRole::kShared:
      return "shared";
    case SliceRole::kResult:
      return "result";
    case SliceRole::kNumber:
      return "micro-batch";
  }
  return "";
}

struct PhaseRow {
  const char* name;
  bool forward, backward, update;
  UpdatePart part;
};
constexpr PhaseRow kPhases[] = {{"forward", true, false, false, UpdatePart::kWhole},
                                {"backward", false, true, false, UpdatePart::kWhole},
                                {"update", false, false, true, UpdatePart::kWhole}};
// Instead of "update" where stages wait for each other's gradients.
constexpr PhaseRow kUpdateInParts[] = {
    {"update-before-shared", false, false, true, UpdatePart::kBeforeShared},
    {"update-after-shared", false, false, true, UpdatePart::kAfterShared}};

bool TakesShared(const ProgramSlice& slice) {
  return std::any_of(slice.inputs.begin(), slice.inputs.end(),
                     [](const SliceValue& input) { return input.role == SliceRole::kShared; });
}

// Where a stage's plan put the values of the whole program.
class StageShardings {
 public:
  explicit StageShardings(const PipelineStage& stage) {
    const Graph& graph = stage.slice->graph;
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      if (!stage.slice->origin[i].valid()) {
        for (ValueId v : graph.ops[i].results)
          by_name_[graph.ops[i].name] = stage.plan->shardings[v.index()];
        continue;
      }
      for (size_t r = 0; r < graph.ops[i].results.size(); ++r) {
        by_result_[{stage.slice->origin[i], static_cast<int32_t>(r)}] =
            stage.plan->shardings[graph.ops[i].results[r].index()];
      }
    }
    for (size_t i = 0; i < stage.slice->inputs.size(); ++i) {
      by_value_[Key(stage.slice->inputs[i])] =
          stage.plan->shardings[graph[graph.parameters[i]].result().index()];
    }
    const std::vector<Sharding> outputs = OutputShardings(
        graph, stage.mesh, *stage.plan, TiedParameters(graph, /*by_position=*/false));
    for (size_t i = 0; i < stage.slice->outputs.size(); ++i)
      by_value_[Key(stage.slice->outputs[i])] = outputs[i];
  }

  // `whole` is the graph that origins and values refer to.
  std::vector<Sharding> Values(const ProgramSlice& part, const Graph& whole) const {
    std::vector<Sharding> shardings;
    for (const Value& value : part.graph.values) {
      const OpId origin = part.origin[value.producer.index()];
      shardings.push_back(origin.valid() ? OfResult(origin, value)
                                         : OfAdded(part.graph[value.producer].name, value));
    }
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      const ValueId v = part.graph[part.graph.parameters[i]].result();
      shardings[v.index()] = OfValue(part.inputs[i], part.graph[v].shape, whole);
    }
    return shardings;
  }

  // Of a value that crosses: as the stage keeps it.
  Sharding OfValue(const SliceValue& crosses, const Shape& shape, const Graph& whole) const {
    const auto crossing = by_value_.find(Key(crosses));
    if (crossing != by_value_.end()) return crossing->second;
    if (crosses.role == SliceRole::kNumber) return Sharding::Replicated(0);
    const Value& known = whole[crosses.value];
    const auto found = by_result_.find({known.producer, known.result});
    return found != by_result_.end() ? found->second : Sharding::Replicated(shape.rank());
  }

 private:
  static std::pair<ValueId, int32_t> Key(const SliceValue& value) {
    return {value.value, value.layer};
  }

  Sharding OfResult(OpId origin, const Value& value) const {
    const auto found = by_result_.find({origin, value.result});
    return found != by_result_.end() ? found->second : Sharding::Replicated(value.shape.rank());
  }
  // What the slicing added goes by names that say what it is of ("iota.3.part"), if at all.
  Sharding OfAdded(const std::string& name, const Value& value) const {
    const auto found = by_name_.find(name);
    return found != by_name_.end() &&
                   static_cast<int64_t>(found->second.dims.size()) == value.shape.rank()
               ? found->second
               : Sharding::Replicated(value.shape.rank());
  }

  absl::flat_hash_map<std::pair<OpId, int32_t>, Sharding> by_result_;
  absl::flat_hash_map<std::string, Sharding> by_name_;  // of results without an origin
  // A value that a layer loop carries has a sharding for each layer between which it crosses.
  absl::flat_hash_map<std::pair<ValueId, int32_t>, Sharding> by_value_;
};

Json ToJson(const SliceValue& value, int32_t parameter) {
  const bool combined = value.combine != Reduction::kNone;
  Json json = {
      {"role", RoleName(value.role)}, {"name", value.name}, {"value", value.value.index()}};
  json["parameter"] = parameter >= 0 ? Json(parameter) : Json();
  json["output"] = value.output >= 0 ? Json(value.output) : Json();
  json["layer"] = value.layer >= 0 ? Json(value.layer) : Json();
  json["layer_dimension"] = value.layer_dimension >= 0 ? Json(value.layer_dimension) : Json();
  json["layers"] = value.layer_dimension >= 0 || combined
                       ? Json({value.first, value.first + value.count})
                       : Json();
  json["combine"] = combined ? Json(ReductionName(value.combine)) : Json();
  json["batch_dimension"] = value.dimension >= 0 ? Json(value.dimension) : Json();
  return json;
}

// `tied`: by output of the program, the parameter that it replaces.
Json ToJson(const Graph& program, const std::vector<SliceValue>& values,
            const std::vector<int32_t>& tied) {
  Json list = Json::array();
  for (const SliceValue& value : values) {
    const bool replaces = value.output >= 0;
    Json json = ToJson(value, replaces ? tied[static_cast<size_t>(value.output)] : value.parameter);
    if (value.parameter >= 0) {
      const OpId parameter = program.parameters[static_cast<size_t>(value.parameter)];
      // The program that users have has only the data input that it is all of.
      if (const auto data = WholeBatchOf(program, parameter); data.has_value()) {
        json["role"] = RoleName(SliceRole::kData);
        json["parameter"] = *data;
        json["name"] = ParameterName(program, program.parameters[static_cast<size_t>(*data)]);
      }
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json MeshJson(const Mesh& mesh) {
  Json axes = Json::array();
  for (const MeshAxis& axis : mesh.axes) axes.push_back({{"name", axis.name}, {"size", axis.size}});
  return axes;
}

// Writes the modules of one stage after the other.
class StageWriter {
 public:
  StageWriter(const PipelinedProgram& planned, const Slicer& slicer)
      : planned_(planned),
        slicer_(slicer),
        tied_(TiedParameters(*planned.graph, /*by_position=*/true)) {}

  absl::StatusOr<Json> Write(size_t index) {
    const PipelineStage& stage = planned_.pipeline.stages[index];
    const StageShardings shardings(stage);
    Json modules = Json::object();
    for (const PhaseRow& phase : kPhases) {
      MW_ASSIGN_OR_RETURN(const ProgramSlice part, Slice(stage, phase));
      if (!phase.update || !TakesShared(part)) {
        Add(index, phase, part, shardings, &modules);
        continue;
      }
      for (const PhaseRow& half : kUpdateInParts) {
        MW_ASSIGN_OR_RETURN(const ProgramSlice half_part, Slice(stage, half));
        Add(index, half, half_part, shardings, &modules);
      }
    }
    return Json{{"first_layer", stage.begin},
                {"end_layer", stage.end},
                {"mesh", MeshJson(stage.mesh)},
                {"modules", std::move(modules)}};
  }

  std::vector<StageFile> TakeFiles() { return std::move(files_); }

 private:
  absl::StatusOr<ProgramSlice> Slice(const PipelineStage& stage, const PhaseRow& phase) const {
    SliceRequest request;
    request.begin = stage.begin;
    request.end = stage.end;
    request.forward = phase.forward;
    request.backward = phase.backward;
    request.update = phase.update;
    request.part = phase.part;
    request.recompute = stage.recompute;
    request.sum_parts = stage.sum_parts;
    request.micro_batches = planned_.pipeline.shape.micro_batches;
    return slicer_.Slice(request);
  }

  void Add(size_t index, const PhaseRow& phase, const ProgramSlice& part,
           const StageShardings& shardings, Json* modules) {
    if (part.outputs.empty()) return;
    const std::vector<Sharding> values = shardings.Values(part, *planned_.graph);
    std::vector<Sharding> outputs;
    for (size_t o = 0; o < part.outputs.size(); ++o) {
      const ValueId v = part.graph[part.graph.outputs[o]].operands[0];
      outputs.push_back(shardings.OfValue(part.outputs[o], part.graph[v].shape, *planned_.graph));
    }
    const Mesh& mesh = planned_.pipeline.stages[index].mesh;
    const std::string name = StrCat("stage", index, ".", phase.name, ".hlo.txt");
    files_.push_back({name, ToHloText(AnnotateModule(part.graph, mesh, values, outputs))});
    (*modules)[phase.name] = {{"file", name},
                              {"inputs", ToJson(*planned_.graph, part.inputs, tied_)},
                              {"outputs", ToJson(*planned_.graph, part.outputs, tied_)}};
  }

  const PipelinedProgram& planned_;
  const Slicer& slicer_;
  const std::vector<int32_t> tied_;  // as the slicer has it
  std::vector<StageFile> files_;
};

}  // namespace

absl::StatusOr<std::vector<StageFile>> StageModules(const PipelinedProgram& planned) {
  const PipelinePlan& pipeline = planned.pipeline;
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<const Slicer> slicer,
                      Slicer::Make(*planned.graph, pipeline.batch, pipeline.layers));
  StageWriter writer(planned, *slicer);
  Json stages = Json::array();
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    MW_ASSIGN_OR_RETURN(Json stage, writer.Write(i));
    stages.push_back(std::move(stage));
  }
  const Json index = {{"program", GraphFingerprint(planned.program.graph)},
                      {"micro_batches", pipeline.shape.micro_batches},
                      {"stages", std::move(stages)}};
  std::vector<StageFile> files = writer.TakeFiles();
  files.push_back({"stages.json", index.dump(1) + "\n"});
  return files;
}

}  // namespace meshwright
