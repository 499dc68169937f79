#include "meshwright/explain/why_not.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/intra/names.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/text/plan_table.h"
#include "tests/intra/all_choices.h"
#include "tests/intra/random_program.h"
#include "tests/intra/test_program.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

std::string WriteFile(const std::string& name, const std::string& contents) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << contents;
  return path;
}

absl::StatusOr<PlannedProgram> PlanFile(const std::string& path, const std::string& cluster,
                                        const std::string& mesh) {
  ProgramRequest request;
  request.program = path;
  request.cluster = cluster;
  request.mesh = mesh;
  request.cost_model = "roofline";
  request.memory.kind = MemoryBudget::Kind::kUnlimited;
  return PlanProgram(request);
}

absl::StatusOr<PlannedProgram> PlanMlp() {
  return PlanFile(HloData("mlp_4096x4.train.hlo.txt.gz"), "8xh100-sxm", "2x4");
}

absl::StatusOr<WhyNot> Ask(const Plan& plan, const std::string& fix) {
  return AskWhyNot(plan, {{fix}, "", nullptr});
}

// The shortest step of all choices that store parameter `p` as told. nullopt: there are too many.
std::optional<double> ShortestStep(const Graph& graph, const CostModel& cost_model,
                                   std::optional<int32_t> p = {}, const Sharding& stored = {}) {
  constexpr double kMostChoices = 3'000;
  const auto prepared = PreparedProblem::Make(graph, cost_model, {});
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  if (ChoicesOf((*prepared)->problem()) > kMostChoices) return std::nullopt;
  if (p.has_value()) {
    EXPECT_TRUE((*prepared)->ForceParameter(*p, stored));
  }
  double least = std::numeric_limits<double>::infinity();
  ForEachAllowed(
      **prepared, *cost_model.overlap(),
      [&](const std::vector<int32_t>&, double seconds) { least = std::min(least, seconds); });
  return least;
}

