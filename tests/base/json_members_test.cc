#include "meshwright/base/json_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace meshwright {

enum class Colour { kRed, kGreen, kBlue };
template <>
inline constexpr auto kWords<Colour> = std::to_array<std::string_view>({"red", "green", "blue"});

namespace {

struct Spot {
  int64_t count = 0;
  double size = 0;

  MESHWRIGHT_MEMBERS(Spot, count, size)
};

struct Animal {
  std::string name;
  std::optional<Colour> colour;
  double covered = 0;
  std::vector<Spot> spots;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("name", self.name, kMayBeAbsent);
    visit("colour", self.colour);
    visit("covered", self.covered, kShare);
    visit("spots", self.spots);
  }
  friend bool operator==(const Animal&, const Animal&) = default;
};

std::string ErrorOf(const std::string& text) {
  const InputJson json = *ParseInputJson(text, "f");
  absl::Status status;
  Animal animal;
  ReadJson(JsonValue(json, &status), animal);
  return std::string(status.message());
}

TEST(JsonMembers, WrittenAndReadInTheOrderOfTheList) {
  const Animal animal{"", Colour::kBlue, 0.25, {{3, 1.5}}};
  const std::string text = WriteJson(animal).dump();
  EXPECT_EQ(text, R"({"colour":"blue","covered":0.25,"spots":[{"count":3,"size":1.5}]})");
  const InputJson json = *ParseInputJson(text, "f");
  absl::Status status;
  Animal read{"old", Colour::kRed, 0, {{}, {}}};
  read.name.clear();
  ReadJson(JsonValue(json, &status), read);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(read, animal);
  EXPECT_EQ(WriteJson(Animal{"cat", {}, 1, {}}).dump(),
            R"({"name":"cat","colour":null,"covered":1.0,"spots":[]})");
}

TEST(JsonMembersErrors, SayWhereWhatWasFoundAndWhatIsValid) {
  EXPECT_EQ(ErrorOf("[]"), "$: found a list, expected an object");
  EXPECT_EQ(ErrorOf("{}"), "$: has no \"colour\"");
  EXPECT_EQ(ErrorOf(R"({"colour": "pink", "covered": 0, "spots": []})"),
            "$.colour: found \"pink\", expected red, green or blue");
  EXPECT_EQ(ErrorOf(R"({"colour": null, "covered": 1.5, "spots": []})"),
            "$.covered: found 1.5, expected a number from 0 to 1");
  EXPECT_EQ(ErrorOf(R"({"colour": null, "covered": 1, "spots": [{"count": 1}]})"),
            "$.spots[0]: has no \"size\"");
  EXPECT_EQ(ErrorOf(R"({"colour": null, "covered": 1, "spots": [{"count": -1, "size": 2}]})"),
            "$.spots[0].count: found -1, expected an integer from 0 to 2^63 - 1");
  EXPECT_EQ(ErrorOf(R"({"colour": null, "covered": 1, "spots": [], "size": 2})"),
            "$: unknown key \"size\"; the keys here are name, colour, covered, spots");
}

TEST(Words, GoBothWays) {
  EXPECT_EQ(Word(Colour::kGreen), "green");
  EXPECT_EQ(FromWord<Colour>("green"), Colour::kGreen);
  EXPECT_EQ(FromWord<Colour>("pink"), std::nullopt);
  EXPECT_EQ(Word(std::optional<Colour>()), "");
  EXPECT_EQ(WordList<Colour>(), "red, green or blue");
}

}  // namespace
}  // namespace meshwright
