#ifndef MESHWRIGHT_PROFILE_NETWORK_TIMES_H_
#define MESHWRIGHT_PROFILE_NETWORK_TIMES_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace meshwright {

// What a network takes at least if one of its segments is run in a given way: which choices are
// worth measuring first. Ways are told apart by how values at the borders are laid out (numbers
// from 0 on) and by their time.
class NetworkTimes {
 public:
  using Matrix = std::vector<std::vector<double>>;  // seconds

  // `layouts`: by segment, how many there are at its entry and exit, at least 1. `moves`: by two
  // segments that follow each other, [exit of the first][entry of the second].
  NetworkTimes(std::vector<int32_t> sequence, std::vector<std::pair<int32_t, int32_t>> layouts,
               std::map<std::pair<int32_t, int32_t>, Matrix> moves);

  // A segment can be run so.
  void Offer(int32_t segment, int32_t entry, int32_t exit, double seconds);

  // By dynamic programming in both directions, with all that was offered. Linear in the sequence.
  void Update();
  // Seconds of the fastest network with such a way at the place that suits it best, the fastest
  // offered everywhere else; infinite if nothing was offered for some segment. After Update.
  double With(int32_t segment, int32_t entry, int32_t exit, double seconds) const;

 private:
  const std::vector<int32_t> sequence_;
  const std::map<std::pair<int32_t, int32_t>, Matrix> moves_;
  std::vector<Matrix> best_;                 // by segment, [entry][exit]
  std::vector<std::vector<double>> before_;  // by position, entry: of what comes before
  std::vector<std::vector<double>> behind_;  // by position, exit: of what comes behind
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_NETWORK_TIMES_H_
