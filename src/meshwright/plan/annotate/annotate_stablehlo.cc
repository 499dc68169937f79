#include "meshwright/plan/annotate/annotate_stablehlo.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/annotate/mlir_edits.h"
#include "meshwright/plan/annotate/output_shardings.h"
#include "meshwright/plan/annotate/planned_texts.h"
#include "meshwright/sharding/sdy_sharding.h"

namespace meshwright {
namespace {

// The name of the plan's mesh in the text, and whether that has it already.
std::pair<std::string, bool> NameMesh(const StablehloSource& source, const Mesh& mesh) {
  std::vector<std::pair<std::string, int64_t>> axes;
  for (const MeshAxis& axis : mesh.axes) axes.emplace_back(axis.name, axis.size);
  for (const MlirMesh& known : source.meshes) {
    if (known.axes == axes && known.device_ids.empty()) return {known.name, true};
  }
  const auto taken = [&](const std::string& name) {
    return std::any_of(source.meshes.begin(), source.meshes.end(),
                       [&](const MlirMesh& known) { return known.name == name; });
  };
  std::string name = "mesh";
  for (int i = 0; taken(name); ++i) name = StrCat("mesh_", i);
  return {name, false};
}

class Annotator {
 public:
  Annotator(std::string_view text, const StablehloSource& source, const Graph& graph,
            const Mesh& mesh, const std::vector<Sharding>& values,
            const std::vector<Sharding>& outputs, const Movements& movements, bool marks_calls)
      : text_(text),
        source_(source),
        graph_(graph),
        mesh_(mesh),
        values_(values),
        outputs_(outputs),
        movements_(movements),
        mesh_name_(NameMesh(source, mesh)),
        planned_(source, graph, mesh, values, movements, marks_calls, mesh_name_.first) {}

  std::string Annotate() {
    AddMesh();
    Arguments();
    Outputs();
    Operations();
    if (source_.partitions_begin < source_.partitions_end) {
      edits_.push_back({source_.partitions_begin, source_.partitions_end, StrCat(mesh_.devices())});
    }
    return ApplyEdits(text_, std::move(edits_));
  }

 private:
  // What stands for `%a#1` at [first, second) of the text.
  using PartNames = std::map<size_t, std::pair<size_t, std::string>>;

  void AddMesh() {
    if (mesh_name_.second) return;
    const size_t at = source_.module_body;
    const std::string operation = StrCat("sdy.mesh @", mesh_name_.first, " = ", SdyMeshText(mesh_));
    edits_.push_back({at, at, at == 0 ? StrCat(operation, "\n") : StrCat("\n  ", operation)});
  }

  void Arguments() {
    for (const OpId id : graph_.parameters) {
      const Op& parameter = graph_[id];
      const ValueId value = parameter.results[0];
      if (!graph_[value].shape.is_array()) continue;
      SetSharding(text_, source_.arguments[static_cast<size_t>(parameter.parameter)],
                  StrCat("#sdy.sharding", planned_.Text(values_[value.index()])), edits_);
      if (planned_.Seen(value) != values_[value.index()]) ShareArgument(id);
    }
  }

  // Moves an argument once for all its users, wherever they are: what each user moves by itself is
  // moved in every branch and loop again.
  void ShareArgument(OpId id) {
    const ValueId value = graph_[id].results[0];
    const auto [begin, end] = source_.argument_names[static_cast<size_t>(graph_[id].parameter)];
    const std::string name(text_.substr(begin, end - begin));
    const std::string stored = StrCat("%stored_", name.substr(1));
    edits_.push_back({begin, end, stored});
    std::vector<std::string> shardings = planned_.PathTexts(movements_.result_paths[id.index()], 0);
    shardings.push_back(planned_.SeenText(value));
    edits_.push_back(
        {source_.main_begin, source_.main_begin,
         ConstraintLines(stored, name, shardings, graph_[value].shape, source_.main_begin)});
  }

  // Lines before what stands at `position` that take `from` through `shardings` to `to`.
  std::string ConstraintLines(std::string from, const std::string& to,
                              const std::vector<std::string>& shardings, const Shape& type,
                              size_t position) const {
    std::string lines;
    for (size_t i = 0; i < shardings.size(); ++i) {
      std::string next = i + 1 < shardings.size() ? StrCat("%step", i, "_", to.substr(1)) : to;
      StrAppend(&lines, next, " = sdy.sharding_constraint ", from, " ", shardings[i], " : ",
                MlirTensorText(type), "\n", Indentation(position));
      from = std::move(next);
    }
    return lines;
  }

