// Plans whose right form is known beforehand.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

// Parameter name -> spec text.
std::map<std::string, std::string> ParameterSpecs(const TestProgram& program, const IntraPlan& plan,
                                                  const Mesh& mesh) {
  std::map<std::string, std::string> specs;
  for (OpId p : program.graph.parameters) {
    specs[ParameterName(program.graph, p)] =
        plan.shardings[program.graph[p].results[0].index()].ToString(mesh);
  }
  return specs;
}

bool IsBackward(const TestProgram& program, const PlannedCollective& collective) {
  const Op& op = program.graph[program.graph[collective.value].producer];
  return absl::StrContains(op.instruction->metadata.op_name, "transpose(");
}

// A 4-layer GPT of which only hidden, heads, feed-forward and vocabulary can be cut (batch 1,
// sequence 509): tensor parallelism is all there is, and the planner must find Megatron's (Shoeybi
// et al. 2019, section 3).
TEST(KnownAnswersTest, TensorParallelGptIsMegatron) {
  const TestProgram program = ProgramFromData("gpt_tensor.train.hlo.txt.gz");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const RooflineCostModel cost_model(mesh);
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, cost_model, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::map<std::string, std::string> specs = ParameterSpecs(program, *plan, mesh);
  for (int layer = 0; layer < 4; ++layer) {
    const std::string prefix = "state[0]['layer" + std::to_string(layer) + "']";
    for (const char* column : {"['wq']", "['wk']", "['wv']", "['w1']"}) {
      EXPECT_EQ(specs.at(prefix + column), "[_,x]") << prefix << column;
    }
    for (const char* row : {"['wo']", "['w2']"})
      EXPECT_EQ(specs.at(prefix + row), "[x,_]") << prefix << row;
  }
  // Of the residual stream: two all-reduces a layer forward, two backward, and one backward for the
  // head. The embedding may be gathered once each way.
  int forward = 0, backward = 0, gathers = 0;
  for (const PlannedCollective& c : plan->collectives) {
    const Shape& shape = program.graph[c.value].shape;
    if (shape.dims != std::vector<int64_t>{1, 509, 4096}) continue;
    if (c.step.kind == CollectiveKind::kAllReduce) {
      ++(IsBackward(program, c) ? backward : forward);
    } else {
      EXPECT_EQ(c.step.kind, CollectiveKind::kAllGather);
      ++gathers;
    }
  }
  EXPECT_EQ(forward, 8);
  EXPECT_EQ(backward, 9);
  EXPECT_LE(gathers, 2);
}

// 65,536 rows through 512 x 512 weights: the gradients' all-reduces are all it should need.
TEST(KnownAnswersTest, LargeBatchSmallWeightsIsDataParallel) {
  const TestProgram program = ProgramFromData("mlp_wide_batch.train.hlo.txt");
  for (const auto& [mesh_text, batch] :
       std::map<std::string, std::string>{{"8", "[x,_]"}, {"2x4", "[(x,y),_]"}}) {
    SCOPED_TRACE(mesh_text);
    const Mesh mesh = TestMesh(mesh_text, "8xh100-sxm");
    const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    const std::map<std::string, std::string> specs = ParameterSpecs(program, *plan, mesh);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(specs.at("p[" + std::to_string(i) + "]"), "[_,_]");
    EXPECT_EQ(specs.at("x"), batch);
    EXPECT_EQ(specs.at("y"), batch);
    for (const PlannedCollective& c : plan->collectives)
      EXPECT_EQ(c.step.kind, CollectiveKind::kAllReduce);
  }
}

// Weights and optimizer state that do not fit replicated are sharded without being told.
TEST(KnownAnswersTest, StateThatDoesNotFitIsSharded) {
  const TestProgram program = ProgramFromData("mlp_adam.train.hlo.txt");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const RooflineCostModel cost_model(mesh);
  const auto replicated = [&](const IntraPlan& plan, std::string_view prefix) {
    int count = 0;
    for (const auto& [name, spec] : ParameterSpecs(program, plan, mesh)) {
      count += name.substr(0, prefix.size()) == prefix && spec == "[_,_]";
    }
    return count;
  };
  PlannerOptions tight;
  tight.budget_bytes = int64_t{1000} << 20;
  PlannerOptions whole = tight;
  whole.fixes.push_back({"state[*", "replicated", ""});
  const absl::StatusOr<IntraPlan> does_not_fit = PlanIntra(program.graph, cost_model, whole);
  ASSERT_TRUE(does_not_fit.ok()) << does_not_fit.status();
  EXPECT_FALSE(does_not_fit->fits);
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, cost_model, tight);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(plan->fits);
  EXPECT_LE(plan->peak.bytes, tight.budget_bytes);
  EXPECT_EQ(replicated(*plan, "state"), 0);
}

TEST(KnownAnswersTest, NothingFitsNamesTheSmallestBudget) {
  const TestProgram program = ProgramFromData("mlp_wide_batch.train.hlo.txt");
  PlannerOptions options;
  options.budget_bytes = 1 << 20;
  const RooflineCostModel cost_model(TestMesh("8", "8xh100-sxm"));
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, cost_model, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->fits);
  EXPECT_GT(plan->smallest_budget, options.budget_bytes);
  EXPECT_FALSE(plan->peak.live.empty());
  options.budget_bytes = plan->smallest_budget;
  const absl::StatusOr<IntraPlan> again = PlanIntra(program.graph, cost_model, options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->fits);
}

}  // namespace
}  // namespace meshwright
