// What another placement would cost in a pipeline: the stages that have the parameter are planned
// anew, everything else stays.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/cost/liveness.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/explain/why_not.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/plan/annotate/apply_plan.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/stage_lists.h"
#include "meshwright/plan/make/to_plan.h"
#include "tests/intra/brute_force.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kParts = 2;  // micro-batches

// `layers` products of a batch of samples with weights, what lies between them chosen at random.
std::string RandomChain(std::mt19937_64& random, int layers) {
  std::string text =
      "HloModule chain\n"
      "ENTRY e {\n"
      "  x = f32[8,16] parameter(0), metadata={op_name=\"data\"}\n";
  for (int l = 0; l < layers; ++l) {
    absl::StrAppend(&text, "  w", l, " = f32[16,16] parameter(", l + 1, "), metadata={op_name=\"w[",
                    l, "]\"}\n");
  }
  std::string last = "x";
  for (int l = 0; l < layers; ++l) {
    const int contracted = static_cast<int>(random() % 2);
    absl::StrAppend(&text, "  dot.", l, " = f32[8,16] dot(", last, ", w", l,
                    "), lhs_contracting_dims={1}, rhs_contracting_dims={", contracted, "}\n");
    last = absl::StrCat("dot.", l);
    for (uint64_t n = random() % 3; n > 0; --n) {
      const char* const kUnary[] = {"tanh", "negate", "exponential"};
      const std::string name = absl::StrCat("u.", l, ".", n);
      absl::StrAppend(&text, "  ", name, " = f32[8,16] ", kUnary[random() % 3], "(", last, ")\n");
      last = name;
    }
  }
  return absl::StrCat(text, "  ROOT r = f32[8,16] tanh(", last, ")\n}\n");
}

absl::StatusOr<PipelinedProgram> PlanTwoStages(const std::string& path, int layers) {
  ProgramRequest request;
  request.program = path;
  request.cluster = "4xv100";
  request.cost_model = "roofline";
  request.memory.kind = MemoryBudget::Kind::kUnlimited;
  request.mesh = "2";
  request.pipeline.wanted = true;
  request.pipeline.stages = 2;
  request.pipeline.micro_batches = kParts;
  request.pipeline.schedule = "1f1b";
  request.pipeline.data = {"data"};
  request.pipeline.layers = layers;
  return PlanPipelinedProgram(request);
}

// Seconds of one micro-batch of stage `i`, by trying everything: what crosses is kept as planned,
// and parameter `p` as `forced`.
double BruteForceStage(const PipelinedProgram& planned, size_t i, size_t p,
                       const Sharding& forced) {
  const PipelineStage& stage = planned.pipeline.stages[i];
  const ProgramSlice& slice = *stage.slice;
  const RooflineCostModel cost_model(stage.mesh);
  const FusionInfo fusion = AnalyzeFusion(slice.graph);
  const std::vector<Interval> intervals =
      Liveness(slice.graph, fusion, ScheduleForMemory(slice.graph, fusion));
  std::map<size_t, Sharding> inputs = {{p, forced}}, outputs;
  const auto crosses = [](SliceRole role) {
    return role == SliceRole::kActivation || role == SliceRole::kGradient;
  };
  for (size_t k = 0; k < slice.inputs.size(); ++k) {
    if (crosses(slice.inputs[k].role))
      inputs[k] =
          *ToSharding(planned.plan.pipeline->stages[i].program.parameters[k].spec, stage.mesh);
  }
  for (size_t k = 0; k < slice.outputs.size(); ++k) {
    if (crosses(slice.outputs[k].role))
      outputs[k] =
          *ToSharding(planned.plan.pipeline->stages[i].program.outputs[k].spec, stage.mesh);
  }
  return *BruteForce(slice.graph, cost_model, fusion, intervals, solve::kUnlimited, inputs,
                     outputs);
}

