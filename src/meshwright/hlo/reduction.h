#ifndef MESHWRIGHT_HLO_REDUCTION_H_
#define MESHWRIGHT_HLO_REDUCTION_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// The scalar function of a reduce, reduce-window, scatter, all-reduce, reduce-scatter and so on.
enum class BodyKind {
  kAdd,
  kMultiply,
  kMaximum,
  kMinimum,
  kAnd,    // also the minimum or product of pred
  kOr,     // also the maximum or sum of pred
  kOther,  // anything else: several results, or not one operation on the two arguments
};

// Classifies `body`, a function of two scalars: one operation on both parameters, in either order,
// where converts (bf16 summed as f32), copies and bitcasts may stand around it. A body of more than
// two parameters (a variadic reduce) is kOther.
BodyKind ClassifyBody(const Module& module, ComputationId body);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_REDUCTION_H_
