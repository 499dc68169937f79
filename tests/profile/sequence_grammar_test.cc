#include "meshwright/profile/sequence_grammar.h"

#include <gtest/gtest.h>

#include <random>

namespace meshwright {
namespace {

std::vector<int32_t> Spell(const SequenceGrammar& grammar, int32_t symbol) {
  const SequenceGrammar::Symbol& s = grammar.symbols[symbol];
  if (s.letter >= 0) return {s.letter};
  std::vector<int32_t> text = Spell(grammar, s.left);
  const std::vector<int32_t> right = Spell(grammar, s.right);
  text.insert(text.end(), right.begin(), right.end());
  return text;
}

void ExpectSpells(const SequenceGrammar& grammar, const std::vector<int32_t>& text) {
  EXPECT_EQ(Spell(grammar, static_cast<int32_t>(grammar.symbols.size()) - 1), text);
  for (size_t s = 0; s < grammar.symbols.size(); ++s) {
    const SequenceGrammar::Symbol& symbol = grammar.symbols[s];
    const std::vector<int32_t> spelt = Spell(grammar, static_cast<int32_t>(s));
    EXPECT_EQ(symbol.length, static_cast<int64_t>(spelt.size()));
    EXPECT_EQ(symbol.first, spelt.front());
    EXPECT_EQ(symbol.last, spelt.back());
    EXPECT_LT(symbol.left, static_cast<int32_t>(s));
    EXPECT_LT(symbol.right, static_cast<int32_t>(s));
  }
}

TEST(SequenceGrammar, SpellsWhatItIsMadeOf) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::vector<int32_t> text(1 + random() % 40);
    const uint32_t letters = 1 + random() % 4;
    for (int32_t& letter : text) letter = static_cast<int32_t>(random() % letters);
    ExpectSpells(MakeSequenceGrammar(text), text);
  }
}

TEST(SequenceGrammar, GrowsWithTheLogarithmOfDepth) {
  std::vector<int32_t> layers(4096, 1), pairs;
  for (int i = 0; i < 4096; ++i) pairs.insert(pairs.end(), {1, 2});
  EXPECT_EQ(MakeSequenceGrammar(layers).symbols.size(), 1 + 12U);
  EXPECT_LE(MakeSequenceGrammar(pairs).symbols.size(), 2 + 13U);
  layers.insert(layers.begin(), 0);
  layers.push_back(2);
  EXPECT_LE(MakeSequenceGrammar(layers).symbols.size(), 3 + 12 + 3U);
}

}  // namespace
}  // namespace meshwright
