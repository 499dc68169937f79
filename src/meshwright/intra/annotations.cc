#include "meshwright/intra/annotations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/hlo/python_callback.h"
#include "meshwright/intra/names.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

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

// Devices that an annotation is for; 0 if it says nothing of that.
int64_t DevicesOf(const HloSharding& annotation) {
  if (annotation.kind == HloSharding::Kind::kTiled) {
    return static_cast<int64_t>(annotation.devices.size());
  }
  if (annotation.kind != HloSharding::Kind::kNamed) return 0;
  int64_t devices = 1;
  for (const auto& [axis, size] : annotation.mesh_axes) devices *= size;
  return devices;
}

// What becomes of the annotations that a mesh cannot express, in one line however many there are.
class UnusedAnnotations {
 public:
  void AddElsewhere(int64_t devices) {
    ++elsewhere_;
    made_for_.insert(devices);
  }
  void AddOther(std::string_view name, const absl::Status& why) {
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

// An annotation and what it is of.
struct Annotation {
  absl::StatusOr<HloSharding> sharding;
  const Shape* shape;
  std::string name;
  bool inside;  // see CheckPossible
  std::optional<Sharding>* pin;
};

// The annotations of a program that say something.
class AnnotationList {
 public:
  void Add(const std::string& text, const Shape& shape, std::string_view name, bool inside,
           std::optional<Sharding>* pin) {
    if (text.empty() || !shape.is_array()) return;
    absl::StatusOr<HloSharding> sharding = ParseHloSharding(text);
    if (sharding.ok() && sharding->kind == HloSharding::Kind::kUnknown) return;
    list_.push_back({std::move(sharding), &shape, std::string(name), inside, pin});
  }

  // For how many devices the program was made: those that its annotations name, else `partitions`.
  std::set<int64_t> MadeFor(int64_t partitions) const {
    std::set<int64_t> devices;
    for (const Annotation& annotation : list_) {
      const int64_t named = annotation.sharding.ok() ? DevicesOf(*annotation.sharding) : 0;
      if (named > 0) devices.insert(named);
    }
    if (devices.empty() && partitions > 1) devices.insert(partitions);
    return devices;
  }

  // Sets the pins that `mesh` can express; says what becomes of the others.
  std::string Apply(const Mesh& mesh, int64_t partitions) const {
    UnusedAnnotations unused;
    const std::set<int64_t> made_for = MadeFor(partitions);
    const bool elsewhere = !made_for.empty() && !made_for.contains(mesh.devices());
    for (const Annotation& annotation : list_) {
      if (!annotation.sharding.ok()) {
        unused.AddOther(annotation.name, annotation.sharding.status());
        continue;
      }
      const HloSharding& given = *annotation.sharding;
      const int64_t devices = DevicesOf(given);
      if (devices > 0 && devices != mesh.devices()) {
        unused.AddElsewhere(devices);
        continue;
      }
      if (elsewhere && given.kind == HloSharding::Kind::kReplicated) {
        unused.AddElsewhere(*made_for.begin());
        continue;
      }
      absl::StatusOr<Sharding> sharding = FromHloSharding(given, mesh, annotation.shape->rank());
      absl::Status possible = sharding.status();
      if (possible.ok())
        possible = CheckPossible(*annotation.shape, *sharding, annotation.inside, mesh);
      if (possible.ok()) {
        *annotation.pin = *std::move(sharding);
      } else {
        unused.AddOther(annotation.name, possible);
      }
    }
    return unused.Text(static_cast<int64_t>(list_.size()), mesh);
  }

 private:
  std::vector<Annotation> list_;
};

// The module's num_partitions; 0 if it does not say.
int64_t PartitionsOf(const Graph& graph) {
  int64_t partitions = 0;
  if (graph.module == nullptr) return partitions;
  for (const auto& [key, value] : graph.module->other) {
    if (key == "num_partitions" && !absl::SimpleAtoi(value, &partitions)) partitions = 0;
  }
  return partitions;
}

// The value comes from a call into Python, whose sharding says where that runs.
bool IsOfCallback(const Graph& graph, const Value& value) {
  const Op& op = graph[value.producer];
  return op.kind == OpKind::kInstruction && IsPythonCallback(*op.instruction);
}

// The value is that of the entry's root: its sharding is that of the result.
bool IsOfRoot(const Graph& graph, const Value& value) {
  if (graph.module == nullptr) return false;
  const Computation& entry = graph.module->entry_computation();
  return graph[value.producer].instruction == &entry[entry.root];
}

}  // namespace

void ReadAnnotations(const Graph& graph, const Mesh& mesh, Pins* pins) {
  AnnotationList annotations;
  std::vector<int32_t> parameter_of_op(graph.ops.size(), -1);
  for (size_t i = 0; i < graph.parameters.size(); ++i)
    parameter_of_op[graph.parameters[i].index()] = static_cast<int32_t>(i);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (IsOfCallback(graph, value)) continue;
    const int32_t parameter = parameter_of_op[value.producer.index()];
    const bool inside = parameter < 0 && !IsOfRoot(graph, value);
    annotations.Add(value.sharding, value.shape, graph[value.producer].name, inside,
                    parameter >= 0 ? &pins->parameters[parameter] : &pins->values[i]);
  }
  const auto outputs = static_cast<int64_t>(graph.outputs.size());
  for (int64_t i = 0; i < outputs && graph.module != nullptr; ++i) {
    annotations.Add(AnnotationOfResult(graph.module->entry_computation(), i, outputs),
                    graph[graph[graph.outputs[i]].operands[0]].shape,
                    OutputName(graph, graph.outputs[i]), false, &pins->outputs[i]);
  }
  pins->unused_annotations = annotations.Apply(mesh, PartitionsOf(graph));
}

}  // namespace meshwright
