#include "meshwright/explain/layer_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace meshwright {
namespace {

using testing::ElementsAre;

// The layers of names; "" where they have none.
std::vector<std::string> NamedLayers(const std::vector<std::string>& names) {
  std::vector<std::string> layers;
  const std::vector<LayerInName> found = LayersInNames(names);
  for (size_t i = 0; i < names.size(); ++i) {
    layers.push_back(names[i].substr(found[i].begin, found[i].length));
  }
  return layers;
}

TEST(LayerNames, ANumberBehindALetterOrByItself) {
  EXPECT_THAT(NamedLayers({"p['layer3']['w']", "p['layer12']['w']"}), ElementsAre("3", "12"));
  EXPECT_THAT(NamedLayers({"p['layers'][3]['w']", "p['layers'][4]['w']"}), ElementsAre("3", "4"));
  EXPECT_THAT(NamedLayers({"h.0.w", "h.1.w"}), ElementsAre("0", "1"));
  EXPECT_THAT(NamedLayers({"p/block_7/w", "p/block_8/w"}), ElementsAre("7", "8"));
  EXPECT_THAT(NamedLayers({"p[0]['w']", "p[1]['w']", "p[0]['b']", "p[1]['b']"}),
              ElementsAre("0", "1", "0", "1"));
}

TEST(LayerNames, TheOutermostPartThatCountsNotTheLast) {
  EXPECT_THAT(NamedLayers({"s[0]['layer0']['norm1']", "s[0]['layer0']['norm2']",
                           "s[1]['layer1']['norm1']", "s[1]['layer1']['norm2']"}),
              ElementsAre("0", "0", "1", "1"));
}

TEST(LayerNames, AnIndexAroundThemIsNone) {
  EXPECT_THAT(NamedLayers({"s[0]['embed']", "s[1]['embed']", "s[0]['layer4']['w']",
                           "s[1]['layer5']['w']", "s[3]"}),
              ElementsAre("", "", "4", "5", ""));
  EXPECT_THAT(NamedLayers({"s[0]['embed']", "s[1]['embed']", "s[0]['h'][4]['w']",
                           "s[0]['h'][5]['w']", "s[0]['h'][6]['w']", "s[1]['h'][4]['w']"}),
              ElementsAre("", "", "4", "5", "6", "4"));
}

// Arrays that are numbered within a layer, as those are of which a loop runs all layers.
TEST(LayerNames, SeveralArraysOfOneLayerAreNone) {
  EXPECT_THAT(NamedLayers({"s['layers']['norm1']", "s['layers']['norm2']", "s['layers']['w1']",
                           "s['layers']['w2']", "s['layers']['wk']"}),
              ElementsAre("", "", "", "", ""));
  EXPECT_THAT(NamedLayers({"s['layers']['norm1']", "s['layers']['norm2']", "s['layers']['w1']",
                           "s['layers']['w2']", "s['layers']['w3']"}),
              ElementsAre("", "", "", "", ""));
  EXPECT_THAT(NamedLayers({"s['w1']", "s['b1']", "s['w2']", "s['b2']"}),
              ElementsAre("1", "1", "2", "2"));
  EXPECT_THAT(NamedLayers({"w1", "w2", "x"}), ElementsAre("1", "2", ""));
}

TEST(LayerNames, NumbersOfHloAreNone) {
  EXPECT_THAT(NamedLayers({"while.51/carry{1}", "while.88/carry{2}", "add.3", "add.7"}),
              ElementsAre("", "", "", ""));
  EXPECT_THAT(NamedLayers({}), ElementsAre());
  EXPECT_THAT(NamedLayers({"", "[", "']", "7", "8"}), ElementsAre("", "", "", "", ""));
}

TEST(LayerNames, TheNumberIsTheOneOfItsPlace) {
  const std::vector<LayerInName> found =
      LayersInNames({"s[0]['layer10']['w2']", "s[0]['layer9']['w2']"});
  EXPECT_EQ(found[0].place, 1);
  EXPECT_EQ(found[0].begin, 11);
  EXPECT_EQ(found[1].length, 1);
}

}  // namespace
}  // namespace meshwright
