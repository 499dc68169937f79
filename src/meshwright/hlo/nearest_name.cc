#include "meshwright/hlo/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace meshwright {
namespace {

// Levenshtein distance, row by row.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view NearestName(std::string_view name, absl::Span<const std::string_view> candidates) {
  name = name.substr(0, 64);
  std::string_view nearest;
  size_t nearest_distance = std::numeric_limits<size_t>::max();
  for (const std::string_view candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace meshwright
