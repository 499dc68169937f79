#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/stablehlo/bytecode_cursor.h"
#include "meshwright/hlo/stablehlo/bytecode_operations.h"
#include "meshwright/hlo/stablehlo/jax_export.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/writer.h"

// Programs in every form that tests/data/hlo/bytecode/make_bytecode.py writes: what is read from
// bytecode must be what is read from the text.

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string BytecodeFilePath(std::string_view name) {
  return StrCat(MESHWRIGHT_TEST_DATA, "/hlo/bytecode/", name);
}

void ExpectSameProgram(std::string_view text, std::string_view bytes) {
  SCOPED_TRACE(bytes);
  const absl::StatusOr<Module> expected = ReadHlo(BytecodeFilePath(text));
  const absl::StatusOr<Module> found = ReadHlo(BytecodeFilePath(bytes));
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(ToHloText(*found) == ToHloText(*expected)) << ToHloText(*found);
}

TEST(Bytecode, OfStablehlo) {
  for (const std::string_view name : {"step", "indices", "windows", "sharded"}) {
    ExpectSameProgram(StrCat(name, ".mlir"), StrCat(name, ".mlirbc"));
  }
}

TEST(Bytecode, OfVhlo) {
  for (const std::string_view name : {"step", "indices", "windows", "sharded"}) {
    ExpectSameProgram(StrCat(name, ".mlir"), StrCat(name, ".vhlo_1.17.0.mlirbc"));
  }
}

// Of versions 0, 4 and 6, and with attributes that VHLO had then.
TEST(Bytecode, OfOlderVersions) {
  for (const std::string_view version : {"0.9.0", "0.14.0", "1.1.0"}) {
    ExpectSameProgram("step.mlir", StrCat("step.vhlo_", version, ".mlirbc"));
  }
}

// JAX 0.11's, whose operation has one attribute more than that of 0.10.
TEST(Bytecode, OfTopKThatMayBeStable) { ExpectSameProgram("top_k.mlir", "top_k.mlirbc"); }

TEST(Bytecode, OfExportedFunctions) {
  for (const std::string_view name : {"step", "indices", "windows", "sharded"}) {
    ExpectSameProgram(StrCat(name, ".exported.mlir"), StrCat(name, ".jax_export"));
  }
}

TEST(Bytecode, IsTextAfterReading) {
  const std::string path = BytecodeFilePath("sharded.mlirbc");
  const std::string bytes = ReadFile(path).value();
  const StablehloProgram program = ReadStablehlo(bytes, path).value();
  EXPECT_THAT(program.text, HasSubstr("func.func public @main("));
  EXPECT_THAT(program.text, HasSubstr("sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>"));
  EXPECT_THAT(
      program.text,
      HasSubstr(" = sdy.sharding_constraint %1 <@mesh, [{\"x\"}, {\"y\"}]> : tensor<16x8xf32>"));
  // The same program again, and its positions are those of the text.
  const StablehloProgram again = ReadStablehlo(program.text, path).value();
  EXPECT_EQ(ToHloText(again.module), ToHloText(program.module));
  EXPECT_TRUE(again.text.empty());
  ASSERT_EQ(again.source.operations.size(), program.source.operations.size());
  for (size_t i = 0; i < again.source.operations.size(); ++i) {
    EXPECT_EQ(again.source.operations[i].begin, program.source.operations[i].begin);
  }
}

TEST(Bytecode, NamesAndDonationOfArguments) {
  const Module module = ReadHlo(BytecodeFilePath("step.jax_export")).value();
  std::vector<std::string> names;
  for (const Instruction& instruction : module.computations[module.entry.value].instructions) {
    if (instruction.opcode == Opcode::kParameter) names.push_back(instruction.metadata.op_name);
  }
  EXPECT_THAT(names, UnorderedElementsAre("params['out']", "params['w']", "x"));
  EXPECT_EQ(module.input_output_alias.size() + module.buffer_donors.size(), 2u);
}

