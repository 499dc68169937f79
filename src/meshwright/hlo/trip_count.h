#ifndef MESHWRIGHT_HLO_TRIP_COUNT_H_
#define MESHWRIGHT_HLO_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "meshwright/hlo/module.h"

namespace meshwright {

// How often the body of `while_instruction`, which stands in `parent`, is executed, or nullopt if
// that cannot be told. Taken from `known_trip_count` in the backend config if it is there, else
// derived: the condition compares (LT, LE, GT, GE, NE, EQ) a carried integer with a constant, the
// body adds a constant to that integer, and it starts from a constant. Constants may come through
// loop-invariant elements of the carried tuple and through scalar arithmetic, conversions, calls
// and fusions.
std::optional<int64_t> TripCount(const Module& module, const Instruction& while_instruction,
                                 const Computation& parent);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TRIP_COUNT_H_
