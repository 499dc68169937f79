#include "meshwright/report/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "meshwright/plan/plan_json.h"
#include "meshwright/report/csv_tables.h"
#include "meshwright/report/headline.h"
#include "meshwright/transformer/runs_csv.h"
#include "tests/plan/sample_plan.h"

namespace meshwright {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using PageJson = nlohmann::json;

ReportDocuments AllKinds() {
  ReportDocuments documents;
  documents.plans = {{"one.json", SamplePlan()},
                     {"pipeline.json", SamplePipelinePlan()},
                     {"model.json", SampleModelPlan()}};
  documents.sweeps = {{"sweep.csv", {{8, "tp=8", 1, 2, 3, 4, 5}}}};
  documents.verifications = {
      {"v.json", "p", "d", true, {{"memory", "ok", "1", "2", "", {}, 1, 2}}}};
  documents.nodes_plans = {{"n.json", "m", "c", 5, {{"2 of a", "tp=1", 1, 2}}, {}}};
  return documents;
}

TEST(ReportData, HoldsEveryDocument) {
  const PageJson data = PageJson::parse(ReportData(AllKinds()));
  ASSERT_EQ(data["plans"].size(), 3);
  EXPECT_EQ(data["sweeps"][0]["rows"][0]["gpus"], 8);
  EXPECT_EQ(data["verifications"][0]["checks"][0]["measured_value"], 2);
  EXPECT_EQ(data["mixed"][0]["plans"][0]["nodes"], "2 of a");
  const PageJson& program = data["plans"][0]["programs"][0];
  EXPECT_EQ(program["instructions"]["name"], PageJson({"dot.1", "sort.1"}));
  EXPECT_EQ(program["sources"], PageJson({"train.py:17"}));
  EXPECT_EQ(program["instructions"]["source"], PageJson({0, -1}));
  EXPECT_EQ(program["moves"][0]["value"], -1);  // "w" is no instruction
  EXPECT_EQ(program["memory"].size(), 2);
  const PageJson& pipeline = data["plans"][1];
  EXPECT_EQ(pipeline["programs"].size(), 1);
  EXPECT_EQ(pipeline["stages"][1]["program"], 0);
  EXPECT_EQ(pipeline["timeline"]["group"].size(), pipeline["timeline"]["all_tasks"]);
  EXPECT_EQ(data["plans"][2]["transformer"]["alternatives"].size(), 1);
  EXPECT_TRUE(data["plans"][2]["timeline"].is_null());
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
  plan.instructions[0].name = hostile;
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
  const std::vector<PageJson> values = {nullptr, -1, 0, 2, 1e300, "", "gpipe", int64_t{1} << 62};
  int read = 0;
  for (const Plan& sample : {SamplePlan(), SamplePipelinePlan(), SampleModelPlan()}) {
    const PageJson whole = PageJson::parse(PlanToJson(sample));
    const PageJson leaves = whole.flatten();
    for (const auto& [pointer, leaf] : leaves.items()) {
      for (const PageJson& value : values) {
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
  EXPECT_GT(read, 300);
}

TEST(Headline, SaysWhatThePlanDoes) {
  EXPECT_THAT(
      Headline(SamplePlan()),
      ElementsAre("a \"b\".hlo on 8 x h100-sxm in 1 node: a step takes 80.0 ms.",
                  "All devices run the whole program, on the mesh x=2, y=4.",
                  "No kind of parallelism for the weights, but some operators are divided.",
                  HasSubstr("Of the weights that it uses and their state a device keeps"),
                  HasSubstr("; the dearest is all-reduce over x,y, 250 ms."),
                  HasSubstr("The fullest device holds 1.00 TiB of 8.00 EiB"),
                  "The shardings were given and spread as XLA does: nothing was searched for."));
  EXPECT_THAT(Headline(SamplePipelinePlan()),
              Contains(HasSubstr("2 pipeline stages on 2 devices each run 8 micro-batches by 1f1b; "
                                 "they wait for 12.5 % of their time.")));
  EXPECT_THAT(Headline(SampleModelPlan()), Contains(HasSubstr("Degrees: tp=2 sp")));
}

TEST(CsvTables, HaveTheColumnsOfTheirHeader) {
  std::set<std::string> names;
  for (const CsvFile& file : CsvTables(AllKinds())) {
    names.insert(file.name);
    const auto table = transformer::ParseCsv(file.contents, file.name);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->header[0], "plan");
    EXPECT_FALSE(table->rows.empty()) << file.name;
  }
  EXPECT_THAT(names, ElementsAre("alternatives.csv", "collectives.csv", "group_memory.csv",
                                 "instruction_collectives.csv", "instructions.csv", "memory.csv",
                                 "outputs.csv", "parameters.csv", "plans.csv", "segments.csv",
                                 "sensitivity.csv", "stages.csv", "step_parts.csv", "timeline.csv",
                                 "transfers.csv"));
}

TEST(CsvTables, QuoteWhatNeedsIt) {
  ReportDocuments documents;
  documents.plans = {{"p.json", SamplePlan()}};
  documents.plans[0].second.instructions[0].name = "a,\"b\"\nc";
  for (const CsvFile& file : CsvTables(documents)) {
    if (file.name != "instructions.csv") continue;
    const auto table = transformer::ParseCsv(file.contents, file.name);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->rows[0].fields[2], "a,\"b\"\nc");
    EXPECT_EQ(table->rows[0].fields[6], "[x,_]");
  }
}

}  // namespace
}  // namespace meshwright
