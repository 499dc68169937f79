#include "meshwright/plan/text/folded_names.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

std::string Folded(const std::vector<std::string>& names) {
  FoldedName folded;
  for (const std::string& name : names) {
    EXPECT_EQ(FoldedName::Key(name), FoldedName::Key(names[0]));
    folded.Add(name);
  }
  return folded.text();
}

TEST(FoldedName, NumbersThatVaryBecomeSets) {
  EXPECT_EQ(Folded({"state[0]['layer1']['w2']"}), "state[0]['layer1']['w2']");
  EXPECT_EQ(Folded({"state[0]['layer1']['w2']", "state[0]['layer12']['w2']"}),
            "state[0]['layer{1,12}']['w2']");
  EXPECT_EQ(Folded({"l10/w", "l8/w", "l9/w", "l7/w"}), "l{7..10}/w");
  EXPECT_EQ(Folded({"l5/w", "l1/w", "l3/w"}), "l{1..5..2}/w");
  EXPECT_EQ(Folded({"l0", "l1", "l2", "l5", "l7", "l8"}), "l{0..2,5,7,8}");
  EXPECT_EQ(Folded({"a0b1", "a0b2", "a3b1", "a3b2"}), "a{0,3}b{1,2}");
  EXPECT_EQ(Folded({"w01", "w02"}), "w{01,02}");
  EXPECT_NE(FoldedName::Key("layer1/wq"), FoldedName::Key("layer1/wk"));
  EXPECT_EQ(Folded({""}), "");
}

TEST(FoldedName, StarsWhereNoPatternIsExact) {
  EXPECT_EQ(Folded({"a0b1", "a1b2"}), "a*b*");
  EXPECT_EQ(Folded({"a0b1c5", "a1b2c5"}), "a*b*c5");
  std::vector<std::string> irregular;
  for (int i = 0; i < 12; ++i) irregular.push_back(absl::StrCat("dot.", i * i * i));
  EXPECT_EQ(Folded(irregular), "dot.*");
  FoldedName folded;
  for (const std::string& name : irregular) folded.Add(name);
  EXPECT_FALSE(folded.exact());
  EXPECT_EQ(TimesText(12, folded.exact()), "x12 of *");
  EXPECT_EQ(TimesText(12), "x12");
  EXPECT_EQ(TimesText(1, false), "");
}

// What was folded before folds again, with names that have stars of their own too.
TEST(FoldedName, FoldedNamesFoldWithOthers) {
  EXPECT_EQ(Folded({"mul.*", "mul.7", "mul.**"}), "mul.*");
  EXPECT_EQ(Folded({"a.7.b", "a.*.b"}), "a.*.b");
}

// An exact pattern matches what was folded, and of all names of that key nothing else.
TEST(FoldedName, ExactPatternsMatchTheirNamesAlone) {
  constexpr int kLayers = 13, kParts = 3;
  std::mt19937 random(11);
  int exact = 0;
  for (int round = 0; round < 400; ++round) {
    std::set<int> layers, parts;
    for (int l = 0; l < kLayers; ++l) {
      if (random() % 3 == 0) layers.insert(l);
    }
    for (int p = 0; p < kParts; ++p) {
      if (random() % 2 == 0) parts.insert(p);
    }
    const bool leave_one_out = random() % 4 == 0;
    FoldedName folded;
    std::set<std::string> members;
    for (int l : layers) {
      for (int p : parts) {
        if (leave_one_out && l == *layers.begin() && p == *parts.begin()) continue;
        const std::string name = absl::StrCat("s[", p, "]['layer", l, "']{x}");
        members.insert(name);
        folded.Add(name);
      }
    }
    if (members.empty()) continue;
    SCOPED_TRACE(folded.text());
    exact += folded.exact() ? 1 : 0;
    for (int l = 0; l < kLayers * 10; ++l) {
      for (int p = 0; p < kParts; ++p) {
        const std::string name = absl::StrCat("s[", p, "]['layer", l, "']{x}");
        if (members.count(name) == 1) {
          EXPECT_TRUE(GlobMatch(folded.text(), name)) << name;
        } else if (folded.exact()) {
          EXPECT_FALSE(GlobMatch(folded.text(), name)) << name;
        }
      }
    }
  }
  EXPECT_GT(exact, 200);
}

}  // namespace
}  // namespace meshwright
