// Whole explanations of plans whose shardings were written by hand, one for each kind of
// parallelism. MESHWRIGHT_WRITE_GOLDEN=1 writes tests/data/explain anew: read what changed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/explain/explain.h"
#include "tests/explain/role_oracle.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

struct Golden {
  std::string name, program, mesh;
  std::vector<std::string> kinds;  // of weights that products use
};

const std::vector<Golden>& AllGolden() {
  static const auto* const kAll = new std::vector<Golden>{
      {"data", "tiny_gpt.train", "x=8", {"data"}},
      {"tensor", "tiny_gpt.train", "y=8", {"tensor column", "tensor row"}},
      {"fsdp", "tiny_gpt.train", "x=8", {"FSDP"}},
      {"expert", "moe_gshard_16.train", "x=8", {"data", "expert"}},
      {"mixed", "tiny_gpt.train", "x=2,y=4", {"mixed"}},
  };
  return *kAll;
}

// How a parameter is written by hand: batches over x; weights over y as Megatron-LM cuts them, with
// FSDP over x; experts over x.
std::string SpecOf(const std::string& style, const std::string& name, size_t rank) {
  if (!absl::StartsWith(name, "state")) return style == "tensor" ? "[_,_]" : "[x,_]";
  if (rank == 3) return "[x,_,_]";
  if (rank != 2) return rank == 1 ? "[_]" : "[]";
  const auto is = [&](const char* ending) {
    return absl::EndsWith(name, absl::StrCat("['", ending, "']"));
  };
  const bool row = is("wo") || is("w2") || is("embed");
  const bool column = is("wq") || is("wk") || is("wv") || is("w1") || is("head");
  if (style == "fsdp") return "[x,_]";
  if (!row && !column) return "[_,_]";
  if (style == "tensor" || style == "mixed") return row ? "[y,_]" : "[_,y]";
  return "[_,_]";
}

absl::StatusOr<PlannedProgram> PlanByHand(const Golden& golden) {
  ProgramRequest request;
  request.program = HloData(absl::StrCat(golden.program, ".hlo.txt.gz"));
  request.cluster = "8xh100-sxm";
  request.mesh = golden.mesh;
  request.cost_model = "roofline";
  request.memory.kind = MemoryBudget::Kind::kUnlimited;
  request.completion = Completion::kPropagate;
  absl::StatusOr<Program> program = ReadProgram(request.program);
  if (!program.ok()) return program.status();
  for (OpId parameter : program->graph.parameters) {
    const std::string name = ParameterName(program->graph, parameter);
    const size_t rank = program->graph[program->graph[parameter].results[0]].shape.dims.size();
    request.fixes.push_back({name, SpecOf(golden.name, name, rank), ""});
  }
  return PlanProgram(request);
}

TEST(Golden, ExplanationsOfEveryKindOfParallelism) {
  for (const Golden& golden : AllGolden()) {
    SCOPED_TRACE(golden.name);
    absl::StatusOr<PlannedProgram> planned = PlanByHand(golden);
    ASSERT_TRUE(planned.ok()) << planned.status();
    std::vector<std::string> kinds;
    for (const auto& [kind, count] : ExpectAsOracle(*planned)) kinds.push_back(kind);
    EXPECT_EQ(kinds, golden.kinds);
    planned->plan.inputs[0].path = golden.program + ".hlo.txt.gz";
    const std::string text = ExplainPlan(planned->plan);
    const std::string path = absl::StrCat(MESHWRIGHT_TEST_DATA, "/explain/", golden.name, ".txt");
    if (std::getenv("MESHWRIGHT_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
    const absl::StatusOr<std::string> expected = ReadFile(path);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(text, *expected);
    // One screen, if a tall one.
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 60);
  }
}

// What the planner finds for large programs.
TEST(Golden, ReferenceProgramsAreJudgedAsTheirDefinitionsSay) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::string folder = MESHWRIGHT_SHARED "/hlo/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  for (const char* name : {"gpt2_345m.train", "moe_gshard_16.train", "llama3_8b.scan.train",
                           "llama3_8b.scan_remat.train"}) {
    for (const char* mesh : {"8", "2x4"}) {
      SCOPED_TRACE(absl::StrCat(name, " ", mesh));
      ProgramRequest request;
      request.program = absl::StrCat(folder, name, ".hlo.txt.gz");
      request.cluster = "8xh100-sxm";
      request.mesh = mesh;
      request.memory.kind = MemoryBudget::Kind::kUnlimited;
      const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
      ASSERT_TRUE(planned.ok()) << planned.status();
      EXPECT_FALSE(ExpectAsOracle(*planned).empty());
    }
  }
}

}  // namespace
}  // namespace meshwright
