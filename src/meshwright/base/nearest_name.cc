#include "meshwright/base/nearest_name.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace meshwright {
namespace {

constexpr size_t kMaxLength = 64;

bool BeginsWithWord(std::string_view name, std::string_view word) {
  if (word.empty() || name.substr(0, word.size()) != word) return false;
  return name.size() == word.size() || name[word.size()] == '-' || name[word.size()] == '_';
}

constexpr size_t kLeastPart = 3;  // letters of a part that says something

// The parts of a name between dashes, but short ones.
std::vector<std::string_view> PartsOfName(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find_first_of("-_", begin), name.size());
    if (end - begin >= kLeastPart) parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// How many parts of `name` the word does not have, if it has any; else far more.
int PartsBeside(std::string_view word, std::string_view name) {
  const std::vector<std::string_view> parts = PartsOfName(word), others = PartsOfName(name);
  const auto shared = std::count_if(others.begin(), others.end(), [&](std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  });
  return shared == 0 ? static_cast<int>(kMaxLength) : static_cast<int>(others.size() - shared);
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const int substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string NearestName(std::string_view word, const std::vector<std::string>& names) {
  std::string nearest;
  constexpr int kFarthest = std::numeric_limits<int>::max();
  std::tuple nearest_distance = {kFarthest, kFarthest, kFarthest};
  for (const std::string& name : names) {
    const int edits =
        EditDistance(word.substr(0, kMaxLength), std::string_view(name).substr(0, kMaxLength));
    // All of the word and more ("h100", "h100-sxm") is nearer than another word ("h200"), and a
    // typo nearer than what has a part in common.
    const bool is_typo = edits <= static_cast<int>(word.size() / 3);
    const bool goes_on = BeginsWithWord(name, word);
    const std::tuple distance = {goes_on   ? 0
                                 : is_typo ? 1
                                           : 2,
                                 goes_on || is_typo ? 0 : PartsBeside(word, name), edits};
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::vector<std::string> NamesLike(std::string_view word, const std::vector<std::string>& names,
                                   size_t most) {
  std::string_view piece;
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = std::min(word.find_first_of("*?", begin), word.size());
    if (end - begin > piece.size()) piece = word.substr(begin, end - begin);
    begin = end + 1;
  }
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& name : names) {
    if (!piece.empty() && name.find(piece) != std::string::npos)
      ranked.emplace_back(static_cast<int>(name.size()), name);
  }
  if (ranked.empty()) {
    for (const std::string& name : names) {
      const size_t longer = std::max(name.size(), word.size()),
                   shorter = std::min(name.size(), word.size());
      // Programs have many names, and far ones are no help.
      if (longer - shorter > kMaxLength / 4 || longer > 4 * kMaxLength) continue;
      ranked.emplace_back(EditDistance(word, name), name);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> like;
  for (size_t i = 0; i < std::min(most, ranked.size()); ++i)
    like.push_back(std::move(ranked[i].second));
  return like;
}

}  // namespace meshwright
