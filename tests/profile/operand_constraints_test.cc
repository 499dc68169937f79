#include "meshwright/profile/operand_constraints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "meshwright/hlo/text/writer.h"
#include "meshwright/hlo/verify/verifier.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

constexpr char kProgram[] = R"(HloModule m

ENTRY main {
  x = f32[8,16] parameter(0)
  w = f32[16,4] parameter(1)
  y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[8,4] add(y, y)
}
)";

constexpr char kLoop[] = R"(HloModule m

body {
  p = (s32[], f32[8,16], f32[8,16]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  c = f32[8,16] get-tuple-element(p), index=1
  d = f32[8,16] negate(c)
  e = f32[8,16] sine(c)
  ROOT t = (s32[], f32[8,16], f32[8,16]) tuple(next, d, e)
}

condition {
  p = (s32[], f32[8,16], f32[8,16]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(4)
  ROOT less = pred[] compare(i, n), direction=LT
}

ENTRY main {
  zero = s32[] constant(0)
  x = f32[8,16] parameter(0)
  y = f32[8,16] parameter(1)
  init = (s32[], f32[8,16], f32[8,16]) tuple(zero, x, y)
  w = (s32[], f32[8,16], f32[8,16]) while(init), condition=condition, body=body
  a = f32[8,16] get-tuple-element(w), index=1
  b = f32[8,16] get-tuple-element(w), index=2
  ROOT r = (f32[8,16], f32[8,16]) tuple(a, b)
}
)";

Movements NoMovements(const Graph& graph) {
  Movements movements;
  movements.needed.resize(graph.ops.size());
  movements.computed.resize(graph.ops.size());
  movements.pending.resize(graph.ops.size());
  movements.operand_paths.resize(graph.ops.size());
  movements.result_paths.resize(graph.ops.size());
  movements.shared.resize(graph.ops.size());
  return movements;
}

std::vector<Sharding> OutputsAsKept(const Graph& graph, const std::vector<Sharding>& kept) {
  std::vector<Sharding> outputs;
  for (const OpId id : graph.outputs) outputs.push_back(kept[graph[id].operands[0].index()]);
  return outputs;
}

struct Case {
  TestProgram program;
  Mesh mesh = TestMesh("2", "2xh100-sxm");
  std::vector<Sharding> kept;
  std::vector<std::vector<Sharding>> needed;

  explicit Case(const char* text = kProgram)
      : program(ProgramFromText(text)), needed(program.graph.ops.size()) {
    for (const Value& value : program.graph.values)
      kept.push_back(Sharding::Replicated(value.shape.rank()));
  }
  std::vector<Sharding>& NeededBy(const std::string& name) {
    for (size_t i = 0; i < program.graph.ops.size(); ++i) {
      if (program.graph.ops[i].name != name) continue;
      for (ValueId v : program.graph.ops[i].operands) needed[i].push_back(kept[v.index()]);
      return needed[i];
    }
    ADD_FAILURE() << name;
    return needed[0];
  }
  Module Moved(const Movements& movements) const {
    return WithMovements(program.graph, mesh, kept, OutputsAsKept(program.graph, kept), movements);
  }
  Module Constrained() const {
    return WithOperandConstraints(*program.module, program.graph, mesh, kept, needed);
  }
};

TEST(WithOperandConstraints, ReshapesWhatIsTakenOtherwise) {
  Case c;
  c.NeededBy("y")[0].dims[1] = {0};
  const Module module = c.Constrained();
  EXPECT_FALSE(FindVerifierError(module).has_value());
  const Computation& entry = module.entry_computation();
  ASSERT_EQ(entry.instructions.size(), 5);
  const Instruction& reshape = entry.instructions[2];
  EXPECT_EQ(reshape.opcode, Opcode::kReshape);
  EXPECT_EQ(reshape.operands, std::vector<InstructionId>{InstructionId(0)});
  EXPECT_EQ(reshape.sharding, "{devices=[1,2]<=[2]}");
  const Instruction& dot = entry.instructions[3];
  EXPECT_EQ(dot.operands, (std::vector<InstructionId>{InstructionId(2), InstructionId(1)}));
  EXPECT_EQ(entry.instructions[4].operands,
            (std::vector<InstructionId>{InstructionId(3), InstructionId(3)}));
  EXPECT_EQ(entry.root, InstructionId(4));
  EXPECT_TRUE(entry[entry.root].is_root);
}

TEST(WithOperandConstraints, LeavesTheRestAlone) {
  Case c;
  EXPECT_EQ(ToHloText(c.Constrained()), ToHloText(*c.program.module));
  c.NeededBy("y");  // as they are kept
  EXPECT_EQ(ToHloText(c.Constrained()), ToHloText(*c.program.module));
}

// What one operator of its body wants otherwise does not become how the loop carries it.
TEST(WithOperandConstraints, SeesWhatALoopCarriesAsItIsCarriedFirst) {
  Case c(kLoop);
  c.NeededBy("e")[0].dims[1] = {0};
  const Module module = c.Constrained();
  std::vector<std::string> shardings;  // of what `e` takes, from its carry on
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.opcode == Opcode::kReshape) shardings.push_back(instruction.sharding);
    }
  }
  EXPECT_EQ(shardings, (std::vector<std::string>{"{replicated}", "{devices=[1,2]<=[2]}"}));
}

