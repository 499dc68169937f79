#ifndef MESHWRIGHT_TESTS_HLO_MUTATOR_H_
#define MESHWRIGHT_TESTS_HLO_MUTATOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"

namespace meshwright {

// Damages programs: one to three random changes at a time. `pieces` are what tends to meet a
// reader's assumptions; they must outlive the mutator.
class Mutator {
 public:
  Mutator(uint64_t seed, absl::Span<const std::string_view> pieces)
      : random_(seed), pieces_(pieces) {}

  std::string Mutate(std::string text) {
    for (size_t n = 1 + Below(3); n > 0; --n) text = MutateOnce(std::move(text));
    return text;
  }
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

 private:
  std::string MutateOnce(std::string text) {
    const size_t at = Below(text.size() + 1);
    const std::string_view piece = pieces_[Below(pieces_.size())];
    switch (Below(8)) {
      case 0:
        return text.substr(0, at);
      case 1:
        return text.insert(at, piece);
      case 2:
        return text.erase(at, 1 + Below(8));
      case 3:
        return at < text.size() ? text.replace(at, 1, piece) : text;
      case 4:
        return text.insert(at, 1, static_cast<char>(Below(256)));
      case 5:
        if (at < text.size()) text[at] = static_cast<char>(Below(256));
        return text;
      case 6:
        return ReplaceNumber(std::move(text), at);
      default:
        return MutateLines(text);
    }
  }

  // Another number for the first one after `at`: keeps the text readable, so that checks behind the
  // reader are met.
  std::string ReplaceNumber(std::string text, size_t at) {
    const size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return text;
    const size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    return text.replace(begin, end - begin, std::to_string(Below(Below(2) != 0 ? 6 : 100000)));
  }

  // Removes, repeats or swaps lines.
  std::string MutateLines(const std::string& text) {
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    const size_t a = Below(lines.size());
    const size_t b = Below(lines.size());
    switch (Below(3)) {
      case 0:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(a));
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(a), lines[b]);
        break;
      default:
        std::swap(lines[a], lines[b]);
    }
    return absl::StrJoin(lines, "\n");
  }

  std::mt19937_64 random_;
  absl::Span<const std::string_view> pieces_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_HLO_MUTATOR_H_
