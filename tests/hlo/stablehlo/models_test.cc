#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/stablehlo/separate_functions.h"
#include "tests/testing/exhaustive.h"

// Whole programs that JAX lowered both to StableHLO and, through XLA, to HLO: our reading of the
// one must be XLA's.

namespace meshwright {
namespace {

// What planning sees of an operator, without its name.
std::string Summary(const Graph& graph, const Op& op) {
  std::string text = StrCat(static_cast<int>(op.kind), " ", OpcodeName(op.instruction->opcode),
                            " x", op.multiplicity, " d");
  for (const int64_t d : op.instruction->dimensions) StrAppend(&text, ",", d);
  for (const ValueId operand : op.operands) StrAppend(&text, " %", operand.value);
  for (const ValueId result : op.results) {
    StrAppend(&text, " ", graph[result].shape.ToString(/*with_layout=*/false), "%", result.value);
  }
  return text;
}

void ExpectSameModule(const Module& ours, const Module& theirs) {
  EXPECT_EQ(ours.input_output_alias, theirs.input_output_alias);
  EXPECT_EQ(ours.buffer_donors, theirs.buffer_donors);
  const Graph a = BuildGraph(ours).value();
  const Graph b = BuildGraph(theirs).value();
  EXPECT_EQ(a.output_alias, b.output_alias);
  EXPECT_EQ(a.warnings, b.warnings);
  ASSERT_EQ(a.ops.size(), b.ops.size());
  for (size_t i = 0; i < a.ops.size(); ++i) {
    ASSERT_EQ(Summary(a, a.ops[i]), Summary(b, b.ops[i])) << a.ops[i].name << " " << b.ops[i].name;
  }
}

void ExpectSameProgram(const std::string& stablehlo, const std::string& hlo) {
  SCOPED_TRACE(stablehlo);
  const absl::StatusOr<Module> ours = ReadHlo(stablehlo);
  const absl::StatusOr<Module> theirs = ReadHlo(hlo);
  ASSERT_TRUE(ours.ok()) << ours.status();
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  ExpectSameModule(*ours, *theirs);
  // A function for every call does not change what is computed.
  const std::string separate =
      SeparateFunctions(ReadFileMaybeGzip(stablehlo).value(), stablehlo).value();
  const absl::StatusOr<Module> again = ParseStablehlo(separate, stablehlo);
  ASSERT_TRUE(again.ok()) << again.status();
  ExpectSameModule(*ours, *again);
}

// Every NAME.stablehlo.mlir.gz of the folder that has a NAME.hlo.txt.gz beside it.
int CheckFolder(const std::filesystem::path& folder) {
  int checked = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    const std::string_view suffix = ".stablehlo.mlir.gz";
    if (!path.ends_with(suffix)) continue;
    const std::string hlo = path.substr(0, path.size() - suffix.size()) + ".hlo.txt.gz";
    if (!std::filesystem::exists(hlo)) continue;
    ExpectSameProgram(path, hlo);
    ++checked;
  }
  return checked;
}

TEST(StablehloModels, OwnProgramsReadAsXlaReadsThem) {
  EXPECT_GT(CheckFolder(MESHWRIGHT_TEST_DATA "/hlo"), 0);
}

TEST(StablehloModels, ReferenceProgramsReadAsXlaReadsThem) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const int checked =
      CheckFolder(MESHWRIGHT_SHARED "/hlo") + CheckFolder(MESHWRIGHT_SHARED "/measured");
  std::cout << checked << " reference programs in ../shared\n";
}

}  // namespace
}  // namespace meshwright
