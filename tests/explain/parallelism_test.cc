// The kind of parallelism of every parameter, against its definitions and against plans whose
// shardings were written by hand.

#include "meshwright/explain/parallelism.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/part_summary.h"
#include "tests/explain/role_oracle.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

absl::StatusOr<PlannedProgram> EstimateMeasured(const std::string& program,
                                                const std::string& mesh) {
  ProgramRequest request;
  request.program = absl::StrCat(MESHWRIGHT_TEST_DATA, "/measured/", program, ".hlo.txt.gz");
  request.cluster = "4xh100-sxm";
  request.mesh = mesh;
  request.memory.kind = MemoryBudget::Kind::kUnlimited;
  request.completion = Completion::kPropagate;
  request.cost_model = "roofline";
  return PlanProgram(request);
}

struct HandWritten {
  std::string program, mesh, headline;
  std::vector<std::string> kinds;  // that its products' weights have, sorted
};

TEST(Parallelism, HandWrittenShardingsAreWhatTheirNamesSay) {
  const std::vector<HandWritten> all = {
      {"gpt_2048x4.dp4", "x=4", "data parallelism over x (4)", {"data"}},
      {"gpt_2048x4.fsdp4", "x=4", "FSDP parallelism over x (4)", {"FSDP"}},
      {"gpt_2048x4.zero1_4", "x=4", "ZeRO-1 parallelism over x (4)", {"ZeRO-1"}},
      {"gpt_2048x4.tp4", "y=4", "tensor parallelism over y (4)", {"tensor column", "tensor row"}},
      {"gpt_2048x4.tp4_sp",
       "y=4",
       "tensor parallelism over y (4)",
       {"tensor column", "tensor row"}},
      {"gpt_2048x4.dp2_tp2",
       "x=2,y=2",
       "mixed parallelism: data over x (2), tensor over y (2)",
       {"mixed"}},
      {"gpt_2048x4.fsdp2_tp2",
       "x=2,y=2",
       "mixed parallelism: FSDP over x (2), tensor over y (2)",
       {"mixed"}},
      {"moe_1280x4.dp4", "x=4", "data parallelism over x (4)", {"data"}},
      {"moe_1280x4.fsdp4", "x=4", "FSDP parallelism over x (4)", {"FSDP"}},
      {"moe_1280x4.ep4",
       "x=4",
       "mixed parallelism: expert and data over x (4)",
       {"data", "expert"}},
  };
  for (const HandWritten& one : all) {
    SCOPED_TRACE(one.program);
    const absl::StatusOr<PlannedProgram> planned = EstimateMeasured(one.program, one.mesh);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(Headline(Summarize(PartsOf(planned->plan)[0])), one.headline);
    std::vector<std::string> kinds;
    for (const auto& [kind, count] : ExpectAsOracle(*planned)) kinds.push_back(kind);
    EXPECT_EQ(kinds, one.kinds);
  }
}

// "[x,_]": a random one that divides `shape`.
std::string RandomSpec(std::mt19937_64& random, const Shape& shape, const Mesh& mesh) {
  std::vector<std::vector<std::string>> dims(shape.dims.size());
  std::vector<int64_t> sizes = shape.dims;
  for (const MeshAxis& axis : mesh.axes) {
    const size_t d = random() % (dims.size() + 1);
    if (d == dims.size() || sizes[d] % axis.size != 0) continue;
    sizes[d] /= axis.size;
    dims[d].push_back(axis.name);
  }
  const auto text = [](std::string* out, const std::vector<std::string>& axes) {
    absl::StrAppend(out, axes.empty() ? "_" : absl::StrCat("(", absl::StrJoin(axes, ","), ")"));
  };
  return absl::StrCat("[", absl::StrJoin(dims, ",", text), "]");
}

