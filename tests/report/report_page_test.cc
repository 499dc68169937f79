#include "meshwright/report/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/csv.h"
#include "meshwright/explain/explain.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/plan/text/step_account.h"
#include "meshwright/report/csv_tables.h"
#include "meshwright/report/headline.h"
#include "tests/plan/document/sample_plan.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using PageJson = nlohmann::json;

// A pipeline over two groups of nodes, with the front that it is on.
Plan SampleGroupsPlan() {
  Plan plan = SampleModelPlan();
  plan.cluster.parts = {{"h100-sxm", 1, 4, int64_t{80} << 30}, {"l40s", 2, 2, int64_t{48} << 30}};
  plan.pipeline.emplace().schedule = "1f1b";
  plan.mesh = {{"pp", 2}};
  for (int64_t s = 0; s < 2; ++s) {
    PlanStage& stage = plan.pipeline->stages.emplace_back();
    stage.first_layer = s;
    stage.end_layer = s + 1;
    stage.device = s == 0 ? "h100-sxm" : "l40s";
    stage.budget_bytes = int64_t{40} << 30;
    for (int64_t d = 0; d < 4; ++d) stage.devices.push_back(4 * s + d);
    stage.mesh = {{"dp", 2}, {"tp", 2}};
    stage.seconds = {0.01, 0.02, 0, 0.005};
    stage.bytes = {100, 10, 120, 120};
    stage.max_in_flight = 2;
  }
  plan.pipeline->cross_stage = {{0, 1, Phase::kForward, 4096, 1e-5},
                                {1, 0, Phase::kBackward, 4096, 1e-5}};
  PlanTransformer& model = *plan.model;
  model.objective = ModelObjective::kPareto;
  model.goodput.reset();
  PlanOverGroups& over = plan.groups.emplace();
  over.groups = {{"fast", "h100-sxm", 1, 4, 1, 1, 2, 2, 1, 16.0},
                 {"slow", "l40s", 3, 2, 2, 1, 2, 2, 1, 4.0},
                 {"spare", "l40s", 1, 2, 0, 0, 0, 0, 0, std::nullopt}};
  over.stage_groups = {0, 1};
  over.steps = 1e6;
  over.step_dollars = 0.01;
  over.choices = {{{1, 2, 0}, 2, 0.01, "pp=2", false, true, std::nullopt, {0, 1}, {1, 1}},
                  {{0, 2, 0}, 4, 0.005, "pp=1", false, true, std::nullopt, {1}, {2}},
                  {{0, 1, 0}, 9, 0.1, "", true, false, 1, {}, {}}};
  return plan;
}

ReportDocuments AllKinds() {
  ReportDocuments documents;
  documents.plans = {{"one.json", SamplePlan()},
                     {"pipeline.json", SamplePipelinePlan()},
                     {"model.json", SampleModelPlan()},
                     {"groups.json", SampleGroupsPlan()}};
  documents.sweeps = {{"sweep.csv", {{8, 64, 4096, "tp=8", 1, 2, 3, 4, 5}}}};
  documents.verifications = {
      {"v.json", "p", "d", true, {{"memory", "ok", "1", "2", "", {}, 1, 2}}}};
  return documents;
}

TEST(ReportData, HoldsEveryDocument) {
  const PageJson data = PageJson::parse(ReportData(AllKinds()));
  ASSERT_EQ(data["plans"].size(), 4);
  EXPECT_EQ(data["sweeps"][0]["rows"][0]["gpus"], 8);
  EXPECT_EQ(data["sweeps"][0]["axis"], "gpus");
  EXPECT_EQ(data["verifications"][0]["checks"][0]["measured_value"], 2);
  const PageJson& program = data["plans"][0]["programs"][0];
  EXPECT_EQ(program["instructions"]["name"], PageJson({"dot.1", "sort.1"}));
  EXPECT_EQ(program["sources"], PageJson({"train.py:17"}));
  EXPECT_EQ(program["instructions"]["source"], PageJson({0, -1}));
  EXPECT_EQ(program["moves"][0]["value"], -1);  // "w" is no instruction
  EXPECT_EQ(program["memory"].size(), 2);
  // dot.1 runs from 0.25 to 0.75 s, sort.1 takes no time, and the collective is done at 0.25 s.
  EXPECT_EQ(program["step"]["end"], 0.75);
  EXPECT_EQ(program["step"]["start"], PageJson({3333333, 0}));
  EXPECT_EQ(program["step"]["runs"],
            PageJson({{"start", {0}}, {"end", {3333333}}, {"moves", {{0}}}}));
  const PageJson& pipeline = data["plans"][1];
  EXPECT_EQ(pipeline["programs"].size(), 1);
  EXPECT_EQ(pipeline["stages"][1]["program"], 0);
  EXPECT_EQ(pipeline["timeline"]["group"].size(), pipeline["timeline"]["all_tasks"]);
  EXPECT_EQ(data["plans"][2]["transformer"]["alternatives"].size(), 1);
  EXPECT_TRUE(data["plans"][2]["timeline"].is_null());
}