  void Outputs() {
    for (size_t i = 0; i < outputs_.size() && i < source_.outputs.size(); ++i) {
      if (!graph_[graph_[graph_.outputs[i]].operands[0]].shape.is_array()) continue;
      SetSharding(text_, source_.outputs[i], StrCat("#sdy.sharding", planned_.Text(outputs_[i])),
                  edits_);
    }
  }

  void Operations() {
    const PlannedTexts::Texts texts = planned_.FindTexts();
    PartNames part_names;
    for (const StablehloSource::PartUse& use : source_.part_uses) {
      const StablehloSource::Operation& operation =
          source_.operations[static_cast<size_t>(use.operation)];
      const auto result = static_cast<size_t>(use.result);
      if (texts.results[static_cast<size_t>(use.operation)][result].empty() ||
          !operation.anchor.shardings.empty()) {
        continue;
      }
      part_names.emplace(use.begin, std::pair(use.end, PartName(operation, result)));
    }
    for (size_t i = 0; i < source_.operations.size(); ++i) {
      const StablehloSource::Operation& operation = source_.operations[i];
      if (operation.is_constraint || !operation.anchor.shardings.empty()) {
        Replace(operation, texts.results[i]);
        Define(i);
        continue;
      }
      if (!Reshape(i, texts)) ConstrainOperands(operation, texts.operands[i], part_names);
      Constrain(operation, texts.results[i], texts.marks[i]);
      Define(i);
    }
    for (const StablehloSource::BranchEnd& end : source_.branch_ends) {
      ConstrainBranch(end, texts.joins[static_cast<size_t>(end.conditional)], part_names);
    }
    ConstrainOutputs(part_names);
    for (auto& [begin, part] : part_names) {
      edits_.push_back({begin, part.first, std::move(part.second)});
    }
  }

  // An operation that has a sharding already.
  void Replace(const StablehloSource::Operation& operation,
               const std::vector<std::vector<std::string>>& texts) {
    std::vector<std::string> kept;
    for (size_t r = 0; r < texts.size(); ++r) {
      const Shape& type = operation.types[r];
      kept.push_back(texts[r].empty()
                         ? OpenSdyShardingText(type.is_array() ? type.rank() : 0, mesh_name_.first)
                         : texts[r].back());
    }
    const std::string value = operation.is_constraint ? kept[0]
                                                      : StrCat("#sdy.sharding_per_value<[",
                                                               absl::StrJoin(kept, ", "), "]>");
    SetSharding(text_, operation.anchor, value, edits_);
  }

  void Define(size_t number) {
    for (const MlirDefinition& definition : source_.operations[number].definitions) {
      defined_[DefinedName(definition)] = number;
    }
  }

  // The operation before that makes what stands at `use`, if it is its only result.
  std::optional<size_t> Maker(const std::pair<size_t, size_t>& use) const {
    const auto found = defined_.find(text_.substr(use.first, use.second - use.first));
    if (found == defined_.end()) return std::nullopt;
    if (source_.operations[found->second].types.size() != 1) return std::nullopt;
    return found->second;
  }

  // XLA's conversion makes one reshape of two, of what the first one reads. Where others read the
  // first one too, the plan may shard it in a way that does not suit the second: that gets a first
  // one of its own. False: operation `number` is no such second one.
  bool Reshape(size_t number, const PlannedTexts::Texts& texts) {
    const StablehloSource::Operation& operation = source_.operations[number];
    const ValueId made = texts.values[number];
    if (!made.valid() || operation.operands.size() != 1) return false;
    const auto reshaped = [&](ValueId value) {
      const Op& op = graph_[graph_[value].producer];
      const bool is_reshape = op.instruction->opcode == Opcode::kReshape;
      return is_reshape ? op.operands[0] : ValueId();
    };
    const ValueId from = reshaped(made);
    if (!from.valid()) return false;
    // The first one, before what the conversion leaves out.
    std::optional<size_t> first = Maker(operation.operands[0]);
    while (first.has_value() && !texts.values[*first].valid() &&
           source_.operations[*first].operands.size() == 1) {
      first = Maker(source_.operations[*first].operands[0]);
    }
    if (!first.has_value() || !texts.values[*first].valid() ||
        reshaped(texts.values[*first]) != from || source_.operations[*first].operands.size() != 1) {
      return false;
    }
    const auto source = Maker(source_.operations[*first].operands[0]);
    if (!source.has_value() || texts.values[*source] != from) return false;
    const std::string suffix(DefinedName(operation.definitions[0]).substr(1));
    std::string name(DefinedName(source_.operations[*source].definitions[0]));
    std::string lines;
    if (const auto& needed = texts.operands[number]; !needed.empty() && needed[0].has_value()) {
      const std::string moved = StrCat("%needed0_", suffix);
      lines =
          ConstraintLines(name, moved, needed[0]->shardings, graph_[from].shape, operation.begin);
      name = moved;
    }
    const std::string again = StrCat("%reshaped_", suffix);
    StrAppend(&lines, again, " = stablehlo.reshape ", name, " : (",
              MlirTensorText(graph_[from].shape), ") -> ",
              MlirTensorText(operation.operand_types[0]), "\n", Indentation(operation.begin));
    edits_.push_back({operation.begin, operation.begin, std::move(lines)});
    edits_.push_back({operation.operands[0].first, operation.operands[0].second, again});
    return true;
  }

