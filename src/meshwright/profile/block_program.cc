#include "meshwright/profile/block_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/blocks/block_kinds.h"
#include "meshwright/hlo/computation_builder.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/hlo/proto/writer.h"
#include "meshwright/inter/slice/module_writer.h"
#include "meshwright/plan/annotate/annotate.h"
#include "meshwright/profile/operand_constraints.h"

namespace meshwright {
namespace {

// How a block lays out a value: its cut on every axis.
struct CutSharding {
  Sharding sharding;
  AxisList partial;
};

CutSharding CutShardingOf(const ParallelBlock& block, size_t strategy, ValueId v, int64_t rank) {
  CutSharding cut{Sharding::Replicated(rank), {}};
  const auto& cuts = block.strategies[strategy];
  for (size_t a = 0; a < cuts.size(); ++a) {
    if (cuts[a] < 0) continue;
    const BlockCut& along = block.cuts[cuts[a]];
    const auto found = along.cuts.find(v);
    if (found == along.cuts.end() || found->second == kUncut) continue;
    const auto axis = static_cast<AxisIndex>(a);
    if (found->second == kPartial) {
      cut.partial.push_back(axis);
    } else {
      cut.sharding.dims[found->second].push_back(axis);
    }
  }
  return cut;
}

// How a member takes its operands, which may cut what all devices have.
std::vector<Sharding> TakenBy(const ParallelBlock& block, size_t strategy, const Graph& program,
                              OpId op) {
  std::vector<Sharding> taken;
  for (ValueId v : program[op].operands)
    taken.push_back(Sharding::Replicated(program[v].shape.rank()));
  const auto& cuts = block.strategies[strategy];
  for (size_t a = 0; a < cuts.size(); ++a) {
    if (cuts[a] < 0) continue;
    const AxisChoice& choice = *block.cuts[cuts[a]].choices.at(op);
    for (size_t k = 0; k < taken.size(); ++k) {
      if (choice.operands[k] >= 0)
        taken[k].dims[choice.operands[k]].push_back(static_cast<AxisIndex>(a));
    }
  }
  return taken;
}

class BlockBuilder {
 public:
  BlockBuilder(const Graph& program, const BlockAnalysis& analysis, size_t block)
      : from_(program),
        ops_(analysis.blocks[block].ops),
        writer_(*program.module),
        scope_(writer_.Begin(program.module->entry_computation())) {
    for (OpId op : ops_) {
      if (from_[op].kind == OpKind::kInstruction) members_.insert(op);
    }
  }

  absl::StatusOr<BlockProgram> Run() {
    AddInputs();
    for (OpId op : ops_) {
      if (members_.contains(op)) AddOp(op);
    }
    std::vector<InstructionId> results;
    for (OpId op : ops_) {
      for (ValueId v : from_[op].results) {
        if (!members_.contains(op) || !LeavesBlock(v)) continue;
        out_.outputs.push_back(v);
        results.push_back(scope_.values.at(v));
      }
    }
    const ComputationId id = writer_.Finish(std::move(scope_), results);
    writer_.module().name = from_.module->name;
    writer_.module().entry = id;
    out_.module = std::make_unique<const Module>(std::move(writer_.module()));
    MW_ASSIGN_OR_RETURN(out_.graph, BuildGraph(*out_.module));
    FindOrigins();
    out_.member.resize(out_.graph.ops.size());
    for (size_t i = 0; i < out_.graph.ops.size(); ++i) {
      const Op& op = out_.graph.ops[i];
      if (op.kind != OpKind::kInstruction || op.parameter >= 0) continue;
      const auto made = made_.find(op.instruction->name);
      if (made != made_.end()) out_.member[i] = made->second;
    }
    return std::move(out_);
  }

 private:
  bool LeavesBlock(ValueId v) const {
    const std::vector<OpId>& users = from_[v].users;
    return users.empty() || from_[v].carried ||
           std::any_of(users.begin(), users.end(),
                       [&](OpId user) { return !members_.contains(user); });
  }

  void AddInputs() {
    for (OpId op : ops_) {
      if (!members_.contains(op)) continue;
      for (ValueId v : from_[op].operands) {
        if (members_.contains(from_[v].producer) || scope_.values.contains(v)) continue;
        Instruction parameter;
        parameter.name = NameTable::Valid(from_[from_[v].producer].name);
        parameter.opcode = Opcode::kParameter;
        parameter.shape = from_[v].shape;
        parameter.parameter_number = static_cast<int64_t>(out_.inputs.size());
        const InstructionId id = writer_.Add(scope_, std::move(parameter));
        scope_.computation.parameters.push_back(id);
        scope_.values[v] = id;
        out_.inputs.push_back(v);
      }
    }
  }

  void AddOp(OpId id) {
    const Op& op = from_[id];
    Instruction copy = *op.instruction;
    copy.operands.clear();
    copy.control_predecessors.clear();
    copy.is_root = false;
    copy.sharding.clear();
    for (ComputationId& called : copy.called) called = writer_.Function(called);
    std::vector<InstructionId> leaves;
    for (ValueId v : op.operands) leaves.push_back(scope_.values.at(v));
    size_t next = 0;
    for (InstructionId operand : op.instruction->operands) {
      copy.operands.push_back(
          writer_.Join(scope_, (*op.computation)[operand].shape, leaves, &next));
    }
    const InstructionId built = writer_.Add(scope_, std::move(copy));
    made_[scope_.computation[built].name] = id;
    const std::vector<InstructionId> results = writer_.Split(scope_, built);
    for (size_t r = 0; r < op.results.size(); ++r) scope_.values[op.results[r]] = results[r];
  }

