#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_SEGMENTS_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_SEGMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/json_members.h"
#include "meshwright/base/words.h"

// The part of a Plan that only plans with a profile database have: what was chosen for each segment
// of the network, and what that rests on. Each struct lists its members once, for the JSON form's
// writer and reader alike, in the order of the schema.

namespace meshwright {

// What a time rests on.
enum class PlanBasis : uint8_t { kMeasured, kPredicted };
template <>
inline constexpr auto kWords<PlanBasis> = std::to_array<std::string_view>({"measured",
                                                                           "predicted"});

// Equal segments for which the same was chosen. Seconds are of one execution, bytes on one device.
struct PlanSegment {
  std::string fingerprint;  // of its program, see docs/profile-database.md
  int64_t occurrences = 1;
  std::string choice;                      // layouts at its borders, strategies of its blocks
  PlanBasis basis = PlanBasis::kMeasured;  // of `seconds`
  double seconds = 0;                      // median of the samples, or as the cost model has it
  double spread = 0;          // between the first and the third quartile of the samples
  int64_t samples = 0;        // 0: predicted
  double model_seconds = 0;   // what the cost model alone says
  int64_t peak_bytes = 0;     // likewise measured or predicted
  int64_t known_choices = 0;  // of the segment that were measured on this mesh

  MESHWRIGHT_MEMBERS(PlanSegment, fingerprint, occurrences, choice, basis, seconds, spread, samples,
                     model_seconds, peak_bytes, known_choices)
};

// Moves of what crosses a border between segments, there and back.
struct PlanBorderMove {
  std::string shape, from, to;  // of the widest value
  int64_t occurrences = 1;
  PlanBasis basis = PlanBasis::kMeasured;
  double seconds = 0, spread = 0;  // of one occurrence
  int64_t samples = 0;

  MESHWRIGHT_MEMBERS(PlanBorderMove, shape, from, to, occurrences, basis, seconds, spread, samples)
};

// On what was measured.
struct PlanEnvironment {
  std::string device, device_type, driver, libraries;
  int64_t hosts = 1;

  MESHWRIGHT_MEMBERS(PlanEnvironment, device, device_type, driver, libraries, hosts)
};

// A whole step under this plan, as it was measured.
struct PlanMeasuredStep {
  double seconds = 0, spread = 0;  // median of the samples, distance of their quartiles
  int64_t samples = 0;
  double composed_seconds = 0;  // what was expected without it
  int64_t peak_bytes = 0;       // on one device

  MESHWRIGHT_MEMBERS(PlanMeasuredStep, seconds, spread, samples, composed_seconds, peak_bytes)
};

// The search over segments, and what a step consists of besides them.
struct PlanProfile {
  std::optional<PlanEnvironment> environment;  // none: nothing was measured
  double segment_seconds = 0;                  // of a step: of all segments and moves
  double bound_seconds = 0;  // no choices that were looked at take less, whatever memory they need
  bool exact = false;        // none take less than `segment_seconds`
  int64_t choices = 0;       // that were looked at, of all segments together
  // The rest of step_seconds, as the cost model has it; where segments were measured at least the
  // launch overhead of a step, else it may be below 0.
  double other_seconds = 0;
  std::vector<PlanBorderMove> moves;
  std::optional<PlanMeasuredStep> step;  // then step_seconds is of it
  // Whether choices that may take less were left out for the memory they seemed to need. That is an
  // estimate from above: some of them may fit.
  bool limited_by_memory() const { return !exact && bound_seconds > 0; }
  friend bool operator==(const PlanProfile&, const PlanProfile&) = default;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("environment", self.environment);
    visit("segment_seconds", self.segment_seconds);
    visit("bound_seconds", self.bound_seconds);
    visit("exact", self.exact);
    visit("choices", self.choices);
    visit("other_seconds", self.other_seconds, kSigned);
    visit("moves", self.moves);
    visit("step", self.step);
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_SEGMENTS_H_