  // Moves what `operation` needs otherwise than it is kept.
  void ConstrainOperands(const StablehloSource::Operation& operation,
                         const std::vector<std::optional<PlannedTexts::Operand>>& needed,
                         PartNames& part_names) {
    if (needed.size() != operation.operands.size()) return;
    // What an operation takes twice is moved once. By value and where it goes.
    std::map<std::pair<ValueId, std::vector<std::string>>, std::string> moved;
    for (size_t k = 0; k < needed.size(); ++k) {
      // XLA's conversion may give an operation other operands than its text has.
      const Shape& type = operation.operand_types[k];
      if (!needed[k].has_value() || type != graph_[needed[k]->value].shape) continue;
      const auto [first, is_new] = moved.try_emplace(
          std::pair(needed[k]->value, needed[k]->shardings),
          StrCat("%needed", k, "_", DefinedName(operation.definitions[0]).substr(1)));
      if (!is_new) {
        const auto [begin, end] = operation.operands[k];
        part_names.erase(begin);
        edits_.push_back({begin, end, first->second});
        continue;
      }
      MoveUse(operation.operands[k], first->second, needed[k]->shardings, type, operation.begin,
              part_names);
    }
  }

  // Moves what leaves the program by several steps; what takes one is left to the signature.
  void ConstrainOutputs(PartNames& part_names) {
    const StablehloSource::BranchEnd& end = source_.main_end;
    if (end.operands.size() != graph_.outputs.size()) return;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const OpId id = graph_.outputs[i];
      const auto& paths = movements_.operand_paths[id.index()];
      const ValueId value = graph_[id].operands[0];
      if (paths.empty() || end.operand_types[i] != graph_[value].shape) continue;
      const std::optional<PlannedTexts::Operand> leaves =
          planned_.OperandTo(value, outputs_[i], paths, 0);
      if (!leaves.has_value()) continue;
      MoveUse(end.operands[i], StrCat("%output_", i), leaves->shardings, end.operand_types[i],
              end.begin, part_names);
    }
  }

  // Moves what a branch hands on to how the conditional leaves it: XLA refuses branches whose
  // results are sharded in several ways.
  void ConstrainBranch(const StablehloSource::BranchEnd& end, const std::vector<OpId>& joins,
                       PartNames& part_names) {
    if (joins.size() != end.operands.size()) return;
    const auto branch = static_cast<size_t>(end.branch);
    const StablehloSource::Operation& conditional =
        source_.operations[static_cast<size_t>(end.conditional)];
    for (size_t k = 0; k < joins.size(); ++k) {
      if (!joins[k].valid()) continue;
      const Op& join = graph_[joins[k]];
      const auto& computed = movements_.computed[joins[k].index()];
      const std::optional<PlannedTexts::Operand> needed = planned_.OperandTo(
          join.operands[branch], computed.empty() ? values_[join.results[0].index()] : computed[0],
          movements_.operand_paths[joins[k].index()], branch);
      if (!needed.has_value()) continue;
      MoveUse(
          end.operands[k],
          StrCat("%branch", branch, "_", k, "_", DefinedName(conditional.definitions[0]).substr(1)),
          needed->shardings, end.operand_types[k], end.begin, part_names);
    }
  }

