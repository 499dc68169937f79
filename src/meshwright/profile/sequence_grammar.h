#ifndef MESHWRIGHT_PROFILE_SEQUENCE_GRAMMAR_H_
#define MESHWRIGHT_PROFILE_SEQUENCE_GRAMMAR_H_

#include <cstdint>
#include <vector>

namespace meshwright {

// A sequence as a tree of pairs in which equal parts are one symbol, so that what is worked out for
// a part is worked out once: n equal letters in a row take about log2(n) symbols.
struct SequenceGrammar {
  struct Symbol {
    int32_t letter = -1;            // of a leaf
    int32_t left = -1, right = -1;  // of a pair: earlier symbols
    int32_t first = 0, last = 0;    // letters at its ends
    int64_t length = 1;
  };
  std::vector<Symbol> symbols;  // the last one is the whole sequence
};

// `sequence` must not be empty. The most frequent pair of neighbours becomes a symbol, until none
// comes twice (Larsson and Moffat, "Off-line dictionary-based compression", 2000); what is left is
// put together from the left.
SequenceGrammar MakeSequenceGrammar(const std::vector<int32_t>& sequence);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SEQUENCE_GRAMMAR_H_