// Two stages one after the other, forward only.
double StepOf(double first, double second, double send) {
  double first_ends = 0, link_free = 0, second_ends = 0;
  for (int64_t part = 0; part < kParts; ++part) {
    first_ends += first;
    link_free = std::max(link_free, first_ends) + send;
    second_ends = std::max(second_ends, link_free) + second;
  }
  return second_ends;
}

TEST(WhyNotPipelines, EqualsBruteForceOnRandomPrograms) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  std::map<WhyNot::Verdict, int> verdicts;
  for (int seed = 0; seed < 24; ++seed) {
    std::mt19937_64 random(seed);
    const std::string path = testing::TempDir() + "/chain.hlo";
    const int layers = 2 + seed % 3;
    std::ofstream(path) << RandomChain(random, layers);
    const absl::StatusOr<PipelinedProgram> planned = PlanTwoStages(path, layers);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const Plan& plan = planned->plan;
    ASSERT_EQ(plan.pipeline->stages.size(), 2u);
    ASSERT_EQ(plan.pipeline->cross_stage.size(), 1u);
    for (size_t i = 0; i < plan.pipeline->stages.size(); ++i) {
      const std::vector<PlanTensor> parameters = ParametersOfStage(plan, i);
      const PipelineStage& stage = planned->pipeline.stages[i];
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (stage.slice->inputs[p].role != SliceRole::kState &&
            stage.slice->inputs[p].role != SliceRole::kData)
          continue;
        for (const char* const spec : {"[_,_]", "[x,_]", "[_,x]"}) {
          SCOPED_TRACE(absl::StrCat("seed ", seed, " stage ", i, " ", parameters[p].name, spec));
          const absl::StatusOr<WhyNot> answer =
              AskWhyNot(plan, {{absl::StrCat(parameters[p].name, "=", spec)}, "", nullptr});
          ASSERT_TRUE(answer.ok()) << answer.status();
          ++verdicts[answer->verdict];
          const double forced =
              BruteForceStage(*planned, i, p, *ParseSharding(spec, stage.mesh, 2));
          const double others = plan.pipeline->stages[1 - i].seconds.forward;
          const double step = StepOf(i == 0 ? forced : others, i == 0 ? others : forced,
                                     plan.pipeline->cross_stage[0].seconds);
          if (answer->verdict == WhyNot::Verdict::kChosen) {
            EXPECT_NEAR(plan.objective_seconds, step, 1e-10);
            continue;
          }
          ASSERT_TRUE(answer->plan.has_value()) << answer->reason;
          EXPECT_NEAR(answer->plan->objective_seconds, step, 1e-10);
          EXPECT_EQ(answer->verdict == WhyNot::Verdict::kWorse,
                    step > plan.objective_seconds + 1e-10);
          EXPECT_EQ(ParametersOfStage(*answer->plan, i)[p].spec,
                    ToSpec(*ParseSharding(spec, stage.mesh, 2), stage.mesh));
        }
      }
    }
  }
  EXPECT_GT(verdicts[WhyNot::Verdict::kWorse], 20);
  EXPECT_GT(verdicts[WhyNot::Verdict::kChosen], 20);
  EXPECT_EQ(verdicts[WhyNot::Verdict::kUnavailable], 0);
}

absl::StatusOr<Plan> PlanGptStages(const std::string& memory) {
  ProgramRequest request;
  request.program = HloData("tiny_gpt.train.hlo.txt.gz");
  request.cluster = "4xh100-sxm";
  request.cost_model = "roofline";
  request.mesh = "2";
  if (!memory.empty()) request.memory = {MemoryBudget::Kind::kBytes, std::stoll(memory)};
  request.pipeline.wanted = true;
  request.pipeline.stages = 2;
  request.pipeline.micro_batches = 4;
  absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  if (!planned.ok()) return planned.status();
  if (!planned->pipeline.fits) return absl::InternalError("nothing fits");
  return std::move(planned->plan);
}

