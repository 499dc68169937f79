#include "meshwright/plan/text/folded_names.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr std::string_view kAny = "*";
// Longer lists of numbers tell less than that there are some.
constexpr size_t kLongestSet = 24;

// A name cut into its numbers (odd places) and what is between them (even places): "layer12/w" is
// {"layer", "12", "/w"}. A `*` counts as a number, so that folded names fold with others.
std::vector<std::string> NamePieces(std::string_view name) {
  std::vector<std::string> pieces = {""};
  for (char c : name) {
    const bool digit = c == '*' || absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (digit != (pieces.size() % 2 == 0)) pieces.emplace_back();
    pieces.back().push_back(c);
  }
  return pieces;
}

// Ascending; nullopt where one is not the usual text of a number ("007").
std::optional<std::vector<int64_t>> AsNumbers(const std::set<std::string>& texts) {
  std::vector<int64_t> numbers;
  for (const std::string& text : texts) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number) || absl::StrCat(number) != text) return std::nullopt;
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// "0..23", "1..15..2", "0,4..7".
std::string RangesText(const std::vector<int64_t>& numbers) {
  const int64_t step = numbers[1] - numbers[0];
  bool even = numbers.size() > 2;
  for (size_t i = 2; i < numbers.size(); ++i) even = even && numbers[i] - numbers[i - 1] == step;
  if (even) {
    return absl::StrCat(numbers.front(), "..", numbers.back(),
                        step == 1 ? "" : absl::StrCat("..", step));
  }
  std::vector<std::string> runs;
  for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    runs.push_back(end - begin == 1 ? absl::StrCat(numbers[begin])
                                    : absl::StrCat(numbers[begin], end - begin == 2 ? "," : "..",
                                                   numbers[end - 1]));
  }
  return absl::StrJoin(runs, ",");
}

// "{0..23}"; kAny if that is too long, or not to be written so.
std::string SetText(const std::set<std::string>& texts) {
  const bool has_star = std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text.find('*') != std::string::npos;
  });
  if (has_star) return std::string(kAny);
  if (texts.size() == 1) return *texts.begin();
  const std::optional<std::vector<int64_t>> numbers = AsNumbers(texts);
  const std::string set = absl::StrCat(
      "{", numbers.has_value() ? RangesText(*numbers) : absl::StrJoin(texts, ","), "}");
  return set.size() > kLongestSet ? std::string(kAny) : set;
}

}  // namespace

void FoldedName::Add(std::string_view name) {
  if (!names_.emplace(name).second) return;
  std::vector<std::string> pieces = NamePieces(name);
  numbers_.resize(pieces.size() / 2);
  for (size_t i = 1; i < pieces.size(); i += 2) numbers_[i / 2].insert(pieces[i]);
  if (pieces_.empty()) pieces_ = std::move(pieces);
}

bool FoldedName::exact() const {
  double combinations = 1;
  for (const std::set<std::string>& texts : numbers_) {
    if (SetText(texts) == kAny) return false;
    combinations *= static_cast<double>(texts.size());
  }
  return combinations == static_cast<double>(names_.size());
}

std::string FoldedName::text() const {
  const bool is_exact = exact();
  std::vector<std::string> pieces = pieces_;
  for (size_t i = 1; i < pieces.size(); i += 2) {
    const std::set<std::string>& texts = numbers_[i / 2];
    pieces[i] = is_exact || texts.size() == 1 ? SetText(texts) : std::string(kAny);
  }
  return absl::StrJoin(pieces, "");
}

std::string TimesText(int64_t count, bool exact) {
  return count == 1 ? "" : absl::StrCat("x", count, exact ? "" : " of *");
}

std::string FoldedName::Key(std::string_view name) {
  std::vector<std::string> pieces = NamePieces(name);
  for (size_t i = 1; i < pieces.size(); i += 2) pieces[i] = kAny;
  return absl::StrJoin(pieces, "");
}

}  // namespace meshwright
