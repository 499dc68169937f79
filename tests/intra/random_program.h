#ifndef TESTS_INTRA_RANDOM_PROGRAM_H_
#define TESTS_INTRA_RANDOM_PROGRAM_H_

#include <random>
#include <string>

namespace meshwright {

// A random valid HLO program of `operators` operators (besides parameters and the result tuple)
// over f32[8,8] and f32[8] values: products in all four contraction forms, adds, elementwise
// chains, transposes, sum and max reductions, broadcasts. Values that nothing uses are its outputs.
std::string RandomProgram(std::mt19937_64& random, int operators);

}  // namespace meshwright

#endif  // TESTS_INTRA_RANDOM_PROGRAM_H_
