#ifndef MESHWRIGHT_EXPLAIN_PLAN_DIFFERENCE_H_
#define MESHWRIGHT_EXPLAIN_PLAN_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/plan/document/plan.h"

// What changed from one plan to another, repeated structure put together.

namespace meshwright {

// Something that was asked for or found, as text.
struct ChangedText {
  std::string what, before, after;  // "mesh", "x=2,y=4", "x=8"
};

struct ChangedSeconds {
  std::string what;
  double before = 0, after = 0;
};

struct ChangedBytes {
  std::string what;
  int64_t before = 0, after = 0;
};

// Collectives of one kind over the same axes, or of other meshes over as many devices.
struct ChangedCollective {
  PlanCollective before, after;  // count 0: there are none
};

// Arrays, parameters or results of operators, whose names differ only in their numbers and that
// changed alike.
struct ChangedArrays {
  std::string name;   // folded, see FoldedName
  bool exact = true;  // likewise
  int64_t count = 0;
  std::string type;                           // "f32[4,8]"; "f32[4,8] -> bf16[4,8]"
  std::string before, after;                  // how it is kept, "[x,_]"; empty: not there
  int64_t bytes_before = 0, bytes_after = 0;  // on one device, all of them
};

struct PlanDifference {
  // Versions of the tool, inputs, options, clusters, meshes, what schedules the stages.
  std::vector<ChangedText> asked, found;
  std::vector<ChangedSeconds> seconds;         // the step, and what it consists of
  std::vector<ChangedBytes> memory;            // the peak, then by category
  std::vector<ChangedCollective> collectives;  // the largest change of seconds first
  std::vector<ChangedArrays> parameters;       // the largest change of bytes first
  // Of plans without stages on equal meshes; in program order.
  std::vector<ChangedArrays> instructions;
  std::vector<ChangedText> stages;
  std::vector<ChangedText> degrees;  // of plans of models

  // Whether the plans are the same, but for how long planning took.
  bool identical = false;
};

// Whether `a` and `b`, parts of sums up to `all`, are equal but for the order in which they were
// added up.
bool SameUpToRounding(double a, double b, double all);

// Only what differs by more than rounding is listed, but in `seconds` the step and in `memory` the
// peak, which always are.
PlanDifference DiffPlans(const Plan& before, const Plan& after);

// For a terminal; `before` and `after` as in DiffPlans.
std::string DiffText(const Plan& before, const Plan& after, const PlanDifference& difference);
std::string DiffJson(const PlanDifference& difference);

// The parts of DiffText that say how time and memory changed.
std::string CausesText(const Plan& before, const PlanDifference& difference);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_PLAN_DIFFERENCE_H_
