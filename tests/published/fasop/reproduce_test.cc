// Recorded results of the published code: a few rows in tests/data, all of them where they lie
// beside the checkout.

#include "meshwright/published/fasop/reproduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "meshwright/published/fasop/fasop.h"
#include "tests/testing/reference_texts.h"

namespace meshwright::transformer::fasop {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFasopHeader[] =
    "mbs,tp,dp,pp,placement,num_a100,num_a10,partition,t,pt,dpt,et,price_per_step,is_oom,mem,"
    "is_zoom,zmem,train_cost\n";
constexpr char kFasopRow[] =
    "4,1,4,4,ABBB,1,3,11-6-6-3,0.867711902,0.815653027,0.00205163029,0.0500072448,0.0137880867,0,"
    "8.44582,0,7.12916,172351.084\n";

std::string FasopError(const std::string& text, const std::string& name = "bert.csv") {
  return std::string(ReproduceText(text, name).status().message());
}

void ExpectAllReproduced(const std::string& name, int64_t rows_in_all) {
  for (const ReferenceText& table :
       ReferenceTexts("transformer/fasop/" + name, "peers/fasop/golden/" + name)) {
    const auto report = ReproduceText(table.text, table.path);
    ASSERT_TRUE(report.ok()) << report.status();
    // Of the few rows here all others are missing, and nothing else differs.
    const int64_t missing = rows_in_all - report->records;
    EXPECT_EQ(report->differ, missing) << table.path;
    for (const std::string& difference : report->differences) {
      EXPECT_THAT(difference, HasSubstr(" row: recorded none, found "));
    }
    EXPECT_EQ(report->figures, 13 * report->records + missing);
    if (!table.is_shared) continue;
    EXPECT_EQ(report->records, rows_in_all);
    EXPECT_LE(report->largest_deviation, 6e-9) << "half a unit of nine digits";
  }
}

TEST(FasopReproduceTest, Gpt2XlHeterogeneous) { ExpectAllReproduced("gpt2XL.het.csv", 592); }
TEST(FasopReproduceTest, BertHeterogeneous) { ExpectAllReproduced("bert.het.csv", 356); }
TEST(FasopReproduceTest, T5) { ExpectAllReproduced("T5.homo.csv", 89); }

// The recorded tables have every configuration of their searches.
TEST(FasopReproduceTest, SearchesAreAsLarge) {
  const auto rows = [](const char* model, int64_t a100, int64_t a10) {
    const Model& found = **FindModel(model);
    return Search(found, PublishedProfile(found), Setup::kDefault, a100, a10).size();
  };
  EXPECT_EQ(rows("gpt2XL", 1, 7), 592u);
  EXPECT_EQ(rows("gpt2XL", 0, 8), 74u);
  EXPECT_EQ(rows("bert", 1, 3), 356u);
  EXPECT_EQ(rows("bert", 0, 4), 89u);
  EXPECT_EQ(rows("T5", 0, 8), 89u);
}

TEST(FasopReproduceTest, SharedTablesWithoutRowsHere) {
  for (const char* const name : {"gpt2XL.homo.csv", "bert.homo.csv"}) {
    const std::string path = std::string(MESHWRIGHT_SHARED "/peers/fasop/golden/") + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
    const auto report = ReproduceFile(path);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->differ, 0);
    EXPECT_GT(report->records, 70);
  }
}

// All that the search of bert on ABBB has, in nine digits.
std::string WholeTable() {
  const Model& model = **FindModel("bert");
  std::string text = kFasopHeader;
  for (const Row& row : Search(model, PublishedProfile(model), Setup::kDefault, 1, 3)) {
    const Estimate& e = row.estimate;
    absl::StrAppendFormat(
        &text, "%d,%d,%d,%d,%s,1,3,%s,%.9g,%.9g,%.9g,%.9g,%.9g,%d,%.6g,%d,%.6g,%.9g\n",
        row.degrees.micro_batch, row.degrees.tp, row.degrees.dp, row.degrees.pp, row.placement,
        absl::StrJoin(e.partition, "-"), e.seconds, e.pipeline_seconds, e.data_seconds,
        e.embedding_seconds, e.step_dollars, e.over_memory, e.memory_gib, e.sharded_over_memory,
        e.sharded_memory_gib, e.training_dollars);
  }
  return text;
}

