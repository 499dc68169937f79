#include "meshwright/base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace meshwright::transformer {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(ParseCsv, ReadsQuotedFields) {
  const absl::StatusOr<CsvTable> table =
      ParseCsv("a,b\r\n\"x, \"\"y\"\"\nz\",1\n\n2,\n", "runs.csv");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->header, ElementsAre("a", "b"));
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_THAT(table->rows[0].fields, ElementsAre("x, \"y\"\nz", "1"));
  EXPECT_THAT(table->rows[1].fields, ElementsAre("2", ""));
  EXPECT_EQ(table->rows[0].line, 2);
  EXPECT_EQ(table->rows[1].line, 5);
}

TEST(ParseCsv, SaysWhereAFileIsBad) {
  const auto message = [](std::string_view text) {
    return std::string(ParseCsv(text, "f").status().message());
  };
  EXPECT_EQ(message(""), "f:1: empty; expected a header of columns");
  EXPECT_EQ(message("a,b,a\n"), "f:1: column \"a\" occurs twice");
  EXPECT_EQ(message("a,b\n1,2\n3\n"), "f:3: 1 fields, but the header has 2");
  EXPECT_EQ(message("a,b\n1,\"2\n3\n"), "f:2: a quote is not closed");
  EXPECT_EQ(message("a,b\n1,\"2\"3\n"), "f:2: text behind a closed quote");
  EXPECT_EQ(message("a,b\n1,2\"3\n"), "f:2: a quote inside a field without quotes");
}

TEST(CsvLine, IsReadBack) {
  const std::string line = CsvLine({"x, \"y\"", "", "line\nend", "plain"});
  EXPECT_THAT(line, StartsWith("\"x, \"\"y\"\"\",,\"line\nend\",plain"));
  const absl::StatusOr<CsvTable> table = ParseCsv("a,b,c,d\n" + line, "f");
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(table->rows[0].fields, ElementsAre("x, \"y\"", "", "line\nend", "plain"));
}

}  // namespace
}  // namespace meshwright::transformer