// Every sharding of every parameter of small random programs: the forced plan's step is as short as
// any that stores the parameter like that, and the verdict is that of trying everything.
TEST(WhyNot, EqualsBruteForceOnRandomPrograms) {
  constexpr int kPrograms = RandomCases(80);
  const RooflineCostModel cost_model(TestMesh("2", "2xv100"));
  std::map<WhyNot::Verdict, int> verdicts;
  int asked = 0;
  for (int seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(seed);
    const std::string text = RandomProgram(random, 1 + seed % 7);
    const TestProgram program = ProgramFromText(text);
    const std::optional<double> best = ShortestStep(program.graph, cost_model);
    if (!best.has_value()) continue;
    const std::string path = WriteFile("why_not.hlo", text);
    const absl::StatusOr<PlannedProgram> planned = PlanFile(path, "2xv100", "2");
    ASSERT_TRUE(planned.ok()) << planned.status();
    for (size_t p = 0; p < program.graph.parameters.size(); ++p) {
      const Op& parameter = program.graph[program.graph.parameters[p]];
      const int64_t rank = program.graph[parameter.results[0]].shape.rank();
      for (int64_t cut = -1; cut < rank; ++cut) {
        std::vector<std::string> dims(rank, "_");
        if (cut >= 0) dims[cut] = "x";
        const std::string fix =
            absl::StrCat(ParameterName(program.graph, program.graph.parameters[p]), "=[",
                         absl::StrJoin(dims, ","), "]");
        SCOPED_TRACE(absl::StrCat("seed ", seed, " ", fix));
        Sharding forced = Sharding::Replicated(rank);
        if (cut >= 0) forced.dims[cut] = {0};
        const std::optional<double> with =
            ShortestStep(program.graph, cost_model, static_cast<int32_t>(p), forced);
        ASSERT_TRUE(with.has_value());
        const absl::StatusOr<WhyNot> answer = Ask(planned->plan, fix);
        ASSERT_TRUE(answer.ok()) << answer.status();
        ASSERT_TRUE(answer->plan.has_value()) << answer->reason;
        // Costs are rounded to picoseconds.
        EXPECT_NEAR(answer->plan->objective_seconds, *with, 5e-11);
        const bool worse = *with > *best + 1e-10;
        EXPECT_EQ(answer->verdict == WhyNot::Verdict::kWorse, worse);
        ++verdicts[answer->verdict];
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, RandomCases(100));
  EXPECT_GT(verdicts[WhyNot::Verdict::kWorse], RandomCases(20));
  EXPECT_GT(verdicts[WhyNot::Verdict::kChosen], RandomCases(20));
  EXPECT_EQ(verdicts[WhyNot::Verdict::kUnavailable], 0);
}

// The causes add up to the difference.
TEST(WhyNot, SaysWhatTheAlternativeCosts) {
  const absl::StatusOr<PlannedProgram> planned = PlanMlp();
  ASSERT_TRUE(planned.ok()) << planned.status();
  const absl::StatusOr<WhyNot> answer = Ask(planned->plan, "p[*]=[_,_]");
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(answer->plan.has_value());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answer->plan->program.parameters[i].spec, PlanSpec({{}, {}}));
  }
  const WhyNotRequest request = {{"p[*]=[_,_]"}, "", nullptr};
  const std::string text = WhyNotText(planned->plan, request, *answer);
  const nlohmann::json json = nlohmann::json::parse(WhyNotJson(planned->plan, request, *answer));
  EXPECT_EQ(json["forced_objective_seconds"], answer->plan->objective_seconds);
  double compute = 0, communication = 0;
  for (const auto& one : json["difference"]["seconds"]) {
    const double change = one["after"].get<double>() - one["before"].get<double>();
    if (one["what"] == "compute") compute = change;
    if (one["what"] == "communication") communication = change;
  }
  double collectives = 0;
  for (const auto& one : json["difference"]["collectives"])
    collectives += one["seconds_after"].get<double>() - one["seconds_before"].get<double>();
  EXPECT_NEAR(collectives, communication, 1e-12);
  EXPECT_NEAR(compute + communication, SerialSeconds(*answer->plan) - SerialSeconds(planned->plan),
              1e-12);
  EXPECT_THAT(text,
              HasSubstr(answer->verdict == WhyNot::Verdict::kWorse ? "it is slower by" : "it is"));
}

TEST(WhyNot, WhatThePlanDoesIsChosen) {
  const absl::StatusOr<PlannedProgram> planned = PlanMlp();
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::string spec = "[";
  for (const auto& axes : planned->plan.program.parameters[0].spec)
    absl::StrAppend(&spec, spec == "[" ? "" : ",",
                    axes.empty() ? "_" : absl::StrCat("(", absl::StrJoin(axes, ","), ")"));
  const absl::StatusOr<WhyNot> answer = Ask(planned->plan, "p[0]=" + spec + "]");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->verdict, WhyNot::Verdict::kChosen);
}

TEST(WhyNot, WhatDoesNotDivideCannotBeHad) {
  const std::string path = WriteFile("odd.hlo",
                                     "HloModule odd\n"
                                     "ENTRY e {\n"
                                     "  p0 = f32[6,8] parameter(0)\n"
                                     "  ROOT n = f32[6,8] negate(p0)\n"
                                     "}\n");
  const absl::StatusOr<PlannedProgram> planned = PlanFile(path, "4xv100", "4");
  ASSERT_TRUE(planned.ok()) << planned.status();
  const absl::StatusOr<WhyNot> answer = Ask(planned->plan, "p0=[x,_]");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->verdict, WhyNot::Verdict::kUnavailable);
  EXPECT_THAT(answer->reason, HasSubstr("dimension 0 of size 6 does not divide into 4 shards"));
  EXPECT_THAT(WhyNotText(planned->plan, {{"p0=[x,_]"}, "", nullptr}, *answer),
              HasSubstr("it cannot be had"));
}

