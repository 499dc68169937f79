#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_TIME_USE_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_TIME_USE_H_

#include "meshwright/base/json_members.h"

namespace meshwright {

// What the devices do during a step of a program, in seconds of a device, on average over all of
// them. The parts add up to the step; the first one's share is the MFU, and all others are where
// the missing MFU goes.
struct PlanTimeUse {
  // What the flops of the program's matmuls, convolutions and attention take at the peak rates of
  // their types on all devices.
  double matmuls_at_peak = 0;
  double matmuls_below_peak = 0;     // what their kernels take beyond that
  double other_kernels = 0;          // bound by memory bandwidth, nearly all of them
  double recomputation = 0;          // of stages, for their backward phase
  double exposed_communication = 0;  // not hidden, and what the hidden takes from kernels
  double bubble = 0;                 // of a pipeline, with what is sent between stages
  double launch_overhead = 0;

  MESHWRIGHT_MEMBERS(PlanTimeUse, matmuls_at_peak, matmuls_below_peak, other_kernels, recomputation,
                     exposed_communication, bubble, launch_overhead)
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_TIME_USE_H_
