#ifndef MESHWRIGHT_PROFILE_CHOICE_QUEUE_H_
#define MESHWRIGHT_PROFILE_CHOICE_QUEUE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/profile/choice.h"
#include "meshwright/profile/network_times.h"
#include "meshwright/profile/segment_space.h"

namespace meshwright {

// How far a segment has got.
struct SegmentState {
  std::vector<PredictedChoice> ahead;  // looked at, not measured yet
  bool ended = false;                  // there are no more
  double objective = 0;                // of the last one that was looked at
  int64_t measured = 0, failed = 0;
  int64_t too_large = 0;                // do not fit
  std::optional<PredictedChoice> best;  // the fastest that was measured
  // The fastest with the batch whole at both borders, and its phases: what is left is the update.
  double whole_seconds = std::numeric_limits<double>::infinity();
  double whole_forward = 0, whole_backward = 0;
  double best_seconds = std::numeric_limits<double>::infinity(), best_spread = 0;
  double over = 0;   // the most that was predicted for what was measured, as a ratio
  double moves = 0;  // R of HopelessFrom
  std::set<std::string> entries, exits;  // of measured choices
};

// Which choices of which segments to measure next: those with which the whole network takes least,
// as predicted (NetworkTimes over all choices that were looked at), so that whenever measuring ends
// the most promising ones are done. Left out:
//  * choices that need more memory than a device has by more than a fifth, as predicted;
//  * those that cannot be part of the fastest plan. Let t be the least time that was measured of
//    the segment, R the most that moving from any layout to any other costs at both of its borders,
//    there and back, by the cost model, and q the largest ratio of predicted to measured time so
//    far. A choice with a predicted time above (q t + R) kModelSlack is more expensive than the
//    best one with both borders moved, unless the model is off by kModelSlack more than it ever
//    was.
class ChoiceQueue {
 public:
  ChoiceQueue(SegmentSpace& space, int64_t memory_bytes);

  // Counts what was measured before, by segment, by choice, as far as it gets until `stop` says
  // true. Call once, first.
  absl::Status CountKnown(const std::vector<std::map<std::string, ProfileMeasurement>>& known,
                          const std::function<bool()>& stop);
  // Looks at a few choices of every segment, until `stop` says true. Call once, second.
  absl::Status LookAtFirst(const std::function<bool()>& stop);
  // The next choice to measure, taken off; nullopt: there are no more, or `stop` is true before.
  absl::StatusOr<std::optional<std::pair<int32_t, PredictedChoice>>> Next(
      const std::function<bool()>& stop);
  // Puts choices that Next gave back, to be given again.
  void GiveBack(std::vector<std::pair<int32_t, PredictedChoice>> choices);
  // Looks at one more choice, of the segment of which fewest are ahead, if that comes up before
  // `stop` says true.
  absl::Status LookAhead(const std::function<bool()>& stop);
  // What was measured of a choice.
  void Count(int32_t segment, const PredictedChoice& choice, const ProfileMeasurement& measurement);

  const std::vector<SegmentState>& states() const { return states_; }
  int64_t known() const { return known_; }  // choices that had been measured before
  // Choices of a segment that were looked at and cannot be best.
  int64_t Hopeless(int32_t segment) const;
  // Every choice of a segment was measured or cannot be best.
  bool IsComplete(int32_t segment) const;

 private:
  void FindMoves();
  static double HopelessFrom(const SegmentState& state);
  absl::StatusOr<bool> LookAt(int32_t segment, const std::function<bool()>& stop);
  static bool IsWorthMore(const SegmentState& state);
  void Offer(int32_t segment, const PredictedChoice& choice);
  double NetworkSeconds(int32_t segment, const PredictedChoice& choice) const;

  SegmentSpace& space_;
  const int64_t memory_bytes_;
  std::vector<SegmentState> states_;
  std::vector<std::set<std::string>> seen_;  // by segment: keys that were known
  std::optional<NetworkTimes> times_;
  bool outdated_ = true;  // times_ does not know of all choices
  int64_t known_ = 0;
};

inline constexpr double kModelSlack = 1.25;

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_CHOICE_QUEUE_H_
