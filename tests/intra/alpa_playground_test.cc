// Alpa's solver playground (Zheng et al. 2022): its 31 published runs rebuilt as HLO.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/cost/alpha_beta.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/alpa_listing.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

// A 2-layer perceptron's training step as the playground lists it: batch 1024, hidden 128.
const std::vector<std::string> kPerceptron = {
    "Time  0: parameter.0 (1024, 128) = parameter()  Strategy: S0 @ 0",
    "Time  1: parameter.1 (1024, 128) = parameter()  Strategy: S0 @ 0",
    "Time  2: parameter.2 (128, 128) = parameter()  Strategy: R",
    "Time  3: parameter.3 (128, 128) = parameter()  Strategy: R",
    "Time  4: dot.0 (1024, 128) = dot(parameter.0, parameter.2)  lhs_con_dim=(1,), "
    "rhs_con_dim=(0,)  Strategy:",
    "Time  5: dot.1 (1024, 128) = dot(dot.0, parameter.3)  lhs_con_dim=(1,), rhs_con_dim=(0,)  "
    "Strategy:",
    "Time  6: subtract.0 (1024, 128) = subtract(dot.1, parameter.1)  Strategy: (4, 1) follow 5",
    "Time  7: constant.0 () = constant(1.52587890625e-05)  Strategy: R",
    "Time  8: broadcast.0 (1024, 128) = broadcast(constant.0)  Strategy: () follow 7",
    "Time  9: multiply.0 (1024, 128) = multiply(subtract.0, broadcast.0)  Strategy: (4, 1) follow "
    "5",
    "Time 10: dot.2 (128, 128) = dot(dot.0, multiply.0)  lhs_con_dim=(0,), rhs_con_dim=(0,)  "
    "Strategy:",
    "Time 11: subtract.1 (128, 128) = subtract(parameter.3, dot.2)  Strategy: () follow 10",
    "Time 12: dot.3 (1024, 128) = dot(multiply.0, parameter.3)  lhs_con_dim=(1,), rhs_con_dim=(1,) "
    " Strategy:",
    "Time 13: dot.4 (128, 128) = dot(parameter.0, dot.3)  lhs_con_dim=(0,), rhs_con_dim=(0,)  "
    "Strategy:",
    "Time 14: subtract.2 (128, 128) = subtract(parameter.2, dot.4)  Strategy: () follow 13",
    "Time 15: tuple.0 () = tuple('subtract.2', 'subtract.1')  Strategy: tuple"};

struct PublishedRun {
  std::string name;
  std::vector<int64_t> mesh;
  AlphaBetaOptions cost;
  bool force_batch = false;
  std::vector<std::string> listing;
};

double Optimum(const PublishedRun& run, StrategySpace space) {
  const AlpaProgram alpa = ReadAlpaListing(run.listing);
  const TestProgram program = ProgramFromText(alpa.hlo);
  const Mesh mesh = TestMesh(absl::StrCat(run.mesh[0], "x", run.mesh[1]),
                             absl::StrCat(run.mesh[0], "x", run.mesh[1], "xv100"));
  PlannerOptions options;
  options.space = space;
  options.tie_outputs_by_position = false;
  for (const std::string& output : alpa.replicated_outputs)
    options.fixes.push_back({output, "replicated", ""});
  if (run.force_batch) {
    for (const std::string& data : alpa.data_parameters) options.fixes.push_back({data, "[x]", ""});
  }
  const absl::StatusOr<IntraPlan> plan =
      PlanIntra(program.graph, AlphaBetaCostModel(mesh, run.cost), options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->gap, 0);
  return plan->objective;
}

TEST(AlpaPlaygroundTest, PerceptronDataParallel) {
  for (const std::vector<int64_t>& mesh : {std::vector<int64_t>{4, 1}, {1, 4}}) {
    const PublishedRun run{"", mesh, {.alpha = {1, 1}, .beta = {1, 1}}, false, kPerceptron};
    // Two all-reduces of gradients, int(1 + 2 * 3/4 * 65536) + 0.01, and 2 for each replicated
    // weight.
    EXPECT_NEAR(Optimum(run, StrategySpace::kAlpa), 196614.02, 1e-6);
    EXPECT_LE(Optimum(run, StrategySpace::kFull), 196614.02 + 1e-6);
  }
}

TEST(AlpaPlaygroundTest, PerceptronOnTwoAxes) {
  const PublishedRun run{"", {4, 8}, {.alpha = {1, 1}, .beta = {1, 0.01}}, false, kPerceptron};
  EXPECT_NEAR(Optimum(run, StrategySpace::kAlpa), 26872.03, 1e-6);
}

// Every published run. Under Alpa's restrictions the perceptrons' optima are exactly Alpa's. In our
// own space no optimum is above Alpa's, which is one of its points. Where one is below, this is
// why:
//  * In Alpa's space, attention_forward_2d_mesh: one 2 less, for one replicated parameter fewer.
//  Alpa lets the
//    comparison of the attention mask follow its deepest operand, a broadcast constant, which is
//    replicated; here constants have whatever sharding their user wants, so the mask stays sharded.
//  * In ours, everywhere but under force_data_parallel: alpha_beta prices no computation, so the
//  cheapest plan
//    replicates every product and pays only 2 for each replicated parameter.
TEST(AlpaPlaygroundTest, AllPublishedRuns) {
  std::ifstream file(MESHWRIGHT_SHARED "/peers/alpa/playground.json");
  if (!file) {
    std::printf(
        "reference runs in ../shared not present: only the runs in this file are checked\n");
    return;
  }
  std::printf("using the reference runs in ../shared/peers/alpa/playground.json\n");
  const nlohmann::json runs = nlohmann::json::parse(file);
  ASSERT_GE(runs.size(), 31u);
  for (const nlohmann::json& record : runs) {
    PublishedRun run{.name = record["test"],
                     .mesh = record["mesh"],
                     .cost = {},
                     .listing = record["strategies"]};
    run.cost.alpha = record["alpha"].get<std::vector<double>>();
    run.cost.beta = record["beta"].get<std::vector<double>>();
    if (!record["force_all_gather"].is_null())
      run.cost.force_all_gather = record["force_all_gather"].get<double>();
    run.force_batch = !record["force_batch"].is_null();
    const double published = record["exact_optimum"];
    SCOPED_TRACE(absl::StrCat(run.name, " on ", run.mesh[0], "x", run.mesh[1]));
    const double alpa = Optimum(run, StrategySpace::kAlpa);
    const double full = Optimum(run, StrategySpace::kFull);
    std::printf("%-42s %lldx%lld published %.2f, in Alpa's space %.2f, in ours %.2f\n",
                run.name.c_str(), static_cast<long long>(run.mesh[0]),
                static_cast<long long>(run.mesh[1]), published, alpa, full);
    if (absl::StartsWith(run.name, "test_mlp")) {
      EXPECT_NEAR(alpa, published, 1e-6 * published);
    } else {
      EXPECT_LE(alpa, published * (1 + 1e-9));
    }
    if (alpa < published - 1e-6) {
      EXPECT_EQ(run.name, "test_attention_forward_2d_mesh");
      EXPECT_NEAR(alpa, published - 2, 1e-6);
    }
    EXPECT_LE(full, published * (1 + 1e-9));
    if (full < published - 1e-6) {
      int parameters = 0;
      for (const std::string& line : run.listing)
        parameters += absl::StrContains(line, "= parameter()");
      EXPECT_LE(full, 2 * parameters + 1e-6);
    } else {
      EXPECT_TRUE(run.force_batch);
    }
  }
}

}  // namespace
}  // namespace meshwright
