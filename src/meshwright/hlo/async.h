#ifndef MESHWRIGHT_HLO_ASYNC_H_
#define MESHWRIGHT_HLO_ASYNC_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether what an `async-start` (or a start printed as `X-start`) calls is the wrapped operation,
// so that its instructions run in its place. Of a reduce-scatter and the like it is the reduction,
// which stays an attribute.
bool CallsWrappedOperation(const Instruction& start);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_ASYNC_H_