// Only the stages that have the parameter change, the document stays one that reads, and what the
// answer adds up to is said.
TEST(WhyNotPipelines, KeepsTheCutAndAllOtherStages) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const std::string memory : {"", "5242880"}) {
    SCOPED_TRACE(memory);
    const absl::StatusOr<Plan> plan = PlanGptStages(memory);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const WhyNotRequest request = {{"state[0]['layer0']['w1']=[x,_]"}, "", nullptr};
    const absl::StatusOr<WhyNot> answer = AskWhyNot(*plan, request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_TRUE(answer->plan.has_value()) << answer->reason;
    const Plan& forced = *answer->plan;
    EXPECT_EQ(forced.pipeline->stages[1], plan->pipeline->stages[1]);
    EXPECT_EQ(forced.pipeline->cross_stage, plan->pipeline->cross_stage);
    EXPECT_EQ(forced.pipeline->stages[0].first_layer, plan->pipeline->stages[0].first_layer);
    EXPECT_EQ(forced.pipeline->stages[0].end_layer, plan->pipeline->stages[0].end_layer);
    bool found = false;
    for (const PlanTensor& one : forced.pipeline->stages[0].program.parameters) {
      if (one.name != "state[0]['layer0']['w1']") continue;
      found = true;
      EXPECT_EQ(one.spec, PlanSpec({{"x"}, {}}));
    }
    EXPECT_TRUE(found);
    const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(forced), "forced.json");
    ASSERT_TRUE(read.ok()) << read.status();
    const std::string text = WhyNotText(*plan, request, *answer);
    EXPECT_THAT(text, HasSubstr("stage 0 is planned anew; the cut into stages"));
    EXPECT_THAT(WhyNotJson(*plan, request, *answer), HasSubstr("\"kept\": \"stage 0 is"));
  }
}

// The same specs as in the plan give the same plan; of alike stages one may change alone.
TEST(WhyNotPipelines, AlikeStagesChangeOneByOne) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const absl::StatusOr<PipelinedProgram> planned = [] {
    ProgramRequest request;
    request.program = HloData("moe_gshard_16.train.hlo.txt.gz");
    request.cluster = "2x8xh100-sxm";
    request.cost_model = "roofline";
    request.mesh = "2";
    request.pipeline.wanted = true;
    request.pipeline.stages = 8;
    request.pipeline.micro_batches = 2;
    return PlanPipelinedProgram(request);
  }();
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Plan& plan = planned->plan;
  const auto same = std::find_if(plan.pipeline->stages.begin(), plan.pipeline->stages.end(),
                                 [](const PlanStage& s) { return s.same_as.has_value(); });
  ASSERT_NE(same, plan.pipeline->stages.end());
  const auto i = static_cast<size_t>(same - plan.pipeline->stages.begin());
  const auto listed = static_cast<size_t>(*same->same_as);
  for (const size_t changed : {listed, i}) {
    const std::vector<PlanTensor> parameters = ParametersOfStage(plan, changed);
    const auto weight = std::find_if(parameters.begin(), parameters.end(), [](const auto& one) {
      return one.shape.size() == 2 && one.category == MemoryCategory::kParameters;
    });
    ASSERT_NE(weight, parameters.end());
    for (const char* const spec : {"[_,_]", "[x,_]", "[_,x]"}) {
      const absl::StatusOr<WhyNot> answer =
          AskWhyNot(plan, {{absl::StrCat(weight->name, "=", spec)}, "", nullptr});
      ASSERT_TRUE(answer.ok()) << answer.status();
      if (answer->verdict == WhyNot::Verdict::kChosen) continue;
      const Plan& forced = *answer->plan;
      const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(forced), "forced.json");
      ASSERT_TRUE(read.ok()) << read.status();
      const size_t other = changed == i ? listed : i;
      EXPECT_EQ(ParametersOfStage(forced, other), ParametersOfStage(plan, other));
      EXPECT_EQ(OutputsOfStage(forced, other), OutputsOfStage(plan, other));
      EXPECT_EQ(forced.pipeline->stages[other].seconds, plan.pipeline->stages[other].seconds);
      EXPECT_NE(ParametersOfStage(forced, changed), parameters);
    }
  }
}

