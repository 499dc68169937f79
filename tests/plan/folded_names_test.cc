#include "meshwright/plan/folded_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(FoldedName, NumbersThatVaryBecomeStars) {
  EXPECT_EQ(Folded({"state[0]['layer1']['w2']"}), "state[0]['layer1']['w2']");
  EXPECT_EQ(Folded({"state[0]['layer1']['w2']", "state[0]['layer12']['w2']"}),
            "state[0]['layer*']['w2']");
  EXPECT_NE(FoldedName::Key("layer1/wq"), FoldedName::Key("layer1/wk"));
  EXPECT_EQ(Folded({""}), "");
}

// What was folded before folds again, with names that have stars of their own too.
TEST(FoldedName, FoldedNamesFoldWithOthers) {
  EXPECT_EQ(Folded({"mul.*", "mul.7", "mul.**"}), "mul.*");
  EXPECT_EQ(Folded({"a.7.b", "a.*.b"}), "a.*.b");
}

}  // namespace
}  // namespace meshwright
