#ifndef MESHWRIGHT_PROFILE_WHOLE_STEP_H_
#define MESHWRIGHT_PROFILE_WHOLE_STEP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/profile/choice.h"

// A whole step under a plan as something to measure. Segments tell which plans are worth it; how
// fast one of these is, only the whole step tells, with all that overlaps in it.

namespace meshwright {

// ProfileKey::program of a whole step: "step" and 64 hexadecimal digits of the program (operators,
// types, shapes, attributes and data flow; no names).
std::string StepProgram(const Graph& graph);

// How a plan of a whole step came about, so that it can be made again.
struct StepChoice {
  // 16 hexadecimal digits of how the plan keeps and moves every value, ProfileKey::choice: what is
  // measured of it is of the plan, whichever choices lead to it. If the same choices lead to
  // another plan, by another version or with other options, what was measured is not of that.
  std::string plan;
  // PredictedChoice::key by position of SegmentSpace::sequence(); empty: planned by the cost model
  // without segments.
  std::vector<std::string> segments;

  // Profile::description of the plan, equal segments in a row as one: "whole step: 1 [..] ;
  // 24 [..] > [..] ; 1 [..]", "whole step: by the cost model".
  std::string Way() const;
  // Error: malformed.
  static absl::StatusOr<StepChoice> Parse(const std::string& plan, const std::string& way);
  friend bool operator==(const StepChoice&, const StepChoice&) = default;
};

// StepChoice::plan.
std::string PlanDigest(const Graph& graph, const Mesh& mesh, const IntraPlan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_WHOLE_STEP_H_
