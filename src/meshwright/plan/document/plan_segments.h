#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_SEGMENTS_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_SEGMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The part of a Plan that only plans with a profile database have: what was chosen for each segment
// of the network, and what that rests on. Each struct lists its members once, for the JSON form's
// writer and reader alike, in the order of the schema.

namespace meshwright {

// Equal segments for which the same was chosen. Seconds are of one execution, bytes on one device.
struct PlanSegment {
  std::string fingerprint;  // of its program, see docs/profile-database.md
  int64_t occurrences = 1;
  std::string choice;         // layouts at its borders, strategies of its blocks
  std::string basis;          // of `seconds`: "measured", "predicted"
  double seconds = 0;         // median of the samples, or as the cost model has it
  double spread = 0;          // between the first and the third quartile of the samples
  int64_t samples = 0;        // 0: predicted
  double model_seconds = 0;   // what the cost model alone says
  int64_t peak_bytes = 0;     // likewise measured or predicted
  int64_t known_choices = 0;  // of the segment that were measured on this mesh
  friend bool operator==(const PlanSegment&, const PlanSegment&) = default;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("fingerprint", self.fingerprint);
    visit("occurrences", self.occurrences);
    visit("choice", self.choice);
    visit("basis", self.basis);
    visit("seconds", self.seconds);
    visit("spread", self.spread);
    visit("samples", self.samples);
    visit("model_seconds", self.model_seconds);
    visit("peak_bytes", self.peak_bytes);
    visit("known_choices", self.known_choices);
  }
};

// Moves of what crosses a border between segments, there and back.
struct PlanBorderMove {
  std::string shape, from, to;  // of the widest value
  int64_t occurrences = 1;
  std::string basis;
  double seconds = 0, spread = 0;  // of one occurrence
  int64_t samples = 0;
  friend bool operator==(const PlanBorderMove&, const PlanBorderMove&) = default;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("shape", self.shape);
    visit("from", self.from);
    visit("to", self.to);
    visit("occurrences", self.occurrences);
    visit("basis", self.basis);
    visit("seconds", self.seconds);
    visit("spread", self.spread);
    visit("samples", self.samples);
  }
};

// On what was measured.
struct PlanEnvironment {
  std::string device, device_type, driver, libraries;
  int64_t hosts = 1;
  friend bool operator==(const PlanEnvironment&, const PlanEnvironment&) = default;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("device", self.device);
    visit("device_type", self.device_type);
    visit("driver", self.driver);
    visit("libraries", self.libraries);
    visit("hosts", self.hosts);
  }
};

// A whole step under this plan, as it was measured.
struct PlanMeasuredStep {
  double seconds = 0, spread = 0;  // median of the samples, distance of their quartiles
  int64_t samples = 0;
  double composed_seconds = 0;  // what was expected without it
  int64_t peak_bytes = 0;       // on one device
  friend bool operator==(const PlanMeasuredStep&, const PlanMeasuredStep&) = default;

  template <typename Self, typename Visitor>
  static void VisitMembers(Self& self, const Visitor& visit) {
    visit("seconds", self.seconds);
    visit("spread", self.spread);
    visit("samples", self.samples);
    visit("composed_seconds", self.composed_seconds);
    visit("peak_bytes", self.peak_bytes);
  }
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
    visit("other_seconds", self.other_seconds);
    visit("moves", self.moves);
    visit("step", self.step);
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_SEGMENTS_H_