TEST(Bytecode, ExportsForSeveralPlatforms) {
  const std::string path = BytecodeFilePath("platforms.jax_export");
  const StablehloProgram program = ReadStablehlo(ReadFile(path).value(), path).value();
  EXPECT_THAT(program.text, HasSubstr("meshwright.platforms = [\"cpu\", \"cuda\"]"));
  EXPECT_THAT(program.warnings, IsEmpty());
  ExpectSameProgram("sharded.exported.mlir", "platforms.jax_export");
}

TEST(Bytecode, ExportsThatCannotBePlanned) {
  EXPECT_EQ(ReadHlo(BytecodeFilePath("symbolic.jax_export")).status().message(),
            StrCat(BytecodeFilePath("symbolic.jax_export"),
                   ": a function exported for sizes that are not known (b); planning needs sizes, "
                   "so export it for shapes that are known"));
}

TEST(Bytecode, IsTold) {
  const std::string exported = ReadFile(BytecodeFilePath("step.jax_export")).value();
  EXPECT_TRUE(IsJaxExport(exported));
  EXPECT_EQ(DetectHloFormat(exported), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat(ReadFile(BytecodeFilePath("step.mlirbc")).value()), HloFormat::kMlir);
  for (const std::string_view other :
       {"", "HloModule m", "module {", "\x0a\x04main", "\x08\0\0\0"}) {
    EXPECT_FALSE(IsJaxExport(other));
  }
  // A proto whose first bytes could be an offset.
  std::string proto =
      ReadFileMaybeGzip(StrCat(MESHWRIGHT_TEST_DATA, "/hlo/tiny_gpt.train.hlo.pb.gz")).value();
  EXPECT_FALSE(IsJaxExport(proto));
  EXPECT_EQ(DetectHloFormat(proto), HloFormat::kProto);
}

TEST(Bytecode, PropertiesOfOperations) {
  const std::vector<BytecodeProperties> sort = FindBytecodeProperties("stablehlo.sort");
  ASSERT_EQ(sort.size(), 1u);
  EXPECT_THAT(sort[0], ElementsAre(BytecodeProperty{"dimension", true, false},
                                   BytecodeProperty{"is_stable", true, false}));
  const std::vector<BytecodeProperties> pad = FindBytecodeProperties("stablehlo.pad");
  ASSERT_EQ(pad.size(), 1u);
  EXPECT_THAT(pad[0][0], (BytecodeProperty{"edge_padding_high", false, true}));
  EXPECT_THAT(FindBytecodeProperties("stablehlo.add"), IsEmpty());
  EXPECT_EQ(FindBytecodeProperties("func.call").size(), 3u);  // newest first
}

TEST(BytecodeCursor, Numbers) {
  // One byte, two bytes, nine bytes; zigzag.
  const std::string bytes = {'\x0b', '\x02', '\x40', '\0',   '\x01', '\x02', '\x03',
                             '\x04', '\x05', '\x06', '\x07', '\x88', '\x07', '\x05'};
  BytecodeCursor cursor(bytes, 100, "f");
  EXPECT_EQ(cursor.Varint().value(), 5u);
  EXPECT_EQ(cursor.Varint().value(), 0x1000u);
  EXPECT_EQ(cursor.Varint().value(), 0x8807060504030201u);
  EXPECT_EQ(cursor.SignedVarint().value(), -2);
  EXPECT_EQ(cursor.SignedVarint().value(), 1);
  EXPECT_EQ(cursor.offset(), 114u);
  EXPECT_EQ(cursor.Varint().status().message(),
            "f: byte 114: the bytecode ends in the middle of something");
}

TEST(BytecodeCursor, CountsAreNoLargerThanTheRest) {
  BytecodeCursor cursor(std::string_view("\x15\x01\x01", 3), 0, "f");
  EXPECT_EQ(cursor.Count("strings").status().message(),
            "f: byte 0: 10 strings, but only 2 bytes follow");
}

}  // namespace
}  // namespace meshwright
