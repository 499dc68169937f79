#include "meshwright/intra/pins.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/intra/names.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

// Something a fix can name. Exactly one of `parameter`, `output`, `value` is meant.
struct Target {
  std::string name;
  std::string alias;  // another name it answers to, or empty
  const Shape* shape;
  std::optional<Sharding>* pin;
  const Fix* fix = nullptr;  // that set *pin
};

std::vector<Target> Targets(const Graph& graph, Pins* pins) {
  std::vector<Target> targets;
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    const Op& op = graph[graph.parameters[i]];
    targets.push_back({ParameterName(graph, graph.parameters[i]), op.name,
                       &graph[op.results[0]].shape, &pins->parameters[i]});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    targets.push_back({OutputName(graph, graph.outputs[i]), "",
                       &graph[graph[graph.outputs[i]].operands[0]].shape, &pins->outputs[i]});
  }
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kOutput || op.parameter >= 0) continue;
    for (ValueId v : op.results) {
      targets.push_back({op.name, op.instruction->name, &graph[v].shape, &pins->values[v.index()]});
    }
  }
  return targets;
}

// The reason why `sharding` cannot be had for `shape`, or OK.
absl::Status CheckPossible(const Shape& shape, const Sharding& sharding, const Mesh& mesh) {
  if (!sharding.unreduced.empty()) {
    return absl::InvalidArgumentError("a value cannot be asked to stay a partial sum");
  }
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    if (!std::is_sorted(sharding.dims[d].begin(), sharding.dims[d].end())) {
      return absl::InvalidArgumentError(
          StrCat("the axes of dimension ", d, " must come in the order of the mesh"));
    }
    const int64_t shards = mesh.Size(sharding.dims[d]);
    if (shape.dims[d] % shards != 0) {
      return absl::InvalidArgumentError(StrCat("dimension ", d, " of size ", shape.dims[d],
                                               " does not divide into ", shards, " shards"));
    }
  }
  return absl::OkStatus();
}

absl::Status FixError(const Fix& fix, std::string_view what) {
  return absl::InvalidArgumentError(StrCat(fix.origin.empty() ? "fix" : fix.origin, " (",
                                           fix.pattern, "=", fix.spec, "): ", what));
}

std::string NearestNames(const std::vector<Target>& targets, std::string_view pattern) {
  std::vector<std::pair<int, std::string>> ranked;
  for (const Target& t : targets) {
    const size_t longer = std::max(t.name.size(), pattern.size()),
                 shorter = std::min(t.name.size(), pattern.size());
    if (longer - shorter > 16 || longer > 200) continue;
    ranked.push_back({EditDistance(pattern, t.name), t.name});
  }
  const size_t shown = std::min<size_t>(3, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + shown, ranked.end());
  return absl::StrJoin(ranked.begin(), ranked.begin() + shown, ", ",
                       [](std::string* out, const auto& r) { StrAppend(out, r.second); });
}

absl::Status ApplyFix(const Fix& fix, const Mesh& mesh, std::vector<Target>& targets) {
  bool matched = false;
  for (Target& target : targets) {
    if (!GlobMatch(fix.pattern, target.name) &&
        (target.alias.empty() || !GlobMatch(fix.pattern, target.alias))) {
      continue;
    }
    matched = true;
    absl::StatusOr<Sharding> sharding = ParseSharding(fix.spec, mesh, target.shape->rank());
    if (!sharding.ok()) {
      return FixError(fix, StrCat(target.name, " ", target.shape->ToString(false), ": ",
                                  sharding.status().message()));
    }
    if (absl::Status possible = CheckPossible(*target.shape, *sharding, mesh); !possible.ok()) {
      return FixError(
          fix, StrCat(target.name, " ", target.shape->ToString(false), ": ", possible.message()));
    }
    if (target.fix != nullptr && **target.pin != *sharding) {
      return FixError(fix, StrCat(target.name, " was already fixed to ", target.fix->spec, " by ",
                                  target.fix->origin.empty() ? "another fix" : target.fix->origin));
    }
    target.fix = &fix;
    *target.pin = *std::move(sharding);
  }
  if (matched) return absl::OkStatus();
  const std::string nearest = NearestNames(targets, fix.pattern);
  return FixError(fix, StrCat("matches no parameter, output or instruction",
                              nearest.empty() ? "" : StrCat("; nearest: ", nearest)));
}

