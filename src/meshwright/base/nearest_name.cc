#include "meshwright/base/nearest_name.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace meshwright {
namespace {

constexpr size_t kMaxLength = 64;

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
  int nearest_distance = std::numeric_limits<int>::max();
  for (const std::string& name : names) {
    const int distance =
        EditDistance(word.substr(0, kMaxLength), std::string_view(name).substr(0, kMaxLength));
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace meshwright
