#include "meshwright/plan/annotate/annotate_stablehlo.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/plan/annotate/leaf_finder.h"
#include "meshwright/plan/annotate/loop_carries.h"
#include "meshwright/plan/annotate/mlir_edits.h"
#include "meshwright/plan/annotate/output_shardings.h"
#include "meshwright/sharding/call_table.h"
#include "meshwright/sharding/rule_builders.h"
#include "meshwright/sharding/sdy_sharding.h"

namespace meshwright {
namespace {

// Whether the operator calls a kernel that XLA's partitioner gathers all operands for: all but
// marks, and but calls that bring a partitioner of their own.
bool IsCallOfParts(const Op& op) {
  if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kCustomCall)
    return false;
  const std::string& target = op.instruction->custom_call_target;
  const CallRow* const row = FindCall(target);
  return target != "CustomSPMDPartitioning" && (row == nullptr || row->build != &rules::Forward);
}

class Annotator {
 public:
  Annotator(std::string_view text, const StablehloSource& source, const Graph& graph,
            const Mesh& mesh, const std::vector<Sharding>& values,
            const std::vector<Sharding>& outputs, const Movements& movements, bool marks_calls)
      : text_(text),
        source_(source),
        graph_(graph),
        free_(AnalyzeFusion(graph).free),
        mesh_(mesh),
        values_(values),
        outputs_(outputs),
        movements_(movements),
        marks_calls_(marks_calls),
        seen_(values) {
    for (const OpId id : graph.parameters) {
      const ValueId value = graph[id].results[0];
      if (const auto& shared = movements.shared[id.index()]; shared.has_value())
        seen_[value.index()] = *shared;
    }
    for (const Carry& carry : graph.carries) seen_[carry.parameter.index()] = Carried(carry);
  }

