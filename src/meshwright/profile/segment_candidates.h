#ifndef MESHWRIGHT_PROFILE_SEGMENT_CANDIDATES_H_
#define MESHWRIGHT_PROFILE_SEGMENT_CANDIDATES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/profile/known_profiles.h"
#include "meshwright/profile/segment_search.h"
#include "meshwright/profile/segment_space.h"

namespace meshwright {

// A choice for a segment, and what it takes.
struct SegmentCandidate {
  PredictedChoice predicted;
  std::optional<ProfileMeasurement> measured;
  double seconds = 0;           // measured; or predicted, times SegmentCandidates::model_scale
  int64_t peak_bytes() const {  // of the segment by itself
    return measured.has_value() ? measured->peak_bytes : predicted.peak_bytes();
  }
};

struct SegmentCandidates {
  std::vector<SegmentCandidate>
      list;  // cheapest first, as predicted; then what was measured besides
  // How far predictions of this segment are off: the median of measured over predicted times; if
  // nothing of it was measured, the median of those of the others; 1 if nothing was at all.
  double model_scale = 1;
  int64_t measured = 0;  // choices
  int64_t refused = 0;   // that were measured to fail or to need too much memory: not in the list
};

// How many choices are looked at; one of each segment at least.
struct CandidateLimits {
  int most_predicted = 256;  // of a segment
  double seconds = 15;       // of all segments together
  // Leave out choices that by the planner's objective are more expensive than the cheapest of their
  // segment with both its borders moved, whatever the layouts. Where memory is short they may be
  // needed.
  bool only_fastest = false;
  std::function<bool()> stop;  // asked often; once it says true looking at choices ends
};

// A move of what crosses a border between segments, there and, in training, back.
struct BorderMove {
  double seconds = 0, spread = 0;
  int32_t samples = 0;  // the fewer of both ways; 0: some way was not measured but predicted
};

// The problem of choosing one candidate for every position, and how to read its answer.
struct CandidateProblem {
  SegmentProblem problem;
  // By segment of the problem: the segment that it is, and how many positions of the sequence one
  // of its positions stands for.
  std::vector<std::pair<int32_t, int32_t>> runs;
  std::vector<std::vector<int32_t>> candidates;  // by segment of the problem, by option

  // Candidates, by position of the whole sequence.
  std::vector<int32_t> Expand(const std::vector<int32_t>& choice) const;
};

// The segments of a program on a mesh with what is known of their choices.
class CandidateSpace {
 public:
  // All must outlive it. Errors: see SegmentSpace::Next; a segment without any choice that can be
  // had; Cancelled: was stopped before every segment had one.
  static absl::StatusOr<CandidateSpace> Make(SegmentSpace& space, const Mesh& mesh,
                                             const KnownProfiles& known,
                                             const CandidateLimits& limits);

  const std::vector<SegmentCandidates>& segments() const { return segments_; }
  // The choice with this key, whether it is listed or not. Errors: SegmentSpace::ParseKey, Predict.
  absl::StatusOr<SegmentCandidate> Candidate(int32_t segment, const std::string& key) const;
  // The move of what leaves `segment` in layout `exit`, for one that wants `entry`. What was not
  // measured is predicted, times as much as predictions of moves, else those of segments, are off.
  BorderMove Move(int32_t segment, const std::string& exit, const std::string& entry) const;
  // Seconds of the same by the cost model alone.
  double PredictedMove(int32_t segment, const std::string& exit, const std::string& entry) const;
  // Positions that are the same operators (SegmentSpace::same_as) are one, with as many times the
  // seconds and kept bytes; of those only candidates with equal borders count.
  CandidateProblem Problem(int64_t memory_limit) const;

 private:
  CandidateSpace(SegmentSpace& space, const Mesh& mesh, const KnownProfiles& known)
      : space_(space), mesh_(mesh), known_(known) {}
  absl::Status Collect(int32_t segment, const CandidateLimits& limits, double seconds);
  double WorstMoves(int32_t segment) const;
  absl::Status AddMeasured(int32_t segment, const CandidateLimits& limits);
  void ScaleModel();

  SegmentSpace& space_;
  const Mesh& mesh_;
  const KnownProfiles& known_;
  std::vector<SegmentCandidates> segments_;
  double move_scale_ = 1;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SEGMENT_CANDIDATES_H_
