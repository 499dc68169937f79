#include "meshwright/hlo/opcode.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(OpcodeTest, NamesComeBack) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(OpcodeFromName(OpcodeName(opcode)), opcode);
  }
  EXPECT_EQ(OpcodeName(Opcode::kDynamicUpdateSlice), "dynamic-update-slice");
  EXPECT_EQ(OpcodeFromName("all-to-all-start"), std::nullopt);
  EXPECT_EQ(OpcodeFromName(""), std::nullopt);
}

TEST(OpcodeTest, ArityAndClassesAgree) {
  EXPECT_EQ(OpcodeArity(Opcode::kSelect), 3);
  EXPECT_EQ(OpcodeArity(Opcode::kReduce), -1);
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!IsElementwiseUnary(opcode)) continue;
    EXPECT_EQ(OpcodeArity(opcode), 1) << OpcodeName(opcode);
    EXPECT_TRUE(IsElementwise(opcode)) << OpcodeName(opcode);
  }
  EXPECT_TRUE(IsElementwise(Opcode::kMap));
  EXPECT_FALSE(IsElementwise(Opcode::kBroadcast));
  EXPECT_TRUE(IsCollective(Opcode::kReduceScatter));
  EXPECT_FALSE(IsCollective(Opcode::kReduce));
}

}  // namespace
}  // namespace meshwright
