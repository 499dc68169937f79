#include "meshwright/profile/operand_constraints.h"

#include <gtest/gtest.h>

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

struct Case {
  TestProgram program = ProgramFromText(kProgram);
  Mesh mesh = TestMesh("2", "2xh100-sxm");
  std::vector<Sharding> kept;
  std::vector<std::vector<Sharding>> needed;

  Case() : needed(program.graph.ops.size()) {
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
  const size_t count = program.graph.ops.size();
  Movements movements;
  movements.needed.resize(count);
  movements.computed.resize(count);
  movements.pending.resize(count);
  movements.operand_paths.resize(count);
  movements.result_paths.resize(count);
  movements.shared.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (program.graph.ops[i].name == "c") movements.pending[i] = {0};
  }
  const Module module = WithMovements(*program.module, program.graph, mesh, kept, movements);
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

}  // namespace
}  // namespace meshwright