// An operator that a plan of collectives needs.
PlanInstruction Summed(const std::string& name, int64_t line, std::vector<std::string> partial) {
  PlanInstruction dot;
  dot.name = name;
  dot.opcode = PlanOpcode::kDot;
  dot.type = {"f32", {4, 8}};
  dot.op_name = 0;
  dot.source = {1, line};
  dot.spec = {{"x"}, {}};
  dot.strategy = "m=x";
  dot.pending_axes = std::move(partial);
  return dot;
}

// A row for every place in the source, and the operator that makes the sum, not the one that the
// collective waits for.
TEST(ReportData, DearestCollectivesAreThoseOfExplain) {
  Plan plan = SamplePlan();
  plan.program.instructions = {Summed("dot.1", 59, {"x"}), Summed("dot.2", 60, {"x"}),
                               Summed("dot.3", 60, {"x"}), Summed("transpose.4", 99, {})};
  plan.program.instructions[3].collective = {{"all-reduce", {"x"}, 1, 64, 0.25, "dot.1"},
                                             {"all-reduce", {"x"}, 1, 64, 0.375, "dot.2"},
                                             {"all-reduce", {"x"}, 1, 64, 0.5, "dot.3"}};
  ReportDocuments documents;
  documents.plans = {{"p.json", plan}};
  const PageJson program = PageJson::parse(ReportData(documents))["plans"][0]["programs"][0],
                 part = PageJson::parse(ExplainPlanJson(plan))["parts"][0];
  const PageJson& expensive = program["most_expensive"];
  ASSERT_EQ(expensive.size(), 2);
  ASSERT_EQ(part["collectives"].size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    const PageJson& collective = expensive[i]["collective"];
    EXPECT_EQ(collective["kind"], part["collectives"][i]["kind"]);
    EXPECT_EQ(collective["seconds"], part["collectives"][i]["seconds"]);
    for (const char* const key : {"cause", "source", "places", "phase"})
      EXPECT_EQ(expensive[i][key], part["collectives"][i][key]);
  }
  EXPECT_EQ(expensive[0]["source"], "train.py:60");
  EXPECT_EQ(expensive[0]["instruction"], 1);
  EXPECT_EQ(expensive[0]["places"], 2);
  EXPECT_EQ(expensive[1]["source"], "train.py:59");
  EXPECT_EQ(expensive[1]["instruction"], 0);
}

// The forward phase of a stage that is recomputed runs twice; the second time is a phase.
TEST(ReportData, PhasesAreThoseOfExplain) {
  Plan plan = SamplePipelinePlan();
  plan.pipeline->stages[0].program.instructions[0].phase = Phase::kForward;
  ReportDocuments documents;
  documents.plans = {{"p.json", plan}};
  const PageJson program = PageJson::parse(ReportData(documents))["plans"][0]["programs"][0];
  EXPECT_EQ(program["recompute"], true);
  ASSERT_EQ(program["phases"].size(), 2);
  EXPECT_EQ(program["phases"][1]["phase"], "recomputation");
  EXPECT_EQ(program["phases"][1]["compute"], 0.125);
}

