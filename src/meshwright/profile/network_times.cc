#include "meshwright/profile/network_times.h"

#include <algorithm>
#include <limits>

namespace meshwright {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

NetworkTimes::NetworkTimes(std::vector<int32_t> sequence,
                           std::vector<std::pair<int32_t, int32_t>> layouts,
                           std::map<std::pair<int32_t, int32_t>, Matrix> moves)
    : sequence_(std::move(sequence)), moves_(std::move(moves)) {
  for (const auto& [entries, exits] : layouts)
    best_.emplace_back(entries, std::vector<double>(exits, kNever));
}

void NetworkTimes::Offer(int32_t segment, int32_t entry, int32_t exit, double seconds) {
  double& best = best_[segment][entry][exit];
  best = std::min(best, seconds);
}

void NetworkTimes::Update() {
  const size_t n = sequence_.size();
  before_.assign(n, {});
  behind_.assign(n, {});
  for (size_t p = 0; p < n; ++p) {
    const Matrix& here = best_[sequence_[p]];
    before_[p].assign(here.size(), p == 0 ? 0 : kNever);
    if (p == 0) continue;
    const Matrix& last = best_[sequence_[p - 1]];
    const Matrix& move = moves_.at({sequence_[p - 1], sequence_[p]});
    for (size_t x = 0; x < last[0].size(); ++x) {
      double left = kNever;
      for (size_t e = 0; e < last.size(); ++e)
        left = std::min(left, before_[p - 1][e] + last[e][x]);
      for (size_t e = 0; e < here.size(); ++e)
        before_[p][e] = std::min(before_[p][e], left + move[x][e]);
    }
  }
  for (size_t p = n; p-- > 0;) {
    const Matrix& here = best_[sequence_[p]];
    behind_[p].assign(here[0].size(), p + 1 == n ? 0 : kNever);
    if (p + 1 == n) continue;
    const Matrix& next = best_[sequence_[p + 1]];
    const Matrix& move = moves_.at({sequence_[p], sequence_[p + 1]});
    for (size_t e = 0; e < next.size(); ++e) {
      double rest = kNever;
      for (size_t x = 0; x < next[e].size(); ++x)
        rest = std::min(rest, next[e][x] + behind_[p + 1][x]);
      for (size_t x = 0; x < behind_[p].size(); ++x)
        behind_[p][x] = std::min(behind_[p][x], move[x][e] + rest);
    }
  }
}

double NetworkTimes::With(int32_t segment, int32_t entry, int32_t exit, double seconds) const {
  double least = kNever;
  for (size_t p = 0; p < sequence_.size(); ++p) {
    if (sequence_[p] == segment)
      least = std::min(least, before_[p][entry] + seconds + behind_[p][exit]);
  }
  return least;
}

}  // namespace meshwright
