#include "meshwright/cluster/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace meshwright {
namespace {

constexpr size_t kMaxLength = 64;

// Levenshtein distance, one row at a time.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitution = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitution, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(std::string_view word, const std::vector<std::string>& names) {
  std::string best;
  size_t best_distance = std::numeric_limits<size_t>::max();
  for (const std::string& name : names) {
    const size_t distance =
        EditDistance(word.substr(0, kMaxLength), std::string_view(name).substr(0, kMaxLength));
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace meshwright