// Stages over groups of nodes have no operators: nothing is drawn of them, everything else is.
TEST(ReportData, OfAPlanOverGroups) {
  const PageJson plan = PageJson::parse(ReportData(AllKinds()))["plans"][3];
  EXPECT_TRUE(plan["programs"].empty());
  EXPECT_EQ(plan["stages"][1]["program"], -1);
  EXPECT_EQ(plan["stages"][1]["mesh"][0]["name"], "dp");
  EXPECT_FALSE(plan["timeline"].is_null());
  const PageJson& over = plan["transformer"]["over_groups"];
  EXPECT_EQ(over["stage_groups"], PageJson({0, 1}));
  EXPECT_EQ(over["groups"][1]["used_nodes"], 2);
  EXPECT_TRUE(over["groups"][2]["dollars_per_hour"].is_null());
  EXPECT_EQ(over["choices"].size(), 3);
  EXPECT_EQ(over["choices"][1]["dollars"], 0.005);
  EXPECT_EQ(over["choices"][2]["beaten_by"], 1);
  EXPECT_EQ(over["dollars"], 0.01);
}

// What was measured stands beside what the cost model says.
TEST(ReportData, OfAPlanWithAProfile) {
  Plan plan = SamplePlan();
  plan.profile->step = PlanMeasuredStep{0.07, 0.001, 9, 0.08, 4096};
  ReportDocuments documents;
  documents.plans = {{"p.json", plan}, {"other.json", SampleModelPlan()}};
  const PageJson plans = PageJson::parse(ReportData(documents))["plans"];
  const PageJson& profile = plans[0]["profile"];
  EXPECT_EQ(profile["environment"]["device"], "NVIDIA H100");
  EXPECT_EQ(profile["step"]["composed_seconds"], 0.08);
  ASSERT_EQ(profile["segments"].size(), 2);
  EXPECT_EQ(profile["segments"][0]["model_seconds"], 0.02);
  EXPECT_EQ(profile["segments"][1]["basis"], "predicted");
  EXPECT_TRUE(plans[1]["profile"].is_null());
}

TEST(ReportData, OfAModel) {
  const PageJson model = PageJson::parse(ReportData(AllKinds()))["plans"][2]["transformer"];
  EXPECT_TRUE(model["over_groups"].is_null());
  EXPECT_EQ(model["goodput"]["share"], 0.93);
  EXPECT_EQ(model["sizes"]["ep"], 1);
  EXPECT_EQ(model["placement"]["pp"], 2);
  ASSERT_EQ(model["sweep"].size(), 2);
  EXPECT_EQ(model["sweep"][1]["gpus"], 4);
}

// Every column of the operators is as long as the others: the page counts on it.
TEST(ReportData, ColumnsAreEquallyLong) {
  const PageJson data = PageJson::parse(ReportData(AllKinds()));
  for (const PageJson& plan : data["plans"]) {
    for (const PageJson& program : plan["programs"]) {
      const size_t count = program["instructions"]["name"].size();
      for (const auto& [key, column] : program["instructions"].items()) {
        EXPECT_EQ(column.size(), count) << key;
      }
    }
  }
}

