#include "meshwright/base/nearest_name.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace meshwright {
namespace {

constexpr size_t kMaxLength = 64;

bool BeginsWithWord(std::string_view name, std::string_view word) {
  if (word.empty() || name.substr(0, word.size()) != word) return false;
  return name.size() == word.size() || name[word.size()] == '-' || name[word.size()] == '_';
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
  std::pair<bool, int> nearest_distance = {true, std::numeric_limits<int>::max()};
  for (const std::string& name : names) {
    // All of the word and more ("h100", "h100-sxm") is nearer than another word ("h200").
    const bool is_other = !BeginsWithWord(name, word);
    const std::pair distance = {
        is_other,
        EditDistance(word.substr(0, kMaxLength), std::string_view(name).substr(0, kMaxLength))};
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace meshwright