  std::string Annotate() {
    NameMesh();
    FindPending();
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

  // The mesh of the plan, which may be there already.
  void NameMesh() {
    std::vector<std::pair<std::string, int64_t>> axes;
    for (const MeshAxis& axis : mesh_.axes) axes.emplace_back(axis.name, axis.size);
    for (const MlirMesh& mesh : source_.meshes) {
      if (mesh.axes != axes || !mesh.device_ids.empty()) continue;
      mesh_name_ = mesh.name;
      return;
    }
    const auto taken = [&](const std::string& name) {
      return std::any_of(source_.meshes.begin(), source_.meshes.end(),
                         [&](const MlirMesh& mesh) { return mesh.name == name; });
    };
    mesh_name_ = "mesh";
    for (int i = 0; taken(mesh_name_); ++i) mesh_name_ = StrCat("mesh_", i);
    const size_t at = source_.module_body;
    const std::string operation = StrCat("sdy.mesh @", mesh_name_, " = ", SdyMeshText(mesh_));
    edits_.push_back({at, at, at == 0 ? StrCat(operation, "\n") : StrCat("\n  ", operation)});
  }

  std::string Text(const Sharding& sharding) const {
    return SdyShardingText(sharding, mesh_, mesh_name_);
  }

  // `sharding` with partial sums along `axes`, of those that cut no dimension.
  std::string PartialText(Sharding sharding, const AxisList& axes) const {
    for (const AxisIndex axis : axes) {
      const bool cuts =
          std::any_of(sharding.dims.begin(), sharding.dims.end(), [&](const AxisList& dim) {
            return std::find(dim.begin(), dim.end(), axis) != dim.end();
          });
      if (!cuts) sharding.unreduced.push_back(axis);
    }
    if (!sharding.unreduced.empty()) sharding.reduction = Reduction::kSum;
    return Text(sharding);
  }

  // How a loop carries a value from round to round; what its body uses may be moved.
  const Sharding& Carried(const Carry& carry) const {
    const auto& computed = movements_.computed[graph_[carry.parameter].producer.index()];
    return computed.empty() ? values_[carry.parameter.index()] : computed[0];
  }

  std::string SeenText(ValueId value) const {
    return PartialText(seen_[value.index()], KeptPartial(graph_, pending_, value));
  }

  // The specs of path `k` of `paths`, which are empty or one for each.
  std::vector<std::string> PathTexts(const std::vector<Movements::Path>& paths, size_t k) const {
    std::vector<std::string> texts;
    if (k >= paths.size()) return texts;
    for (const Sharding& step : paths[k]) texts.push_back(Text(step));
    return texts;
  }

  // Finds the additions of partial sums that the text can say: XLA must not be told that a sum is
  // partial unless it is also told how to take the operands of what makes it.
  void FindPending() {
    std::vector<int32_t> operation_of(graph_.ops.size(), -1);  // -1: none, -2: several
    const LeafFinder finder(graph_);
    for (const StablehloSource::Result& result : source_.results) {
      const std::vector<LeafFinder::Leaves>& leaves = finder.leaves(result.computation);
      if (leaves.empty()) continue;
      const LeafFinder::Leaves& leaf = leaves[result.instruction.index()];
      if (leaf.size() != 1 || !leaf[0].valid()) continue;
      int32_t& operation = operation_of[graph_[leaf[0]].producer.index()];
      operation = operation == -1 ? result.operation : -2;
    }
    const auto makes_partial = [&](OpId id) {
      const Op& op = graph_[id];
      const int32_t number = operation_of[id.index()];
      if (number < 0 || op.kind != OpKind::kInstruction) return false;
      const StablehloSource::Operation& operation = source_.operations[static_cast<size_t>(number)];
      if (operation.is_constraint || !operation.anchor.shardings.empty()) return false;
      if (!movements_.pending[id.index()].empty()) return true;
      const Opcode opcode = op.instruction->opcode;
      if (opcode != Opcode::kDot && opcode != Opcode::kConvolution && opcode != Opcode::kReduce) {
        return false;
      }
      for (size_t k = 0; k < op.operands.size(); ++k) {
        const Shape& shape = graph_[op.operands[k]].shape;
        if (shape.rank() == 0) continue;
        if (k >= operation.operands.size() || operation.operand_types[k] != shape ||
            free_[op.operands[k].index()]) {
          return false;
        }
      }
      return operation.operands.size() == op.operands.size();
    };
    pending_ = WithPartialOperands(graph_, movements_.pending, [&](OpId op, size_t operand) {
      return makes_partial(op) && makes_partial(graph_[graph_[op].operands[operand]].producer);
    });
  }

  void Arguments() {
    for (const OpId id : graph_.parameters) {
      const Op& parameter = graph_[id];
      const ValueId value = parameter.results[0];
      if (!graph_[value].shape.is_array()) continue;
      SetSharding(text_, source_.arguments[static_cast<size_t>(parameter.parameter)],
                  StrCat("#sdy.sharding", Text(values_[value.index()])), edits_);
      if (seen_[value.index()] != values_[value.index()]) ShareArgument(id);
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
    std::vector<std::string> shardings = PathTexts(movements_.result_paths[id.index()], 0);
    shardings.push_back(SeenText(value));
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
      SetSharding(text_, source_.outputs[i], StrCat("#sdy.sharding", Text(outputs_[i])), edits_);
    }
  }

  // How an operand is needed, where that is not how what stands in the text is sharded: what it
  // goes through and, last, where it ends.
  struct Operand {
    ValueId value;
    std::vector<std::string> shardings;
  };

  // What an operand goes through. A loop would carry a value as its body first wants it; that the
  // value is seen otherwise before keeps Shardy from spreading what is wanted to the loop.
  std::vector<std::string> Steps(ValueId value, const Sharding& needed,
                                 const std::vector<Movements::Path>& paths, size_t k) const {
    std::vector<std::string> steps = PathTexts(paths, k);
    const bool carried = graph_[graph_[value].producer].kind == OpKind::kLoopParameter;
    if (carried && needed != seen_[value.index()]) steps.insert(steps.begin(), SeenText(value));
    steps.push_back(Text(needed));
    return steps;
  }

  // `paths`: of several operands, of which it is number `k`.
  std::optional<Operand> OperandTo(ValueId value, const Sharding& needed,
                                   const std::vector<Movements::Path>& paths, size_t k) const {
    if (needed == seen_[value.index()] || free_[value.index()]) return std::nullopt;
    return Operand{value, Steps(value, needed, paths, k)};
  }

  // Whether the text's result is one that `op` makes, not one that it hands on.
  bool MakesResult(const Op& op, const StablehloSource::Result& result) const {
    if (op.kind != OpKind::kInstruction || result.handed_on) return false;
    const Computation& computation = (*graph_.module)[result.computation];
    const Instruction& instruction = computation[result.instruction];
    if (op.instruction == &instruction) return true;
    return instruction.opcode == Opcode::kGetTupleElement &&
           op.instruction == &computation[instruction.operands[0]];
  }

  // What the plan says of the text's operations.
  struct Texts {
    // The shardings of each result, one after the other; none where there is nothing to say.
    std::vector<std::vector<std::vector<std::string>>> results;
    // Of conditionals, by result: the operator that joins what the branches hand on.
    std::vector<std::vector<OpId>> joins;
    // How each operation needs its operands; nothing where that is as they are kept, none at all
    // if it needs no operand otherwise.
    std::vector<std::vector<std::optional<Operand>>> operands;
    std::vector<std::string> marks;  // attributes of the first constraint behind each operation
  };

  // How the operator takes operand `k`, but for what it moves on the way.
  const Sharding& Needed(OpId op, size_t k) const {
    const std::vector<Sharding>& needed = movements_.needed[op.index()];
    return needed.empty() ? values_[graph_[op].operands[k].index()] : needed[k];
  }

  // What marks a call that can be computed shard by shard; empty: it cannot, or need not.
  std::string Mark(OpId id) const {
    const Op& op = graph_[id];
    if (!marks_calls_ || !IsCallOfParts(op)) return "";
    bool cut = false;
    for (size_t k = 0; k < op.operands.size(); ++k)
      cut = cut || Needed(id, k) != Sharding::Replicated(graph_[op.operands[k]].shape.rank());
    if (!cut) return "";
    const AxisList& reduced = movements_.reduced[id.index()];
    const Rule rule = RuleFor(graph_, op);
    for (const Factor& factor : rule.factors) {
      // Sums can be made behind the call; and a device with heads of several groups would have to
      // pick their keys.
      const bool other =
          factor.reduction != Reduction::kNone && factor.reduction != Reduction::kSum;
      if ((other && !reduced.empty()) || (factor.joint && CutsJointly(rule, id))) return "";
    }
    return StrCat(" {meshwright_by_shard = \"",
                  absl::StrJoin(reduced, ",",
                                [&](std::string* out, AxisIndex axis) {
                                  StrAppend(out, mesh_.axes[static_cast<size_t>(axis)].name);
                                }),
                  "\"}");
  }

  // Whether a dimension that has a joint factor is cut where what has only its major one is not.
  bool CutsJointly(const Rule& rule, OpId id) const {
    for (const TensorFactors& tensor : rule.operands) {
      for (size_t d = 0; d < tensor.dims.size(); ++d) {
        const auto& dim = tensor.dims[d];
        if (dim.empty() || !rule.factors[dim.back()].joint) continue;
        const size_t k = static_cast<size_t>(&tensor - rule.operands.data());
        if (Needed(id, k).dims[d].empty()) continue;
        for (size_t other = 0; other < rule.operands.size(); ++other) {
          const TensorFactors& with = rule.operands[other];
          for (size_t e = 0; e < with.dims.size(); ++e) {
            if (with.dims[e].size() == 1 && with.dims[e][0] == dim[0] &&
                Needed(id, other).dims[e].empty())
              return true;
          }
        }
      }
    }
    return false;
  }

  Texts FindTexts() const {
    Texts texts;
    for (const StablehloSource::Operation& operation : source_.operations) {
      texts.results.emplace_back(operation.types.size());
    }
    texts.joins.resize(source_.operations.size());
    texts.operands.resize(source_.operations.size());
    texts.marks.resize(source_.operations.size());
    const LeafFinder finder(graph_);
    const LoopCarries carries(graph_, source_, finder);
    for (const StablehloSource::Result& result : source_.results) {
      const std::vector<LeafFinder::Leaves>& leaves = finder.leaves(result.computation);
      if (leaves.empty()) continue;
      const LeafFinder::Leaves& leaf = leaves[result.instruction.index()];
      if (leaf.size() != 1 || !leaf[0].valid()) continue;
      const Value& value = graph_[leaf[0]];
      if (free_[leaf[0].index()]) continue;
      const auto number = static_cast<size_t>(result.operation);
      std::vector<std::string>& shardings =
          texts.results[number][static_cast<size_t>(result.result)];
      const OpId op = value.producer;
      if (graph_[op].kind == OpKind::kSelectBranch) {
        texts.joins[number].resize(texts.results[number].size());
        texts.joins[number][static_cast<size_t>(result.result)] = op;
        if (const auto& computed = movements_.computed[op.index()]; !computed.empty())
          shardings.push_back(Text(computed[0]));
        for (std::string& step : PathTexts(movements_.result_paths[op.index()], 0))
          shardings.push_back(std::move(step));
      }
      std::vector<std::optional<Operand>>& operands = texts.operands[number];
      if (const Carry* carry = carries.Find(result, leaf[0]); carry != nullptr) {
        operands.resize(texts.results[number].size());
        operands[static_cast<size_t>(result.result)] =
            OperandTo(carry->init, Carried(*carry),
                      movements_.operand_paths[graph_[carry->parameter].producer.index()], 0);
        if (leaf[0] == carry->exit && !movements_.computed[op.index()].empty()) {
          shardings.push_back(Text(movements_.computed[op.index()][0]));
          for (std::string& step : PathTexts(movements_.result_paths[op.index()], 0))
            shardings.push_back(std::move(step));
        }
      } else if (MakesResult(graph_[op], result)) {
        const auto& computed = movements_.computed[op.index()];
        const AxisList& pending = pending_[op.index()];
        const auto r = static_cast<size_t>(value.result);
        if (!computed.empty() || !pending.empty()) {
          shardings.push_back(
              PartialText(computed.empty() ? values_[leaf[0].index()] : computed[r], pending));
        }
        for (std::string& step : PathTexts(movements_.result_paths[op.index()], r))
          shardings.push_back(std::move(step));
        operands.clear();
        texts.marks[number] = Mark(op);
        const bool constrains_all =
            !texts.marks[number].empty() ||
            (pending.empty() && !KeptPartial(graph_, pending_, leaf[0]).empty());
        for (size_t k = 0; k < graph_[op].operands.size(); ++k) {
          const ValueId operand = graph_[op].operands[k];
          const Sharding& wanted = Needed(op, k);
          const auto& paths = movements_.operand_paths[op.index()];
          if (constrains_all && graph_[operand].shape.rank() > 0) {
            operands.push_back(Operand{operand, Steps(operand, wanted, paths, k)});
          } else if (pending.empty()) {
            operands.push_back(OperandTo(operand, wanted, paths, k));
          } else {
            operands.emplace_back();
          }
        }
      }
      // A number is kept everywhere, but what it is made of may have to be moved.
      if (value.shape.rank() == 0) {
        shardings.clear();
        continue;
      }
      std::string seen = SeenText(leaf[0]);
      if (shardings.empty() || shardings.back() != seen) shardings.push_back(std::move(seen));
    }
    return texts;
  }

  void Operations() {
    const Texts texts = FindTexts();
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
        continue;
      }
      ConstrainOperands(operation, texts.operands[i], part_names);
      Constrain(operation, texts.results[i], texts.marks[i]);
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
                         ? OpenSdyShardingText(type.is_array() ? type.rank() : 0, mesh_name_)
                         : texts[r].back());
    }
    const std::string value = operation.is_constraint ? kept[0]
                                                      : StrCat("#sdy.sharding_per_value<[",
                                                               absl::StrJoin(kept, ", "), "]>");
    SetSharding(text_, operation.anchor, value, edits_);
  }

  // Moves what `operation` needs otherwise than it is kept.
  void ConstrainOperands(const StablehloSource::Operation& operation,
                         const std::vector<std::optional<Operand>>& needed, PartNames& part_names) {
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
      const std::optional<Operand> leaves = OperandTo(value, outputs_[i], paths, 0);
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
      const std::optional<Operand> needed = OperandTo(
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
    std::string from(text_.substr(begin, end - begin));
    if (const auto part = part_names.find(begin); part != part_names.end()) {
      from = std::move(part->second.second);
      part_names.erase(part);
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
  const std::vector<bool> free_;  // by ValueId: recomputed wherever it is needed
  const Mesh& mesh_;
  const std::vector<Sharding>& values_;
  const std::vector<Sharding>& outputs_;
  const Movements& movements_;
  const bool marks_calls_;
  std::vector<Sharding> seen_;     // by ValueId: as what stands for it in the text is sharded
  std::vector<AxisList> pending_;  // of movements_, what can be said
  std::string mesh_name_;
  std::vector<Edit> edits_;
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