// As with --fix, a pattern is for what has the dimensions.
TEST(WhyNot, PatternsLeaveOtherRanksAlone) {
  const std::string path = WriteFile("ranks.hlo",
                                     "HloModule ranks\n"
                                     "ENTRY e {\n"
                                     "  p0 = f32[8,8] parameter(0)\n"
                                     "  p1 = f32[8] parameter(1)\n"
                                     "  b = f32[8,8] broadcast(p1), dimensions={1}\n"
                                     "  ROOT a = f32[8,8] add(p0, b)\n"
                                     "}\n");
  const absl::StatusOr<PlannedProgram> planned = PlanFile(path, "4xv100", "4");
  ASSERT_TRUE(planned.ok()) << planned.status();
  const absl::StatusOr<WhyNot> answer = Ask(planned->plan, "p*=[_,x]");
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(answer->plan.has_value()) << answer->reason;
  EXPECT_EQ(answer->plan->program.parameters[0].spec, PlanSpec({{}, {"x"}}));
  EXPECT_THAT(
      answer->partly_applied,
      testing::ElementsAre("--why-not (p*=[_,x]): applied to 1 of 2 that it matches; left as "
                           "they were, with fewer dimensions than the sharding: p1 f32[8]"));
  EXPECT_THAT(WhyNotText(planned->plan, {{"p*=[_,x]"}, "", nullptr}, *answer),
              HasSubstr("applied to 1 of 2 that it matches"));
  EXPECT_TRUE(Ask(planned->plan, "p0=[_,x]")->partly_applied.empty());
  for (const char* const fix : {"p1=[_,x]", "*1=[_,x]"}) {
    EXPECT_THAT(std::string(Ask(planned->plan, fix).status().message()),
                HasSubstr("p1 f32[8]: sharding '[_,x]'"));
  }
}

TEST(WhyNot, WhatTakesTooMuchMemoryDoesNotFit) {
  ProgramRequest request;
  request.program = HloData("mlp_4096x4.train.hlo.txt.gz");
  request.cluster = "8xh100-sxm";
  request.mesh = "8";
  request.cost_model = "roofline";
  request.memory = {MemoryBudget::Kind::kBytes, int64_t{200} << 20};
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_TRUE(planned->intra.fits);
  const absl::StatusOr<WhyNot> answer = Ask(planned->plan, "p[*]=[_,_]");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->verdict, WhyNot::Verdict::kDoesNotFit);
  EXPECT_THAT(answer->reason, HasSubstr("nothing fits into 200 MiB a device"));
}

TEST(WhyNot, ErrorsSayWhatIsWrong) {
  const absl::StatusOr<PlannedProgram> planned = PlanMlp();
  ASSERT_TRUE(planned.ok()) << planned.status();
  Plan plan = planned->plan;
  const auto message = [](const Plan& plan, const std::string& fix, const std::string& program) {
    const absl::StatusOr<WhyNot> answer = AskWhyNot(plan, {{fix}, program, nullptr});
    return answer.ok() ? "ok" : std::string(answer.status().message());
  };
  EXPECT_THAT(message(plan, "q[0]=[x,_]", ""), HasSubstr("\"q[0]\" matches no parameter"));
  EXPECT_THAT(message(plan, "p[0]=[q,_]", ""), HasSubstr("--why-not (p[0]=[q,_])"));
  EXPECT_THAT(message(plan, "p[0]", ""), HasSubstr("--why-not"));
  EXPECT_THAT(message(plan, "p[0]=[x,_]", HloData("tiny_gpt.train.hlo.txt.gz")),
              HasSubstr("is not the program that the plan was made from"));
  EXPECT_THAT(message(plan, "p[0]=[x,_]", "/nowhere"), HasSubstr("/nowhere"));
  plan.inputs[0].path = "-";
  EXPECT_THAT(message(plan, "p[0]=[x,_]", ""), HasSubstr("give the program with --program"));
  plan.options.memory = "lots";
  EXPECT_THAT(message(plan, "p[0]=[x,_]", ""),
              HasSubstr("options of the plan: --memory: \"lots\""));
}

}  // namespace
}  // namespace meshwright