// Terms that are contracted over an axis, added, and combined behind the addition.
TEST(WithMovements, SaysWhatIsAPartialSum) {
  const TestProgram program = ProgramFromText(R"(HloModule m

ENTRY main {
  x = f32[8,16] parameter(0)
  v = f32[16,4] parameter(1)
  w = f32[16,4] parameter(2)
  a = f32[8,4] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[8,4] add(a, b)
  ROOT d = f32[8,4] negate(c)
}
)");
  const Mesh mesh = TestMesh("2", "2xh100-sxm");
  std::vector<Sharding> kept;
  for (const Value& value : program.graph.values)
    kept.push_back(Sharding::Replicated(value.shape.rank()));
  Movements movements = NoMovements(program.graph);
  for (size_t i = 0; i < program.graph.ops.size(); ++i) {
    if (program.graph.ops[i].name == "c") movements.pending[i] = {0};
  }
  const Module module =
      WithMovements(program.graph, mesh, kept, OutputsAsKept(program.graph, kept), movements);
  EXPECT_TRUE(VerifyModule(module, "m").ok());
  std::map<std::string, std::string> partial, sharding;
  for (const Instruction& instruction : module.computations[module.entry.index()].instructions) {
    for (const auto& [name, axes] : instruction.frontend_attributes)
      if (name == kUnreduced) partial[instruction.name] = axes;
    sharding[instruction.name] = instruction.sharding;
  }
  EXPECT_EQ(partial, (std::map<std::string, std::string>{{"a", "x"}, {"b", "x"}, {"c", "x"}}));
  EXPECT_EQ(sharding["c.kept"], "{replicated}");
  for (const char* operand : {"a.operand0", "a.operand1", "b.operand0", "b.operand1"})
    EXPECT_EQ(sharding[operand], "{replicated}") << operand;
  EXPECT_FALSE(sharding.contains("c.operand0"));
}

// A loop would carry a value as its start is sharded.
TEST(WithMovements, MovesWhatALoopStartsFrom) {
  Case c(kLoop);
  for (const Carry& carry : c.program.graph.carries) {
    if (c.program.graph[carry.init].shape.rank() > 0) c.kept[carry.parameter.index()].dims[0] = {0};
  }
  const Module module = c.Moved(NoMovements(c.program.graph));
  EXPECT_TRUE(VerifyModule(module, "m").ok());
  const Computation& entry = module.entry_computation();
  const auto init = std::find_if(entry.instructions.begin(), entry.instructions.end(),
                                 [](const Instruction& i) { return i.name == "init"; });
  ASSERT_NE(init, entry.instructions.end());
  EXPECT_EQ(entry[init->operands[0]].name, "zero");
  for (const size_t k : {1, 2}) {
    EXPECT_EQ(entry[init->operands[k]].opcode, Opcode::kReshape);
    EXPECT_EQ(entry[init->operands[k]].sharding, "{devices=[2,1]<=[2]}");
  }
}

// What hands a parameter on that is moved once for all of its users hands on what was moved.
TEST(WithMovements, SeesSharedParametersMovedEverywhere) {
  const Case c(R"(HloModule m

ENTRY main {
  x = f32[8,16] parameter(0)
  t = (f32[8,16]) tuple(x)
  b = (f32[8,16]) opt-barrier(t)
  y = f32[8,16] get-tuple-element(b), index=0
  ROOT z = f32[8,16] negate(y)
}
)");
  Movements movements = NoMovements(c.program.graph);
  Sharding moved = c.kept[0];
  moved.dims[0] = {0};
  movements.shared[c.program.graph.parameters[0].index()] = moved;
  const Module module = c.Moved(movements);
  EXPECT_TRUE(VerifyModule(module, "m").ok());
  std::map<std::string, std::string> sharding;
  for (const Instruction& instruction : module.entry_computation().instructions)
    sharding[instruction.name] = instruction.sharding;
  EXPECT_EQ(sharding["x"], "{replicated}");
  for (const char* name : {"x.kept", "y"})
    EXPECT_EQ(sharding[name], "{devices=[2,1]<=[2]}") << name;
}

TEST(WithMovements, LeadsResultsAlongTheirPaths) {
  const Case c(kLoop);
  Movements movements = NoMovements(c.program.graph);
  Sharding step = c.kept[c.program.graph[c.program.graph.outputs[1]].operands[0].index()];
  step.dims[1] = {0};
  movements.operand_paths[c.program.graph.outputs[1].index()] = {{step}};
  const Module module = c.Moved(movements);
  EXPECT_TRUE(VerifyModule(module, "m").ok());
  const Computation& entry = module.entry_computation();
  const Instruction& root = entry[entry.root];
  EXPECT_EQ(entry[root.operands[0]].name, "a");
  EXPECT_EQ(entry[root.operands[1]].opcode, Opcode::kReshape);
  EXPECT_EQ(entry[root.operands[1]].sharding, "{devices=[1,2]<=[2]}");
}

}  // namespace
}  // namespace meshwright