// Weights, optimizer state and data sharded at random; the rest follows as in XLA.
TEST(Parallelism, RandomShardingsAreJudgedAsTheirDefinitionsSay) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  std::map<std::string, int> kinds;
  for (int seed = 0; seed < 72; ++seed) {
    std::mt19937_64 random(seed);
    ProgramRequest request;
    request.program = seed % 2 == 0 ? HloData("tiny_gpt.train.hlo.txt.gz")
                                    : HloData("mlp_4096x4.train.hlo.txt.gz");
    request.cluster = "8xh100-sxm";
    request.mesh = seed % 3 == 0 ? "2x2x2" : seed % 3 == 1 ? "2x4" : "8";
    request.cost_model = "roofline";
    request.memory.kind = MemoryBudget::Kind::kUnlimited;
    request.completion = Completion::kPropagate;
    const absl::StatusOr<Program> program = ReadProgram(request.program);
    ASSERT_TRUE(program.ok()) << program.status();
    const Mesh mesh = *ParseMesh(request.mesh, *ParseCluster(request.cluster));
    for (OpId parameter : program->graph.parameters) {
      const Shape& shape = program->graph[program->graph[parameter].results[0]].shape;
      if (random() % 3 != 0) {
        request.fixes.push_back(
            {ParameterName(program->graph, parameter), RandomSpec(random, shape, mesh), ""});
      }
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    for (const auto& [kind, count] : ExpectAsOracle(*planned)) kinds[kind] += count;
  }
  EXPECT_GT(kinds["mixed"], 50);
  EXPECT_GT(kinds["FSDP"], 5);
  EXPECT_GT(kinds["tensor column"], 5);
  EXPECT_GT(kinds["tensor row"], 5);
  EXPECT_GT(kinds["data"], 5);
}

// What is not cut over its batch is cut as the weights are, or along the sequence.
TEST(Parallelism, InputsCutInFeaturesAreNoSequences) {
  const auto role = [](const std::string& program, const std::vector<Fix>& fixes,
                       const std::string& input) {
    ProgramRequest request;
    request.program = HloData(absl::StrCat(program, ".train.hlo.txt.gz"));
    request.cluster = "4xh100-sxm";
    request.mesh = "4";
    request.cost_model = "roofline";
    request.completion = Completion::kPropagate;
    request.fixes = fixes;
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
    EXPECT_TRUE(planned.ok()) << planned.status();
    if (!planned.ok()) return std::string();
    const PlanPart part = PartsOf(planned->plan)[0];
    const std::vector<ParameterParallelism> judged = JudgeParameters(part);
    for (size_t p = 0; p < part.parameters.size(); ++p) {
      if (part.parameters[p].name == input) return RolesText(judged[p].roles, part.mesh);
    }
    return std::string("none");
  };
  EXPECT_EQ(role("mlp_4096x4", {{"p[3]", "[_,x]", ""}, {"y", "[_,x]", ""}}, "y"), "tensor x");
  EXPECT_EQ(role("mlp_4096x4", {{"p[0]", "[x,_]", ""}, {"x", "[_,x]", ""}}, "x"), "tensor x");
  EXPECT_EQ(role("mlp_4096x4", {{"y", "[x,_]", ""}, {"x", "[x,_]", ""}}, "y"), "data x");
  EXPECT_EQ(role("tiny_gpt", {{"tok", "[_,x]", ""}, {"lab", "[_,x]", ""}}, "tok"), "sequence x");
}

// What a tenth of the weights or most of a layer's do is said, and so is what is not divided.
TEST(Parallelism, HeadlineNamesAllThatIsMixed) {
  using enum AxisRole;
  PartSummary summary;
  summary.axes = {{"x", 2, {{kRow, 0.8}, {kReplicated, 0.18}, {kData, 0.02}}},
                  {"y", 4, {{kColumn, 0.97}, {kData, 0.03}}}};
  EXPECT_EQ(Headline(summary),
            "mixed parallelism: tensor and replicated over x (2), tensor over y (4)");
  summary.layers = {{0, 2, {{"x", 2, {{kData, 0.998}}}, {"y", 4, {{kData, 0.998}}}}},
                    {3, 9, {{"x", 2, {{kRow, 1}}}, {"y", 4, {{kColumn, 1}}}}}};
  EXPECT_EQ(
      Headline(summary),
      "mixed parallelism: tensor, data and replicated over x (2), tensor and data over y (4)");
  summary.axes = {{"x", 2, {{kRow, 0.97}, {kReplicated, 0.03}}}, {"y", 4, {{kReplicated, 1}}}};
  summary.layers.clear();
  EXPECT_EQ(Headline(summary), "tensor parallelism over x (2)");
}