// As in a plan of one stage, a pattern is for what has the dimensions.
TEST(WhyNotPipelines, PatternsLeaveOtherRanksAlone) {
  const std::string path = testing::TempDir() + "/ranks.hlo";
  std::ofstream(path) << "HloModule chain\n"
                         "ENTRY e {\n"
                         "  x = f32[8,16] parameter(0), metadata={op_name=\"data\"}\n"
                         "  w0 = f32[16,16] parameter(1), metadata={op_name=\"w0\"}\n"
                         "  w1 = f32[16,16] parameter(2), metadata={op_name=\"w1\"}\n"
                         "  wb = f32[16] parameter(3), metadata={op_name=\"wb\"}\n"
                         "  d0 = f32[8,16] dot(x, w0), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n"
                         "  b = f32[8,16] broadcast(wb), dimensions={1}\n"
                         "  a = f32[8,16] add(d0, b)\n"
                         "  ROOT d1 = f32[8,16] dot(a, w1), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n}\n";
  const absl::StatusOr<PipelinedProgram> planned = PlanTwoStages(path, 2);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Plan& plan = planned->plan;
  const auto spec_of = [](const Plan& of, std::string_view name) {
    for (size_t i = 0; i < of.pipeline->stages.size(); ++i) {
      for (const PlanTensor& one : ParametersOfStage(of, i)) {
        if (one.name == name) return one.spec;
      }
    }
    return PlanSpec{{"none"}};
  };
  const absl::StatusOr<WhyNot> answer = AskWhyNot(plan, {{"w*=[_,x]"}, "", nullptr});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Plan& asked = answer->plan.has_value() ? *answer->plan : plan;
  for (const char* const name : {"w0", "w1"}) {
    EXPECT_EQ(spec_of(asked, name), PlanSpec({{}, {"x"}})) << name;
  }
  EXPECT_EQ(spec_of(asked, "wb").size(), 1u);
  EXPECT_THAT(
      answer->partly_applied,
      testing::ElementsAre("--why-not (w*=[_,x]): applied to 2 of 3 that it matches; left as "
                           "they were, with fewer dimensions than the sharding: wb f32[16]"));
  for (const char* const fix : {"wb=[_,x]", "*b=[_,x]"}) {
    EXPECT_THAT(std::string(AskWhyNot(plan, {{fix}, "", nullptr}).status().message()),
                AllOf(HasSubstr("wb f32[16], on stage "), HasSubstr("2"), HasSubstr("dimension")))
        << fix;
  }
  EXPECT_THAT(std::string(AskWhyNot(plan, {{"w*=[_,q]"}, "", nullptr}).status().message()),
              HasSubstr("no axis 'q'"));
}

TEST(WhyNotPipelines, ErrorsSayWhatWouldWork) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const absl::StatusOr<Plan> plan = PlanGptStages("");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto message = [&](const std::string& fix) {
    const absl::StatusOr<WhyNot> answer = AskWhyNot(*plan, {{fix}, "", nullptr});
    return answer.ok() ? "ok" : std::string(answer.status().message());
  };
  EXPECT_THAT(message("state[0]['layer0']['w9']=[x,_]"),
              HasSubstr("matches no parameter of a stage; the nearest is state[0]['layer0']['w"));
  EXPECT_THAT(message("state[0]['layer0']['w1']=[q,_]"), HasSubstr("on stage 0: "));
  std::string received;
  for (const PlanTensor& one : plan->pipeline->stages[1].program.parameters) {
    if (one.category == MemoryCategory::kInputs && one.name.find("lab") == std::string::npos)
      received = one.name;
  }
  ASSERT_FALSE(received.empty());
  EXPECT_THAT(message(received + "=[x,_,_]"), HasSubstr("is handed from stage to stage"));
  const absl::StatusOr<WhyNot> odd = AskWhyNot(*plan, {{"state[3]=[x]"}, "", nullptr});
  EXPECT_FALSE(odd.ok());
}

}  // namespace
}  // namespace meshwright