  // Has what stands at `use`, an operand of the operation at `operation`, go through constraints,
  // of which the last is called `name`.
  void MoveUse(const std::pair<size_t, size_t>& use, const std::string& name,
               const std::vector<std::string>& shardings, const Shape& type, size_t operation,
               PartNames& part_names) {
    const auto [begin, end] = use;
    // What operations that change nothing hand on is moved from where it is made, so that all users
    // have it moved alike.
    std::pair<size_t, size_t> source = use;
    for (std::optional<size_t> maker = Maker(source); maker.has_value(); maker = Maker(source)) {
      const StablehloSource::Operation& same = source_.operations[*maker];
      if (same.same_as < 0 || same.operands.empty()) break;
      source = same.operands[static_cast<size_t>(same.same_as)];
    }
    std::string from(text_.substr(source.first, source.second - source.first));
    if (const auto part = part_names.find(source.first); part != part_names.end()) {
      from = part->second.second;
      if (source == use) part_names.erase(part);
    }
    edits_.push_back(
        {operation, operation, ConstraintLines(std::move(from), name, shardings, type, operation)});
    edits_.push_back({begin, end, name});
  }

  std::string_view DefinedName(const MlirDefinition& definition) const {
    return text_.substr(definition.begin, definition.end - definition.begin);
  }

  void Constrain(const StablehloSource::Operation& operation,
                 const std::vector<std::vector<std::string>>& texts, std::string_view mark) {
    std::string lines;
    // From `from` through each of `shardings` to `to`.
    const auto add_lines = [&](std::string_view to, std::string from, size_t r) {
      for (size_t i = 0; i < texts[r].size(); ++i) {
        std::string next(to);
        if (i + 1 < texts[r].size())
          next = StrCat("%computed", i == 0 ? "" : StrCat(i), "_", to.substr(1));
        StrAppend(&lines, "\n", Indentation(operation.begin), next, " = sdy.sharding_constraint ",
                  from, " ", texts[r][i], i == 0 ? mark : "", " : ",
                  MlirTensorText(operation.types[r]));
        from = std::move(next);
      }
    };
    size_t r = 0;
    for (const MlirDefinition& definition : operation.definitions) {
      const std::string_view name = DefinedName(definition);
      if (definition.count == 1) {
        if (!texts[r].empty()) {
          const std::string unconstrained = StrCat(kPrefix, "_", name.substr(1));
          edits_.push_back({definition.begin, definition.end, unconstrained});
          add_lines(name, unconstrained, r);
        }
        ++r;
        continue;
      }
      for (int32_t part = 0; part < definition.count; ++part, ++r) {
        if (texts[r].empty()) continue;
        add_lines(PartName(operation, r), StrCat(name, "#", part), r);
      }
    }
    if (!lines.empty()) edits_.push_back({operation.end, operation.end, std::move(lines)});
  }

  // What constrains a result that is part of `%a:2`: `%planned0_a`.
  std::string PartName(const StablehloSource::Operation& operation, size_t result) const {
    size_t first = 0;
    for (const MlirDefinition& definition : operation.definitions) {
      const auto count = static_cast<size_t>(definition.count);
      if (result < first + count) {
        return StrCat(kPrefix, result - first, "_",
                      text_.substr(definition.begin + 1, definition.end - definition.begin - 1));
      }
      first += count;
    }
    return std::string();
  }

  // The blanks before what stands first on the line of `position`.
  std::string_view Indentation(size_t position) const {
    const size_t line = position == 0 ? 0 : text_.rfind('\n', position - 1) + 1;
    return text_.substr(line, text_.find_first_not_of(" \t", line) - line);
  }

  static constexpr std::string_view kPrefix = "%planned";

  std::string_view text_;
  const StablehloSource& source_;
  const Graph& graph_;
  const Mesh& mesh_;
  const std::vector<Sharding>& values_;
  const std::vector<Sharding>& outputs_;
  const Movements& movements_;
  const std::pair<std::string, bool> mesh_name_;
  const PlannedTexts planned_;
  std::vector<Edit> edits_;
  std::map<std::string_view, size_t> defined_;  // the operation that defined a name last
};

}  // namespace

std::string AnnotateStablehlo(std::string_view text, const StablehloSource& source,
                              const Graph& graph, const Mesh& mesh,
                              const std::vector<Sharding>& values,
                              const std::vector<Sharding>& outputs, const Movements& movements,
                              bool marks_calls) {
  return Annotator(text, source, graph, mesh, values, outputs, movements, marks_calls).Annotate();
}

std::string AnnotateStablehlo(std::string_view text, const StablehloSource& source,
                              const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                              const std::vector<int32_t>& tied) {
  return AnnotateStablehlo(text, source, graph, mesh, intra.shardings,
                           OutputShardings(graph, mesh, intra, tied),
                           FindMovements(graph, mesh, intra));
}

}  // namespace meshwright
