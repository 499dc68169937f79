#ifndef MESHWRIGHT_PROFILE_PLAN_PROFILED_H_
#define MESHWRIGHT_PROFILE_PLAN_PROFILED_H_

#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

// Like PlanProgram, with what request.database knows. On every mesh on which most was measured:
//  1. The program becomes a sequence of segments (SegmentSpace), each with the choices that were
//     measured there and the cheapest by the cost model (CandidateSpace).
//  2. SearchSegments takes one for each, moves between them included, within the memory.
//  3. The whole program is planned with all that the choices decide given (GiveChoices); what lies
//     between and behind is the planner's.
//  4. Its step_seconds are the model's, less what that says of the segments and moves, and with
//     what was measured of them (or predicted with the measured bias) instead.
// Where a plan needs more memory than the segments seemed to, 2 is repeated with so much less. If
// nothing fits so, the mesh is planned without the segments, and a warning says so.
//
// Plans are compared on one footing only. Meshes on which every segment was measured go before
// those on which some were, and these before those on which none was: the latter are looked at
// where no plan of the former fits into the memory. A warning names the meshes left out. Where a
// whole step was measured on each of the others, these times decide, else what the plans are put
// together to.
//
// Errors: see PlanProgram, KnownProfiles::Read, SegmentSpace::Make; with fixes, shardings that
// follow as in XLA or cost models without seconds.
absl::StatusOr<PlannedProgram> PlanProfiledProgram(const ProgramRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PLAN_PROFILED_H_
