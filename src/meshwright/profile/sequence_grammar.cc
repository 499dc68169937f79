#include "meshwright/profile/sequence_grammar.h"

#include <algorithm>
#include <map>
#include <utility>

namespace meshwright {
namespace {

using SymbolPair = std::pair<int32_t, int32_t>;

// The pair that comes most often without overlapping itself, the first of equals; {-1, -1}: none.
SymbolPair MostFrequentPair(const std::vector<int32_t>& sequence) {
  std::map<SymbolPair, std::pair<int64_t, size_t>> counts;  // how often, end of the last one
  SymbolPair best{-1, -1};
  int64_t most = 1;
  for (size_t i = 0; i + 1 < sequence.size(); ++i) {
    auto& [count, end] = counts[{sequence[i], sequence[i + 1]}];
    if (count > 0 && end > i) continue;
    ++count;
    end = i + 2;
  }
  for (const auto& [pair, count] : counts) {
    if (count.first > most) {
      most = count.first;
      best = pair;
    }
  }
  return best;
}

}  // namespace

SequenceGrammar MakeSequenceGrammar(const std::vector<int32_t>& sequence) {
  SequenceGrammar grammar;
  std::vector<SequenceGrammar::Symbol>& symbols = grammar.symbols;
  std::map<int32_t, int32_t> leaves;
  std::vector<int32_t> rest;
  for (const int32_t letter : sequence) {
    const auto [leaf, is_new] = leaves.try_emplace(letter, static_cast<int32_t>(symbols.size()));
    if (is_new) symbols.push_back({.letter = letter, .first = letter, .last = letter});
    rest.push_back(leaf->second);
  }
  const auto join = [&](int32_t left, int32_t right) {
    symbols.push_back({.left = left,
                       .right = right,
                       .first = symbols[left].first,
                       .last = symbols[right].last,
                       .length = symbols[left].length + symbols[right].length});
    return static_cast<int32_t>(symbols.size()) - 1;
  };
  while (true) {
    const SymbolPair pair = MostFrequentPair(rest);
    if (pair.first < 0) break;
    const int32_t joined = join(pair.first, pair.second);
    size_t kept = 0;
    for (size_t i = 0; i < rest.size(); ++kept) {
      const bool here = i + 1 < rest.size() && rest[i] == pair.first && rest[i + 1] == pair.second;
      rest[kept] = here ? joined : rest[i];
      i += here ? 2 : 1;
    }
    rest.resize(kept);
  }
  int32_t whole = rest[0];
  for (size_t i = 1; i < rest.size(); ++i) whole = join(whole, rest[i]);
  return grammar;
}

}  // namespace meshwright
