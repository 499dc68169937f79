#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_TIME_CLASS_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_TIME_CLASS_H_

#include "meshwright/base/json_members.h"
#include "meshwright/cost/stated_error.h"

namespace meshwright {

// What a step spends on one class of work, and how far that may be off.
struct PlanTimeClass {
  TimeClass name = TimeClass::kLoop;
  double seconds = 0;    // of a device, on average over all
  double error = 0;      // a share of that
  bool measured = true;  // on a device of this type; else scaled by data sheets from one that was

  MESHWRIGHT_MEMBERS(PlanTimeClass, name, seconds, error, measured)
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_TIME_CLASS_H_
