// Whole training steps, forward passes and scans: each plans on meshes of one, two and three axes
// without a warning, and on one of them twice the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

struct MeshCase {
  const char* mesh;
  const char* cluster;
};
constexpr MeshCase kMeshes[] = {
    {"8", "8xh100-sxm"}, {"2x4", "8xh100-sxm"}, {"4x8", "4x8xh100-sxm"}, {"2x2x4", "2x8xh100-sxm"}};

// `except`: a folder whose programs are left out.
std::vector<std::string> ProgramsIn(const std::filesystem::path& folder,
                                    const std::filesystem::path& except = {}) {
  std::vector<std::string> programs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool whole = name.find(".train.hlo.txt") != std::string::npos ||
                       name.find(".forward.hlo.txt") != std::string::npos;
    if (whole && (except.empty() || !std::filesystem::exists(except / name)))
      programs.push_back(entry.path().string());
  }
  std::sort(programs.begin(), programs.end());
  return programs;
}

Plan PlanOrDie(const std::string& program, const MeshCase& mesh) {
  ProgramRequest request;
  request.program = program;
  request.cluster = mesh.cluster;
  request.mesh = mesh.mesh;
  request.memory.kind = MemoryBudget::Kind::kUnlimited;
  request.deadline_seconds =
      300;  // so that no deadline cuts a search off and the plans can be equal
  absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return planned.ok() ? planned->plan : Plan();
}

// `twice_on`: the mesh for which each program is planned a second time, which has to give the same.
void CheckPrograms(const std::vector<std::string>& programs, std::string_view twice_on) {
  for (const std::string& program : programs) {
    for (const MeshCase& mesh : kMeshes) {
      SCOPED_TRACE(program + " on " + mesh.mesh);
      Plan plan = PlanOrDie(program, mesh);
      EXPECT_GT(plan.objective_seconds, 0);
      EXPECT_GE(plan.objective_seconds, plan.bound_seconds);
      // Some are too small for any sharding to pay.
      EXPECT_THAT(plan.warnings, testing::Each(testing::HasSubstr("would be at least as fast as")));
      if (mesh.mesh == twice_on) {
        Plan again = PlanOrDie(program, mesh);
        plan.planning_seconds = again.planning_seconds = 0;
        EXPECT_EQ(PlanToJson(plan), PlanToJson(again));
      }
      std::printf("%-60s %-6s %10.3f ms  gap %6.3f %%\n",
                  program.substr(program.rfind('/') + 1).c_str(), mesh.mesh,
                  plan.objective_seconds * 1e3, plan.gap * 100);
      std::fflush(stdout);
    }
  }
}

TEST(ProgramsTest, OwnProgramsPlanEverywhere) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::vector<std::string> programs = ProgramsIn(MESHWRIGHT_TEST_DATA "/hlo");
  ASSERT_FALSE(programs.empty());
  CheckPrograms(programs, "2x4");
}

// Our own programs show that plans are repeated; these take a minute as it is.
TEST(ProgramsTest, ReferenceProgramsPlanEverywhere) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::vector<std::string> programs =
      ProgramsIn(MESHWRIGHT_SHARED "/hlo", MESHWRIGHT_TEST_DATA "/hlo");
  std::printf(programs.empty() ? "no reference programs in ../shared\n"
                               : "using the programs in ../shared/hlo\n");
  CheckPrograms(programs, "");
}

}  // namespace
}  // namespace meshwright