TEST(FasopReproduceTest, RowsThatAreLeftOutOrRepeatedAreDifferences) {
  const std::string all = WholeTable();
  EXPECT_EQ(ReproduceText(all, "bert.csv")->differ, 0);
  const std::string row = kFasopRow;
  ASSERT_NE(all.find(row), std::string::npos);
  const auto without = ReproduceText(absl::StrReplaceAll(all, {{row, ""}}), "bert.csv");
  EXPECT_EQ(without->differ, 1);
  EXPECT_THAT(without->differences,
              ElementsAre("placement ABBB tp 1 dp 4 pp 4 mbs 4 row: recorded none, found "
                          "0.867711902 s"));
  const auto twice = ReproduceText(all + row, "bert.csv");
  EXPECT_EQ(twice->differ, 1);
  EXPECT_THAT(twice->differences, ElementsAre("line 358 row: recorded a second time, found once"));
}

TEST(FasopReproduceTest, DifferencesSayWhere) {
  const auto differences = [](const std::string& from, const std::string& to) {
    const std::string row = absl::StrReplaceAll(kFasopRow, {{from, to}});
    EXPECT_NE(row, kFasopRow) << from;
    const auto report =
        ReproduceText(absl::StrReplaceAll(WholeTable(), {{kFasopRow, row}}), "bert.csv");
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->differ, static_cast<int64_t>(report->differences.size()));
    return report->differences;
  };
  EXPECT_THAT(differences("11-6-6-3", "11-6-5-4"),
              ElementsAre(HasSubstr(" partition: recorded 11-6-5-4, found 11-6-6-3")));
  EXPECT_THAT(differences("0.867711902", "0.867713"), ElementsAre(HasSubstr(" t: ")));
  EXPECT_THAT(differences("0.867711902", "0.8677112"), IsEmpty()) << "8e-7 of it";
  EXPECT_THAT(differences(",0,8.44582", ",1,8.44583"),
              ElementsAre(HasSubstr("is_oom: "), HasSubstr("mem: ")));
  EXPECT_THAT(differences(",1,3,11", ",2,3,11"), ElementsAre(HasSubstr("num_a100: ")));
}

TEST(FasopReproduceTest, ColumnsMayComeInAnyOrder) {
  const auto report = ReproduceText(
      "note,placement,mbs,tp,dp,pp,num_a100,num_a10,partition,t,pt,dpt,et,price_per_step,is_oom,"
      "mem,is_zoom,zmem,train_cost\n"
      "x,ABBB,4,1,4,4,1,3,11-6-6-3,0.867711902,0.815653027,0.00205163029,0.0500072448,"
      "0.0137880867,0,8.44582,0,7.12916,172351.084\n",
      "some/where/bert.het.csv.gz");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->kind, "bert");
  EXPECT_EQ(report->records, 1);
  EXPECT_EQ(report->differ, 355) << "all rows but this";
}

TEST(FasopReproduceTest, Errors) {
  const auto with = [](const std::string& from, const std::string& to) {
    return FasopError(kFasopHeader + absl::StrReplaceAll(kFasopRow, {{from, to}}));
  };
  EXPECT_THAT(FasopError(kFasopHeader, "gpt3.csv"),
              HasSubstr("found model \"gpt3\", expected gpt2XL, bert, T5"));
  EXPECT_THAT(FasopError("mbs,tp\n"), HasSubstr("bert.csv:1: no column \"dp\""));
  EXPECT_THAT(with("4,1,4,4", "4.5,1,4,4"), HasSubstr("bert.csv:2: mbs: found \"4.5\", expected"));
  EXPECT_THAT(with("ABBB", "ABCB"), HasSubstr("placement: found \"ABCB\", expected 1 to 16 nodes"));
  EXPECT_THAT(with("4,1,4,4", "4,1,4,5"), HasSubstr("found 20 GPUs on 4 nodes, expected nodes of"));
  EXPECT_THAT(with("4,1,4,4", "3,1,4,4"), HasSubstr("no search has this"));
  EXPECT_THAT(with("4,1,4,4,ABBB", "4,1,4,4,ABAB"), HasSubstr("no search has this"));
  EXPECT_THAT(with("0.867711902", "nan"), HasSubstr("t: found \"nan\", expected a number"));
  EXPECT_THAT(with(",172351.084", ""), HasSubstr("bert.csv:2: 17 fields"));
}

}  // namespace
}  // namespace meshwright::transformer::fasop
