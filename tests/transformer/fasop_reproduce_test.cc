// Recorded results of the published code: a few rows in tests/data, all of them where they lie
// beside the checkout.

#include "meshwright/transformer/fasop_reproduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "meshwright/transformer/fasop.h"
#include "tests/reference_texts.h"

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
    EXPECT_THAT(report->differences, IsEmpty()) << table.path;
    EXPECT_EQ(report->differ, 0);
    EXPECT_EQ(report->figures, 13 * report->records);
    EXPECT_LE(report->largest_deviation, 6e-9) << "half a unit of nine digits";
    if (table.is_shared) {
      EXPECT_EQ(report->records, rows_in_all);
    }
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

TEST(FasopReproduceTest, DifferencesSayWhere) {
  const auto differences = [](const std::string& from, const std::string& to) {
    const std::string row = absl::StrReplaceAll(kFasopRow, {{from, to}});
    EXPECT_NE(row, kFasopRow) << from;
    const auto report = ReproduceText(kFasopHeader + row, "bert.csv");
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->differ, static_cast<int64_t>(report->differences.size()));
    return report->differences;
  };
  EXPECT_THAT(differences("11-6-6-3", "11-6-5-4"),
              ElementsAre("line 2 partition: recorded 11-6-5-4, found 11-6-6-3"));
  EXPECT_THAT(differences("0.867711902", "0.867713"), ElementsAre(HasSubstr("line 2 t: ")));
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
  EXPECT_EQ(report->differ, 0);
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