  void FindOrigins() {
    out_.origin.resize(out_.graph.values.size());
    for (size_t i = 0; i < out_.graph.parameters.size(); ++i)
      out_.origin[out_.graph[out_.graph.parameters[i]].result().index()] = out_.inputs[i];
    for (const Op& op : out_.graph.ops) {
      if (op.kind != OpKind::kInstruction || op.parameter >= 0) continue;
      const auto made = made_.find(op.instruction->name);
      if (made == made_.end()) continue;
      for (size_t r = 0; r < op.results.size(); ++r)
        out_.origin[op.results[r].index()] = from_[made->second].results[r];
    }
  }

  const Graph& from_;
  const std::vector<OpId>& ops_;
  ModuleWriter writer_;
  Scope scope_;
  absl::flat_hash_set<OpId> members_;
  absl::flat_hash_map<std::string, OpId> made_;  // by name of the instruction
  BlockProgram out_;
};

}  // namespace

absl::StatusOr<BlockProgram> MakeBlockProgram(const Graph& program, const BlockAnalysis& analysis,
                                              size_t block) {
  return BlockBuilder(program, analysis, block).Run();
}

BlockJob MakeBlockJob(const Graph& whole, const BlockProgram& program, const ParallelBlock& block,
                      size_t strategy, const Mesh& mesh) {
  const Graph& graph = program.graph;
  std::vector<Sharding> values;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const int64_t rank = graph.values[v].shape.rank();
    const ValueId origin = program.origin[v];
    values.push_back(origin.valid() ? CutShardingOf(block, strategy, origin, rank).sharding
                                    : Sharding::Replicated(rank));
  }
  BlockJob out;
  std::vector<Sharding> inputs, outputs;
  for (OpId parameter : graph.parameters)
    inputs.push_back(values[graph[parameter].result().index()]);
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    const Shape& shape = graph[graph[graph.outputs[o]].operands[0]].shape;
    CutSharding cut = CutShardingOf(block, strategy, program.outputs[o], shape.rank());
    if (!cut.partial.empty()) {
      PartialOutput& partial = out.partial.emplace_back();
      partial.bytes = BytesPerDevice(shape, cut.sharding, mesh);
      for (AxisIndex axis : cut.partial) partial.axes.push_back(mesh.axes[axis].name);
    }
    outputs.push_back(std::move(cut.sharding));
  }
  out.job.json = ProgramJobJson(graph, mesh, inputs, outputs);
  std::vector<std::vector<Sharding>> taken(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (program.member[i].valid()) taken[i] = TakenBy(block, strategy, whole, program.member[i]);
  }
  out.job.proto = ToHloProto(WithOperandConstraints(AnnotateModule(graph, mesh, values, outputs),
                                                    graph, mesh, values, taken));
  return out;
}

absl::StatusOr<BlockPrograms> MakeBlockPrograms(const Module& program, const Mesh& mesh) {
  MW_ASSIGN_OR_RETURN(const Module inlined, InlineCalls(program));
  MW_ASSIGN_OR_RETURN(const Graph graph, BuildGraph(inlined));
  BlockFinder finder(graph, mesh);
  const BlockAnalysis analysis = finder.Find();
  const std::vector<int32_t> kinds = FindBlockKinds(graph, analysis);
  BlockPrograms programs;
  std::set<int32_t> seen;
  for (size_t b = 0; b < analysis.blocks.size(); ++b) {
    if (!seen.insert(kinds[b]).second) continue;
    const ParallelBlock& block = analysis.blocks[b];
    MW_ASSIGN_OR_RETURN(const BlockProgram own, MakeBlockProgram(graph, analysis, b));
    for (size_t s = 0; s < block.strategies.size(); ++s) {
      programs.rows.push_back({kinds[b], graph[block.contractions[0]].name,
                               finder.StrategyText(block, s),
                               MakeBlockJob(graph, own, block, s, mesh)});
    }
  }
  return programs;
}

std::string BlockProtoName(size_t row) { return absl::StrCat("block_", row, ".pb"); }

std::string BlockProgramsIndex(const BlockPrograms& programs) {
  Json rows = Json::array();
  for (size_t r = 0; r < programs.rows.size(); ++r) {
    const BlockPrograms::Row& row = programs.rows[r];
    Json partial = Json::array();
    for (const PartialOutput& one : row.job.partial)
      partial.push_back({{"bytes", one.bytes}, {"axes", one.axes}});
    rows.push_back({{"kind", row.kind},
                    {"led_by", row.led_by},
                    {"strategy", row.strategy},
                    {"proto", BlockProtoName(r)},
                    {"partial", partial},
                    {"job", Json::parse(row.job.job.json)}});
  }
  return rows.dump(1) + "\n";
}

}  // namespace meshwright