TEST(ReportData, NamesAreDataWhateverTheyHold) {
  Plan plan = SamplePlan();
  const std::string hostile = "</script><!--<script>\xe2\x80\xa8\"'&\\\xff\xf0\x9f\x98\x80";
  plan.program.instructions[0].name = hostile;
  plan.cluster.name = hostile;
  plan.warnings = {std::string(10'000, '<')};
  ReportDocuments documents;
  documents.plans = {{hostile, plan}};
  const std::string data = ReportData(documents);
  EXPECT_THAT(data, Not(HasSubstr("<")));
  const PageJson json = PageJson::parse(data);
  EXPECT_THAT(json["plans"][0]["cluster"]["name"].get<std::string>(),
              HasSubstr("</script><!--<script>"));
  EXPECT_EQ(json["plans"][0]["warnings"][0].get<std::string>().size(), 10'000);
}

TEST(ReportPage, IsOneFileThatMayLoadNothing) {
  if (!CheckReportPage().ok()) GTEST_SKIP() << "built without the page";
  const std::string page = ReportPage(AllKinds());
  EXPECT_THAT(page, HasSubstr("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                              "'none'; script-src 'sha256-"));
  for (const char* const loads : {"<link", "src=\"", "@import", "url(http"}) {
    EXPECT_THAT(page, Not(HasSubstr(loads)));
  }
}

// Whatever a file says in one place: it is refused, or shown.
TEST(ReportData, OfEveryPlanThatReads) {
  // Nine: a fourth of all cases has each of them.
  const std::vector<PageJson> values = {nullptr,          -1,  0, 2, 1e300, "", "gpipe",
                                        int64_t{1} << 62, true};
  constexpr int kAll = 100, kEach = kAll / RandomCases(kAll);
  int tried = 0, read = 0;
  for (const Plan& sample :
       {SamplePlan(), SamplePipelinePlan(), SampleModelPlan(), SampleGroupsPlan()}) {
    const PageJson whole = PageJson::parse(PlanToJson(sample));
    const PageJson leaves = whole.flatten();
    for (const auto& [pointer, leaf] : leaves.items()) {
      for (const PageJson& value : values) {
        if (tried++ % kEach != 0) continue;
        SCOPED_TRACE(pointer + " = " + value.dump());
        PageJson json = whole;
        json[PageJson::json_pointer(pointer)] = value;
        const absl::StatusOr<Plan> plan = ParsePlanJson(json.dump(), "p.json");
        if (!plan.ok()) continue;
        ++read;
        ReportDocuments documents;
        documents.plans = {{"p.json", *plan}};
        EXPECT_EQ(PageJson::parse(ReportData(documents))["plans"].size(), 1);
        EXPECT_FALSE(CsvTables(documents).empty());
      }
    }
  }
  EXPECT_GT(read, RandomCases(300));
}

// Sentences without the marks that keep names apart.
std::vector<std::string> PlainHeadline(const Plan& plan) {
  std::vector<std::string> sentences;
  for (const std::string& sentence : Headline(plan)) {
    sentences.push_back(absl::StrReplaceAll(sentence, {{"\u2068", ""}, {"\u2069", ""}}));
  }
  return sentences;
}

TEST(Headline, SaysWhatThePlanDoes) {
  EXPECT_THAT(
      PlainHeadline(SamplePlan()),
      ElementsAre("a \"b\".hlo on 8 x h100-sxm in 1 node: a step takes 80.0 ms.",
                  "All devices run the whole program, on the mesh x=2, y=4.",
                  "No kind of parallelism for the weights, but some operators are divided.",
                  HasSubstr("Of the weights that it uses and their state a device keeps"),
                  HasSubstr("; the most expensive is all-reduce over x,y, 250 ms."),
                  HasSubstr("What limits it: compute "),
                  HasSubstr("A device holds at peak 1.00 TiB of 8.00 EiB"),
                  "The shardings were given and spread as XLA does; nothing was searched."));
  EXPECT_THAT(PlainHeadline(SamplePipelinePlan()),
              Contains(HasSubstr("2 pipeline stages on 2 devices each run 8 micro-batches by 1f1b; "
                                 "they wait for 5.0 % of their time.")));
  EXPECT_THAT(PlainHeadline(SampleModelPlan()),
              Contains(HasSubstr("Degrees: tp=2 pp=2 dp=1 sp=on")));
  EXPECT_THAT(PlainHeadline(SampleModelPlan()),
              Contains(absl::StrCat("What limits it: ", LimitsText(SampleModelPlan()), ".")));
  EXPECT_THAT(PlainHeadline(SampleModelPlan()),
              Contains("Failures and checkpoints leave 93.0 % of the time, 1.235e+04 tokens a "
                       "second; a checkpoint every 1400 s is best."));
}

TEST(Headline, OfAPlanOverGroups) {
  const std::vector<std::string> sentences = PlainHeadline(SampleGroupsPlan());
  EXPECT_THAT(sentences,
              Contains("A pipeline of 2 stages runs 8 micro-batches: 1 stage on 1 of 1 node of "
                       "fast (tensor 2, data 2, 1 sequence a micro-batch); 1 stage on 2 of 3 nodes "
                       "of slow (tensor 2, data 2, 1 sequence a micro-batch); nothing on spare."));
  EXPECT_THAT(sentences,
              Contains("A step costs $0.01; all 1e+06 steps take 23.1 d and cost $10000.00."));
  EXPECT_THAT(sentences,
              Contains("It is one of 2 plans on the front of time and cost: of 3 choices of nodes "
                       "none is both faster and cheaper."));
}

// Whatever a name does to the direction of text, it does to itself alone: marks that open or close
// isolation stand around names only.
TEST(Headline, NamesAreKeptApart) {
  Plan plan = SamplePlan();
  plan.inputs[0].path = "a\u2069\u202eb.hlo";
  EXPECT_THAT(Headline(plan)[0],
              HasSubstr("\u2068a\u202eb.hlo\u2069 on 8 x \u2068h100-sxm\u2069 in 1 node"));
}

// Two equal stages that cut their weights in two, and one that keeps its own whole.
TEST(Headline, EqualStagesCountAsOftenAsThereAre) {
  Plan plan = SamplePipelinePlan();
  plan.pipeline->stages[0].program.parameters = {
      {0, "w", "f32", {4}, {{"x"}}, 8, MemoryCategory::kParameters}};
  PlanStage last = plan.pipeline->stages[0];
  last.program.parameters = {{0, "v", "f32", {4}, {{}}, 16, MemoryCategory::kParameters}};
  plan.pipeline->stages.push_back(last);
  // 8 + 8 + 16 bytes of 16 + 16 + 16.
  EXPECT_THAT(PlainHeadline(plan), Contains("Of the weights that it uses and their state a device "
                                            "keeps 66.7 %; the rest lies on others."));
}

TEST(CsvTables, HaveTheColumnsOfTheirHeader) {
  std::set<std::string> names;
  for (const CsvFile& file : CsvTables(AllKinds())) {
    names.insert(file.name);
    const auto table = ParseCsv(file.contents, file.name);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->header[0], "plan");
    EXPECT_FALSE(table->rows.empty()) << file.name;
  }
  EXPECT_THAT(names, ElementsAre("alternatives.csv", "collectives.csv", "group_memory.csv",
                                 "instruction_collectives.csv", "instructions.csv", "memory.csv",
                                 "node_choices.csv", "node_groups.csv", "outputs.csv",
                                 "parameters.csv", "plans.csv", "profiled_segments.csv",
                                 "segments.csv", "sensitivity.csv", "stages.csv", "step_parts.csv",
                                 "sweep.csv", "timeline.csv", "transfers.csv"));
}

// As the program's names number them, in the page and in the tables alike.
TEST(ReportData, LayersAreNumberedAsUsersDo) {
  ProgramRequest request;
  request.program = HloData("tiny_gpt.train.hlo.txt.gz");
  request.cluster = "2xh100-sxm";
  request.cost_model = "roofline";
  request.completion = Completion::kPropagate;
  request.fixes = {{"state[*]['layer*']['w1']", "[_,x]", ""}};
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  ReportDocuments documents;
  documents.plans = {{"p.json", planned->plan}};
  const PageJson page = PageJson::parse(ReportData(documents));
  const PageJson& program = page["plans"][0]["programs"][0];
  std::set<std::string> texts;
  for (const PageJson& node : program["nodes"]) texts.insert(node["text"]);
  EXPECT_THAT(texts, ElementsAre("", "after layer 1", "before layer 0", "layers 0-1"));
  EXPECT_EQ(
      program["layer_names"],
      PageJson({{0, "before layer 0"}, {1, "layer 0"}, {2, "layer 1"}, {3, "after layer 1"}}));
  std::set<std::string> cells;
  for (const CsvFile& file : CsvTables(documents)) {
    const auto table = ParseCsv(file.contents, file.name);
    const auto column = std::find(table->header.begin(), table->header.end(), "layers");
    if (file.name != "segments.csv") continue;
    for (const CsvRow& row : table->rows)
      cells.insert(row.fields[static_cast<size_t>(column - table->header.begin())]);
  }
  EXPECT_THAT(cells, ElementsAre("", "0 1", "1 0", "after", "before"));
}

TEST(CsvTables, QuoteWhatNeedsIt) {
  ReportDocuments documents;
  documents.plans = {{"p.json", SamplePlan()}};
  documents.plans[0].second.program.instructions[0].name = "a,\"b\"\nc";
  for (const CsvFile& file : CsvTables(documents)) {
    if (file.name != "instructions.csv") continue;
    const auto table = ParseCsv(file.contents, file.name);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->rows[0].fields[2], "a,\"b\"\nc");
    EXPECT_EQ(table->rows[0].fields[6], "[x,_]");
  }
}

}  // namespace
}  // namespace meshwright
