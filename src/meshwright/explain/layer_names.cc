#include "meshwright/explain/layer_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace meshwright {
namespace {

constexpr std::string_view kSeparators = "[]./'\"";

bool IsDigitOfName(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

struct NumberInName {
  size_t begin = 0, end = 0;
  bool named = false;    // behind a letter or "_"
  bool part = false;     // of a path, by itself
  bool in_last = false;  // in the last part of the path
  std::string before;    // what stands before it, numbers as "*"
};

// A name with "*" for its numbers, and these.
struct NumberedName {
  std::string pattern;
  std::string folder;  // the pattern up to the last part of the path
  std::vector<NumberInName> numbers;
};

bool StandsAlone(char before, char after) {
  return (before == '[' && after == ']') || (before == '.' && after == '.') ||
         (before == '/' && after == '/') || (before == '\'' && after == '\'');
}

NumberedName ReadNumbers(const std::string& name) {
  const size_t last_letter = name.find_last_not_of(kSeparators);
  const size_t last_separator =
      last_letter == std::string::npos ? last_letter : name.find_last_of(kSeparators, last_letter);
  const size_t last_part = last_separator == std::string::npos ? 0 : last_separator + 1;
  NumberedName result;
  for (size_t i = 0; i < name.size();) {
    if (i == last_part) result.folder = result.pattern;
    if (!IsDigitOfName(name[i])) {
      result.pattern.push_back(name[i++]);
      continue;
    }
    NumberInName number;
    number.begin = i;
    number.before = result.pattern;
    while (i < name.size() && IsDigitOfName(name[i])) ++i;
    number.end = i;
    const char before = number.begin == 0 ? ' ' : name[number.begin - 1];
    number.named = absl::ascii_isalpha(static_cast<unsigned char>(before)) || before == '_';
    number.part = StandsAlone(before, i == name.size() ? ' ' : name[i]);
    number.in_last = number.begin >= last_part;
    result.numbers.push_back(std::move(number));
    result.pattern.push_back('*');
  }
  return result;
}

// Names of one pattern.
struct NamePattern {
  NumberedName like;
  std::vector<std::set<std::string>> values;  // by number
  int64_t place = -1;                         // the number that counts layers

  const NumberInName& counting() const { return like.numbers[static_cast<size_t>(place)]; }
};

using NamePatterns = std::map<std::string, NamePattern>;

void ChoosePlace(NamePattern& pattern) {
  std::tuple<bool, bool, size_t> best;
  for (size_t k = 0; k < pattern.values.size(); ++k) {
    const NumberInName& number = pattern.like.numbers[k];
    if (pattern.values[k].size() < 2 || (!number.named && !number.part)) continue;
    const std::tuple rank(!number.in_last, number.named, pattern.values[k].size());
    if (pattern.place >= 0 && rank <= best) continue;
    best = rank;
    pattern.place = static_cast<int64_t>(k);
  }
}

// Numbers in the last part count layers if all that lies beside is numbered alike. At the root
// there are inputs too.
bool NumberedAlike(const NamePatterns& patterns, const NamePattern& one) {
  const std::set<std::string>& values = one.values[static_cast<size_t>(one.place)];
  return std::all_of(patterns.begin(), patterns.end(), [&](const auto& entry) {
    const NamePattern& other = entry.second;
    if (other.like.folder != one.like.folder) return true;
    const bool numbered = other.place >= 0 && other.counting().in_last;
    if (!numbered) return one.like.folder.empty();
    return other.values[static_cast<size_t>(other.place)] == values;
  });
}

bool IsOutsideOfOthers(const NamePatterns& patterns, const NamePattern& one) {
  const std::string& before = one.counting().before;
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& entry) {
    const NamePattern& other = entry.second;
    return other.place >= 0 && other.counting().before.size() > before.size() &&
           absl::StartsWith(other.counting().before, before);
  });
}

}  // namespace

std::vector<LayerInName> LayersInNames(const std::vector<std::string>& names) {
  NamePatterns patterns;
  std::vector<NumberedName> read;
  for (const std::string& name : names) {
    const NumberedName& one = read.emplace_back(ReadNumbers(name));
    NamePattern& pattern =
        patterns.try_emplace(one.pattern, NamePattern{one, {}, -1}).first->second;
    pattern.values.resize(one.numbers.size());
    for (size_t k = 0; k < one.numbers.size(); ++k) {
      pattern.values[k].insert(
          name.substr(one.numbers[k].begin, one.numbers[k].end - one.numbers[k].begin));
    }
  }
  for (auto& [key, pattern] : patterns) ChoosePlace(pattern);
  std::set<std::string> refused;
  for (const auto& [key, pattern] : patterns) {
    if (pattern.place < 0) continue;
    if (IsOutsideOfOthers(patterns, pattern) ||
        (pattern.counting().in_last && !NumberedAlike(patterns, pattern))) {
      refused.insert(key);
    }
  }
  std::vector<LayerInName> layers(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const NamePattern& pattern = patterns.at(read[i].pattern);
    if (pattern.place < 0 || refused.contains(read[i].pattern)) continue;
    const NumberInName& number = read[i].numbers[static_cast<size_t>(pattern.place)];
    layers[i] = {pattern.place, number.begin, number.end - number.begin};
  }
  return layers;
}

}  // namespace meshwright
