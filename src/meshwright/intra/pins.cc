#include "meshwright/intra/pins.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
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
  bool free = false;         // made anew wherever it is needed: it has no sharding of its own
  const Fix* fix = nullptr;  // that set *pin
};

std::vector<Target> Targets(const Graph& graph, Pins* pins) {
  const std::vector<bool> free = AnalyzeFusion(graph).free;
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
      targets.push_back({op.name, op.instruction->name, &graph[v].shape, &pins->values[v.index()],
                         free[v.index()]});
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
  const Target* matched_free = nullptr;
  bool matched = false;
  for (Target& target : targets) {
    if (!GlobMatch(fix.pattern, target.name) &&
        (target.alias.empty() || !GlobMatch(fix.pattern, target.alias))) {
      continue;
    }
    if (target.free) {
      matched_free = &target;
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
  if (matched_free != nullptr) {
    return FixError(fix, StrCat(matched_free->name, " ", matched_free->shape->ToString(false),
                                " depends on no input, so it is made wherever it is needed, as "
                                "its user needs it; fix the result of its user instead"));
  }
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

// What becomes of the annotations that a mesh cannot express, in one line however many there are.
class UnusedAnnotations {
 public:
  // Devices that an annotation is for; 0 if it says nothing of that.
  static int64_t Devices(const HloSharding& annotation) {
    if (annotation.kind == HloSharding::Kind::kTiled) {
      return static_cast<int64_t>(annotation.devices.size());
    }
    if (annotation.kind != HloSharding::Kind::kNamed) return 0;
    int64_t devices = 1;
    for (const auto& [axis, size] : annotation.mesh_axes) devices *= size;
    return devices;
  }

  void Add(std::string_view name, const absl::StatusOr<HloSharding>& annotation, const Mesh& mesh,
           const absl::Status& why) {
    const int64_t devices = annotation.ok() ? Devices(*annotation) : 0;
    if (devices > 0 && devices != mesh.devices()) {
      ++elsewhere_;
      made_for_.insert(devices);
      return;
    }
    if (others_++ == 0) first_ = StrCat(name, ": ", why.message());
  }

  // `annotations`: how many there are at all.
  std::string Text(int64_t annotations, const Mesh& mesh) const {
    if (elsewhere_ + others_ == 0) return "";
    std::string text = StrCat(elsewhere_ + others_, " of ", annotations, " annotations not used: ");
    if (elsewhere_ > 0) {
      StrAppend(&text, "the mesh has ", mesh.devices(), " devices, ",
                others_ == 0 ? "they" : StrCat(elsewhere_),
                others_ > 0 && elsewhere_ == 1 ? " was" : " were", " made for ",
                absl::StrJoin(made_for_, " or "), others_ == 0 ? "" : "; ");
    }
    if (others_ > 0) StrAppend(&text, first_);
    if (others_ > 1) StrAppend(&text, ", and ", others_ - 1, " more");
    return text;
  }

 private:
  int64_t elsewhere_ = 0, others_ = 0;  // for other numbers of devices, and for other reasons
  std::set<int64_t> made_for_;
  std::string first_;  // of the others
};

// Reads the annotations of a program and counts those that the mesh cannot express.
class AnnotationReader {
 public:
  explicit AnnotationReader(const Mesh& mesh) : mesh_(mesh) {}

  // `text` on this mesh, for a value of `shape` called `name`; nullopt if it says nothing, or what
  // the mesh cannot express.
  std::optional<Sharding> Read(const std::string& text, const Shape& shape, std::string_view name) {
    const absl::StatusOr<HloSharding> annotation = ParseHloSharding(text);
    if (annotation.ok() && annotation->kind == HloSharding::Kind::kUnknown) return std::nullopt;
    ++annotations_;
    absl::StatusOr<Sharding> sharding = annotation.ok()
                                            ? FromHloSharding(*annotation, mesh_, shape.rank())
                                            : absl::StatusOr<Sharding>(annotation.status());
    if (sharding.ok()) {
      if (absl::Status possible = CheckPossible(shape, *sharding, mesh_); !possible.ok())
        sharding = possible;
    }
    if (sharding.ok()) return *std::move(sharding);
    unused_.Add(name, annotation, mesh_, sharding.status());
    return std::nullopt;
  }

  std::string UnusedText() const { return unused_.Text(annotations_, mesh_); }

 private:
  const Mesh& mesh_;
  UnusedAnnotations unused_;
  int64_t annotations_ = 0;
};

void ReadAnnotations(const Graph& graph, const Mesh& mesh, Pins* pins) {
  AnnotationReader reader(mesh);
  std::vector<int32_t> parameter_of_op(graph.ops.size(), -1);
  for (size_t i = 0; i < graph.parameters.size(); ++i)
    parameter_of_op[graph.parameters[i].index()] = static_cast<int32_t>(i);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.sharding.empty() || !value.shape.is_array()) continue;
    std::optional<Sharding> sharding =
        reader.Read(value.sharding, value.shape, graph[value.producer].name);
    if (!sharding.has_value()) continue;
    const int32_t parameter = parameter_of_op[value.producer.index()];
    (parameter >= 0 ? pins->parameters[parameter] : pins->values[i]) = *std::move(sharding);
  }
  const auto outputs = static_cast<int64_t>(graph.outputs.size());
  for (int64_t i = 0; i < outputs && graph.module != nullptr; ++i) {
    const Shape& shape = graph[graph[graph.outputs[i]].operands[0]].shape;
    const std::string text = AnnotationOfResult(graph.module->entry_computation(), i, outputs);
    if (text.empty() || !shape.is_array()) continue;
    pins->outputs[i] = reader.Read(text, shape, OutputName(graph, graph.outputs[i]));
  }
  pins->unused_annotations = reader.UnusedText();
}

}  // namespace

absl::StatusOr<Pins> ResolvePins(const Graph& graph, const Mesh& mesh,
                                 const std::vector<Fix>& fixes, std::vector<int32_t>* tied) {
  Pins pins;
  pins.parameters.resize(graph.parameters.size());
  pins.outputs.resize(graph.outputs.size());
  pins.values.resize(graph.values.size());
  ReadAnnotations(graph, mesh, &pins);
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
