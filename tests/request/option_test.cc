#include "meshwright/request/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace meshwright {
namespace {

using ::testing::ElementsAre;

struct Values {
  std::string text = "usual", quantity, word = "a", file;
  std::vector<std::string> texts;
  int64_t integer = 0;
  uint64_t seed = 1;
  double number = 0;
  bool flag = false, json = false;
};

Options Rows(Values& v) {
  return {{"text", &v.text, "a text"},
          {"quantity", &v.quantity, "bytes", {.unit = "bytes"}},
          {"word", &v.word, "a word", {.words = {"a", "b"}}},
          {"texts", &v.texts, "texts"},
          {"integer", &v.integer, "some", {.least = 1, .most = 9}},
          {"seed", &v.seed, "any"},
          {"number", &v.number, "x", {.least = 0.5, .most = 2}},
          {"flag", &v.flag, "whether", {.needs = "text"}},
          {"file", &v.file, "written", {.output = true}},
          {"json", &v.json, "printed", {.output = true}}};
}

TEST(Option, ReadsEveryType) {
  Values v;
  const absl::StatusOr<GivenOptions> given = ReadOptions(
      R"({"text": "t", "quantity": 12, "word": "b", "texts": ["x", "y"], "integer": 9,
          "seed": 18446744073709551615, "number": 0.5, "flag": true, "file": "f"})",
      Rows(v));
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->size(), 9u);
  EXPECT_EQ(v.text, "t");
  EXPECT_EQ(v.quantity, "12B");
  EXPECT_EQ(v.word, "b");
  EXPECT_THAT(v.texts, ElementsAre("x", "y"));
  EXPECT_EQ(v.integer, 9);
  EXPECT_EQ(v.seed, UINT64_MAX);
  EXPECT_EQ(v.number, 0.5);
  EXPECT_TRUE(v.flag);
}

TEST(Option, ErrorsNameTheOption) {
  struct Case {
    const char *json, *message;
  };
  for (const Case& c : {
           Case{"[]", "options: found array, expected a JSON object"},
           Case{R"({"txet": "t"})",
                "option \"txet\": there is no such option; did you mean \"text\"?"},
           Case{R"({"json": true})",
                "option \"json\": there is no such option; did you mean \"text\"?"},
           Case{R"({"text": 8})", "option \"text\": found number, expected a string"},
           Case{R"({"text": ""})",
                "option \"text\": found \"\"; leave the option out, or say what it is"},
           Case{R"({"quantity": true})",
                "option \"quantity\": found boolean, expected a string or a number"},
           Case{R"({"word": "c"})", "option \"word\": found \"c\", expected \"a\" or \"b\""},
           Case{R"({"texts": "x"})", "option \"texts\": found string, expected a list of strings"},
           Case{R"({"integer": 10})",
                "option \"integer\": found 10, expected an integer from 1 to 9"},
           Case{R"({"number": 3})", "option \"number\": found 3, expected a number from 0.5 to 2"},
           Case{R"({"flag": 1})", "option \"flag\": found number, expected true or false"},
           Case{R"({"flag": true})", "option \"flag\": needs \"text\""},
       }) {
    Values v;
    EXPECT_EQ(ReadOptions(c.json, Rows(v)).status().message(), c.message) << c.json;
  }
}

TEST(Option, AFlagThatIsNotSetSaysNothing) {
  Values v;
  const absl::StatusOr<GivenOptions> given =
      ReadOptions(R"({"flag": false, "texts": []})", Rows(v));
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_TRUE(given->empty());
}

TEST(Option, TheTableAsJson) {
  Values v;
  const Json table = OptionsJson(Rows(v));
  ASSERT_EQ(table.size(), 9u);  // not what is printed
  EXPECT_EQ(table[0], Json::parse(R"({"name": "text", "type": "text", "unit": "", "words": [],
                                      "known": [], "path": false, "required": false, "group": "",
                                      "help": "a text", "default": "usual"})"));
  EXPECT_EQ(table[4]["type"], "integer");
  EXPECT_EQ(table[4]["most"], 9);
  EXPECT_FALSE(table[4].contains("default"));
  EXPECT_FALSE(table[4].contains("output"));
  EXPECT_EQ(table[8]["output"], true);
  EXPECT_EQ(table[8]["path"], true);
}

}  // namespace
}  // namespace meshwright