TEST(Parallelism, Words) {
  const std::vector<PlanAxis> mesh = {{"x", 2}, {"y", 4}, {"z", 2}};
  using enum AxisRole;
  EXPECT_EQ(KindName({kReplicated, kReplicated}), "replicated");
  EXPECT_EQ(KindName({kFsdp, kReplicated}), "FSDP");
  EXPECT_EQ(KindName({kColumn, kRow}), "tensor");
  EXPECT_EQ(KindName({kColumn, kColumn}), "tensor column");
  EXPECT_EQ(KindName({kData, kRow}), "mixed");
  EXPECT_EQ(RolesText({kReplicated, kReplicated, kReplicated}, mesh), "replicated");
  EXPECT_EQ(RolesText({kFsdp, kColumn, kFsdp}, mesh), "FSDP (x,z), tensor column y");
}

// Optimizer state is no weight: it has its weight's role where it is cut like it, and is only
// stored in parts where it is cut otherwise.
TEST(Parallelism, OptimizerStateIsToldApartFromItsWeight) {
  struct StateCase {
    std::string weight, state, weight_role, state_role;
  };
  const std::vector<StateCase> cases = {
      {"[_,x]", "[_,x]", "tensor column x", "tensor column x"},
      {"[_,x]", "[x,_]", "tensor column x", "stored x"},
      {"[_,_]", "[x,_]", "ZeRO-1 x", "ZeRO-1 x"},
      {"[_,_]", "[_,_]", "data x", "data x"},
      {"[x,_]", "[x,_]", "FSDP x", "FSDP x"},
      {"[x,_]", "[_,_]", "FSDP x", "data x"},
  };
  for (const StateCase& one : cases) {
    SCOPED_TRACE(absl::StrCat(one.weight, " ", one.state));
    const bool tensor = one.weight == "[_,x]";
    ProgramRequest request;
    request.program = HloData("tiny_gpt.train.hlo.txt.gz");
    request.cluster = "4xh100-sxm";
    request.mesh = "4";
    request.cost_model = "roofline";
    request.memory.kind = MemoryBudget::Kind::kUnlimited;
    request.completion = Completion::kPropagate;
    request.fixes = {{"state[0]['layer0']['w1']", one.weight, ""},
                     {"state[1]['layer0']['w1']", one.state, ""},
                     {"tok", tensor ? "[_,_]" : "[x,_]", ""}};
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const PlanPart part = PartsOf(planned->plan)[0];
    const std::vector<ParameterParallelism> judged = JudgeParameters(part);
    const auto position = [&](const std::string& name) {
      for (size_t p = 0; p < part.parameters.size(); ++p) {
        if (part.parameters[p].name == name) return p;
      }
      return part.parameters.size();
    };
    const size_t weight = position("state[0]['layer0']['w1']");
    const size_t state = position("state[1]['layer0']['w1']");
    ASSERT_LT(std::max(weight, state), part.parameters.size());
    EXPECT_EQ(part.parameters[state].category, MemoryCategory::kOptimizerState);
    EXPECT_EQ(judged[state].state_of, weight);
    EXPECT_EQ(RolesText(judged[weight].roles, part.mesh), one.weight_role);
    EXPECT_EQ(RolesText(judged[state].roles, part.mesh), one.state_role);
    // Listed by itself, under what it is.
    const std::string list = *ExplainParameters(planned->plan);
    EXPECT_LT(list.find("state[0]['layer0']['w1']"), list.find("optimizer state"));
    EXPECT_GT(list.find("state[1]['layer0']['w1']"), list.find("optimizer state"));
    EXPECT_THAT(*ExplainTensors(planned->plan, "state[1]['layer0']['w1']"),
                ::testing::HasSubstr("optimizer state of state[0]['layer0']['w1']"));
  }
}

}  // namespace
}  // namespace meshwright