// The text of the sharding that the program gives its result `leaf` of the root's `leaves`; empty
// if there is none. It stands on the root where that only puts results together, or on a mark of
// the result before it; what an operator itself is given holds for its value.
std::string AnnotationOfResult(const Computation& entry, int64_t leaf, int64_t leaves) {
  const Instruction* instruction = &entry[entry.root];
  const bool joins =
      instruction->opcode == Opcode::kTuple || instruction->opcode == Opcode::kGetTupleElement;
  if (joins) {
    const std::vector<std::string_view> all = LeafShardings(instruction->sharding, leaves);
    if (!all.empty()) return std::string(all[leaf]);
    const bool flat = instruction->opcode == Opcode::kTuple &&
                      static_cast<int64_t>(instruction->operands.size()) == leaves;
    if (!flat) return "";
    instruction = &entry[instruction->operands[leaf]];
  }
  const bool marks = instruction->custom_call_target == "xla.sdy.FuncResultSharding";
  return marks ? instruction->sharding : "";
}

// `text` on this mesh, for a value of `shape` called `name`; a warning if the mesh cannot express
// it.
std::optional<Sharding> ReadAnnotation(const std::string& text, const Shape& shape,
                                       std::string_view name, const Mesh& mesh,
                                       std::vector<std::string>* warnings) {
  const absl::StatusOr<HloSharding> annotation = ParseHloSharding(text);
  absl::StatusOr<Sharding> sharding = annotation.ok()
                                          ? FromHloSharding(*annotation, mesh, shape.rank())
                                          : absl::StatusOr<Sharding>(annotation.status());
  if (sharding.ok()) {
    if (absl::Status possible = CheckPossible(shape, *sharding, mesh); !possible.ok())
      sharding = possible;
  }
  if (sharding.ok()) return *std::move(sharding);
  warnings->push_back(
      StrCat("annotation ", text, " of ", name, " is not used: ", sharding.status().message()));
  return std::nullopt;
}

void ReadAnnotations(const Graph& graph, const Mesh& mesh, Pins* pins,
                     std::vector<std::string>* warnings) {
  std::vector<int32_t> parameter_of_op(graph.ops.size(), -1);
  for (size_t i = 0; i < graph.parameters.size(); ++i)
    parameter_of_op[graph.parameters[i].index()] = static_cast<int32_t>(i);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.sharding.empty() || !value.shape.is_array()) continue;
    const std::optional<Sharding> sharding =
        ReadAnnotation(value.sharding, value.shape, graph[value.producer].name, mesh, warnings);
    if (!sharding.has_value()) continue;
    const int32_t parameter = parameter_of_op[value.producer.index()];
    (parameter >= 0 ? pins->parameters[parameter] : pins->values[i]) = *sharding;
  }
  const auto outputs = static_cast<int64_t>(graph.outputs.size());
  for (int64_t i = 0; i < outputs && graph.module != nullptr; ++i) {
    const Shape& shape = graph[graph[graph.outputs[i]].operands[0]].shape;
    const std::string text = AnnotationOfResult(graph.module->entry_computation(), i, outputs);
    if (text.empty() || !shape.is_array()) continue;
    pins->outputs[i] =
        ReadAnnotation(text, shape, OutputName(graph, graph.outputs[i]), mesh, warnings);
  }
}

}  // namespace

absl::StatusOr<Pins> ResolvePins(const Graph& graph, const Mesh& mesh,
                                 const std::vector<Fix>& fixes, std::vector<int32_t>* tied,
                                 std::vector<std::string>* warnings) {
  Pins pins;
  pins.parameters.resize(graph.parameters.size());
  pins.outputs.resize(graph.outputs.size());
  pins.values.resize(graph.values.size());
  ReadAnnotations(graph, mesh, &pins, warnings);
  std::vector<Target> targets = Targets(graph, &pins);
  for (const Fix& fix : fixes) MW_RETURN_IF_ERROR(ApplyFix(fix, mesh, targets));
  for (size_t i = 0; i < tied->size(); ++i) {
    int32_t& tie = (*tied)[i];
    if (tie < 0) continue;
    std::optional<Sharding>& output = pins.outputs[i];
    std::optional<Sharding>& parameter = pins.parameters[tie];
    if (output.has_value() && parameter.has_value() && *output != *parameter) {
      const bool fixed = std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
        return target.fix != nullptr && (target.pin == &output || target.pin == &parameter);
      });
      if (graph.output_alias[i] != tie || !fixed) {
        tie = -1;  // only a guess, and the user knows better; or a buffer that cannot be shared
        continue;
      }
      return absl::InvalidArgumentError(
          StrCat(OutputName(graph, graph.outputs[i]), " is fixed to ", output->ToString(mesh),
                 " but shares its buffer with ", ParameterName(graph, graph.parameters[tie]),
                 ", which is fixed to ", parameter->ToString(mesh)));
    }
    if (output.has_value()) parameter = output;
    if (parameter.has_value()) output = parameter;
  }
  return pins;
}

}  // namespace meshwright
