// Every screen fits a terminal, whatever the plan and whatever its names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cwchar>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/columns.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/plan_difference.h"
#include "meshwright/explain/why_not.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/plan/document/sample_plan.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

// Columns of a line by the C library's tables; -1 if it has a character that is not printed.
int WidthByLibc(const std::string& line) {
  std::mbstate_t state = {};
  int width = 0;
  for (size_t at = 0; at < line.size();) {
    wchar_t letter = 0;
    const size_t bytes = std::mbrtowc(&letter, line.data() + at, line.size() - at, &state);
    if (bytes == 0 || bytes > line.size()) return -1;
    const int letter_width = wcwidth(letter);
    if (letter_width < 0) return -1;
    width += letter_width;
    at += bytes;
  }
  return width;
}

void ExpectFits(const std::string& text) {
  ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.back(), '\n');
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const int width = WidthByLibc(line);
    EXPECT_TRUE(width >= 0 && width <= static_cast<int>(kColumns)) << width << ": " << line;
    EXPECT_EQ(line, std::string(absl::StripTrailingAsciiWhitespace(line)));
  }
}

void ExpectAllScreensFit(const Plan& plan, const Plan& other) {
  ExpectFits(ExplainPlan(plan));
  if (!plan.of_model()) {
    ExpectFits(*ExplainParameters(plan));
    const absl::StatusOr<std::string> tensors = ExplainTensors(plan, "*");
    if (tensors.ok()) ExpectFits(*tensors);
  }
  ExpectFits(DiffText(plan, other, DiffPlans(plan, other)));
  ExpectFits(DiffText(other, plan, DiffPlans(other, plan)));
}

const std::vector<Plan>& RealPlans() {
  static auto* const all = new std::vector<Plan>();
  std::vector<Plan>& plans = *all;
  if (!plans.empty()) return plans;
  ProgramRequest request;
  request.cost_model = "roofline";
  request.cluster = "8xh100-sxm";
  for (const char* program : {"mlp_4096x4.train.hlo.txt.gz", "tiny_gpt.train.hlo.txt.gz"}) {
    request.program = HloData(program);
    for (const char* mesh : {"8", "2x4", "2x2x2"}) {
      request.mesh = mesh;
      const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
      if (planned.ok()) plans.push_back(planned->plan);
    }
  }
  request.program = HloData("pipeline/encoder_decoder.scan.train.hlo.txt.gz");
  request.mesh = "auto";
  request.cluster = "2xh100-sxm";
  request.pipeline.wanted = true;
  request.pipeline.stages = 2;
  request.pipeline.micro_batches = 2;
  const absl::StatusOr<PipelinedProgram> planned = PlanPipelinedProgram(request);
  if (planned.ok()) plans.push_back(planned->plan);
  return plans;
}

TEST(Screens, OfPlansFit) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  std::vector<Plan> plans = RealPlans();
  EXPECT_EQ(plans.size(), 7u);
  for (const Plan& plan : {SamplePlan(), SamplePipelinePlan(), SampleModelPlan(), Plan()})
    plans.push_back(plan);
  for (size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectAllScreensFit(plans[i], plans[(i + 1) % plans.size()]);
  }
}

// Puts `name(old)` in place of every name that a user or a program may choose.
void Rename(Plan& plan, const std::function<std::string(const std::string&)>& name) {
  const auto rename = [&](std::string& old) { old = name(old); };
  const auto tensors = [&](std::vector<PlanTensor>& list) {
    for (PlanTensor& one : list) rename(one.name);
  };
  const auto instructions = [&](std::vector<PlanInstruction>& list) {
    for (PlanInstruction& one : list) {
      rename(one.name);
      for (PlanCollective& collective : one.collective) {
        if (!collective.value.empty()) rename(collective.value);
      }
    }
  };
  for (InputFile& input : plan.inputs) rename(input.path);
  rename(plan.cluster.name);
  for (PlanClusterPart& part : plan.cluster.parts) rename(part.device);
  rename(plan.peak_at);
  for (std::string& fix : plan.options.fixes) rename(fix);
  for (std::string& file : plan.program.source_files) rename(file);
  for (std::string& op : plan.program.op_names) rename(op);
  tensors(plan.program.parameters);
  tensors(plan.program.outputs);
  instructions(plan.program.instructions);
  std::vector<PlanStage> none;
  for (PlanStage& stage : plan.pipeline.has_value() ? plan.pipeline->stages : none) {
    for (std::string& file : stage.program.source_files) rename(file);
    for (std::string& op : stage.program.op_names) rename(op);
    rename(stage.device);
    tensors(stage.program.parameters);
    tensors(stage.program.outputs);
    for (std::string& own : stage.parameter_names) rename(own);
    for (std::string& own : stage.output_names) rename(own);
    instructions(stage.program.instructions);
  }
  if (plan.of_model()) rename(plan.model->model);
}

