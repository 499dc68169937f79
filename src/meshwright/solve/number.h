#ifndef MESHWRIGHT_SOLVE_NUMBER_H_
#define MESHWRIGHT_SOLVE_NUMBER_H_

#include <cstdint>

#include "meshwright/solve/problem.h"

// The numbers of costs and usages in the solver's parts. Sums of them must fit, so the build
// compiles these parts twice from the same sources: on 64-bit numbers in namespace `narrow`, which
// real problems keep to (it takes six days in picoseconds, or two exabytes, to exceed them) and
// which runs in vector registers, and on 128-bit numbers in namespace `wide`, which hold every sum
// of a Problem's 64-bit ones. solver.cc picks one for each problem. `narrow` is inline: what is not
// said to be wide is narrow.

#ifdef MESHWRIGHT_SOLVE_WIDE
#define MW_SOLVE_WIDTH wide
#else
#define MW_SOLVE_WIDTH inline narrow
#endif

namespace meshwright::solve::MW_SOLVE_WIDTH {

#ifdef MESHWRIGHT_SOLVE_WIDE
using Number = Int128;
using Matrix = MatrixOf<Number>;
inline constexpr bool kWide = true;
#else
using Number = int64_t;
inline constexpr bool kWide = false;
#endif

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_NUMBER_H_
