#include "meshwright/base/glob.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The number that `text` is, written as usual ("7", not "007").
std::optional<int64_t> UsualNumber(absl::string_view text) {
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number) && absl::StrCat(number) == text) return number;
  return std::nullopt;
}

// One entry of a set of numbers: "7", "0..23" or "1..15..2".
struct NumberRange {
  absl::string_view text;
  int64_t first = 0, last = 0, step = 0;  // step 0: the text itself

  static std::optional<NumberRange> Parse(absl::string_view text) {
    NumberRange range{.text = text};
    if (!text.empty() && std::all_of(text.begin(), text.end(), IsDigit)) return range;
    const std::vector<absl::string_view> ends = absl::StrSplit(text, "..");
    if (ends.size() < 2 || ends.size() > 3) return std::nullopt;
    const auto first = UsualNumber(ends[0]), last = UsualNumber(ends[1]);
    const auto step = ends.size() == 3 ? UsualNumber(ends[2]) : int64_t{1};
    if (!first.has_value() || !last.has_value() || !step.has_value() || *first < 0 || *step < 1)
      return std::nullopt;
    range.first = *first;
    range.last = *last;
    range.step = *step;
    return range;
  }

  bool Contains(absl::string_view digits) const {
    if (step == 0) return digits == text;
    const std::optional<int64_t> number = UsualNumber(digits);
    return number.has_value() && *number >= first && *number <= last &&
           (*number - first) % step == 0;
  }
};

// A set of numbers at the beginning of a pattern: "{0..3,7}".
struct NumberSet {
  std::vector<NumberRange> ranges;
  size_t length = 0;  // of its text

  static std::optional<NumberSet> Parse(std::string_view pattern) {
    const size_t end = pattern.find('}');
    if (pattern.empty() || pattern[0] != '{' || end == std::string_view::npos) return std::nullopt;
    NumberSet set{.length = end + 1};
    for (const absl::string_view part :
         absl::StrSplit(ToAbsl(pattern.substr(1, end - 1)), absl::ByChar(','))) {
      const std::optional<NumberRange> range = NumberRange::Parse(part);
      if (!range.has_value()) return std::nullopt;
      set.ranges.push_back(*range);
    }
    return set;
  }

  // Length of the number at `text[at]`, where it begins and is of the set; 0: it is not.
  size_t Match(std::string_view text, size_t at) const {
    if (at > 0 && IsDigit(text[at - 1])) return 0;
    size_t end = at;
    while (end < text.size() && IsDigit(text[end])) ++end;
    const absl::string_view digits = ToAbsl(text.substr(at, end - at));
    const bool found =
        !digits.empty() && std::any_of(ranges.begin(), ranges.end(), [&](const NumberRange& range) {
          return range.Contains(digits);
        });
    return found ? digits.size() : 0;
  }
};

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text) {
  if (pattern == text) return true;
  absl::flat_hash_map<size_t, NumberSet> sets;  // by where they begin
  for (size_t i = pattern.find('{'); i != std::string_view::npos; i = pattern.find('{', i + 1)) {
    if (auto set = NumberSet::Parse(pattern.substr(i))) sets.emplace(i, *std::move(set));
  }
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, resume = 0;  // last `*` and where its match ends so far
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (const auto set = sets.find(p); set != sets.end() && set->second.Match(text, t) > 0) {
      p += set->second.length;
      t += set->second.Match(text, t);
    } else if (p < pattern.size() && set == sets.end() &&
               (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace meshwright