TEST(Screens, FitWhateverTheNames) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::vector<std::function<std::string(const std::string&)>> renamers = {
      [](const std::string& old) { return old + std::string(10000, 'n'); },
      [](const std::string& old) {
        return "🚀👩‍👩‍👧" + old + "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀";
      },
      [](const std::string& old) {
        return "שכבה/طبقة طويلة جدا جدا جدا جدا/" + old + "/משקל" + old;
      },
      [](const std::string& old) {
        return "층층층층층층층층층층층층층층층층층층층층층층층층" + old;
      },
      [](const std::string& old) { return "\x1b[31m\r\n\t\u202e" + old + "\xff\xfe<b>"; },
      [](const std::string& old) { return ""; },
  };
  std::vector<Plan> plans = RealPlans();
  plans.erase(plans.begin() + 1, plans.begin() + 6);
  for (const Plan& plan : {SamplePlan(), SamplePipelinePlan(), SampleModelPlan()})
    plans.push_back(plan);
  for (size_t r = 0; r < renamers.size(); ++r) {
    for (size_t i = 0; i < plans.size(); ++i) {
      SCOPED_TRACE(absl::StrCat("renamer ", r, " plan ", i));
      Plan renamed = plans[i];
      Rename(renamed, renamers[r]);
      ExpectAllScreensFit(renamed, plans[i]);
    }
  }
}

TEST(Screens, FitWithAxesOfLongNames) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  ProgramRequest request;
  request.program = HloData("tiny_gpt.train.hlo.txt.gz");
  request.cluster = "8xh100-sxm";
  request.cost_model = "roofline";
  const std::string a(32, 'a'), b(32, 'b'), c(30, 'c');
  request.mesh = absl::StrCat(a, "=2,", b, "=2,", c, "=2");
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  ExpectAllScreensFit(planned->plan, SamplePlan());
  // Plans of other tools may have any.
  const std::string text = absl::StrReplaceAll(
      PlanToJson(SamplePipelinePlan()),
      {{"\"x\"", absl::StrCat("\"🚀\\u202e\\u001b", std::string(300, 'x'), "\"")}});
  const absl::StatusOr<Plan> read = ParsePlanJson(text, "p.json");
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectAllScreensFit(*read, SamplePlan());
}

// Whatever a reader lets through can be explained.
TEST(Screens, OfEveryPlanThatReadsFit) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  constexpr uint64_t kSeed = 4711;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  int explained = 0;
  for (const Plan& sample : {SamplePlan(), SamplePipelinePlan(), SampleModelPlan()}) {
    const std::string text = PlanToJson(sample);
    for (int i = 0; i < 1500; ++i) {
      std::string damaged = text;
      for (uint64_t n = 1 + random() % 2; n > 0; --n) {
        const size_t at = random() % damaged.size();
        // Digits, brackets and letters of other places: more of these read than of random bytes.
        damaged[at] = text[random() % text.size()];
        if (damaged[at] >= '0' && damaged[at] <= '9' && random() % 2 == 0)
          damaged.insert(at, "9223372036854775");
      }
      const absl::StatusOr<Plan> read = ParsePlanJson(damaged, "p.json");
      if (!read.ok()) continue;
      ++explained;
      ExpectAllScreensFit(*read, sample);
      if (!read->of_model()) ExplainParametersJson(*read).IgnoreError();
      ExplainPlanJson(*read);
    }
  }
  EXPECT_GT(explained, 100);
}

TEST(Screens, MalformedPlansGiveOneClearError) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "p.json: not valid JSON"},
      {"[]", "p.json: $: found a list, expected an object"},
      {"{}", "p.json: $: the key \"schema\" is missing"},
      {R"({"schema": 5})", "p.json: $.schema: found version 5; this program reads version 13 only"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_THAT(std::string(ParsePlanJson(text, "p.json").status().message()),
                testing::HasSubstr(message));
}

TEST(ExplainTensors, Errors) {
  EXPECT_THAT(std::string(ExplainTensors(SamplePlan(), "dot").status().message()),
              testing::HasSubstr("\"dot\" matches no parameter, output or instruction of the plan; "
                                 "nearest: dot.1"));
  EXPECT_THAT(std::string(ExplainTensors(SampleModelPlan(), "*").status().message()),
              testing::HasSubstr("made from a model"));
  EXPECT_THAT(std::string(ExplainParameters(SampleModelPlan()).status().message()),
              testing::HasSubstr("made from a model"));
}

}  // namespace
}  // namespace meshwright
