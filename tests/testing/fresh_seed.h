#ifndef MESHWRIGHT_TESTS_TESTING_FRESH_SEED_H_
#define MESHWRIGHT_TESTS_TESTING_FRESH_SEED_H_

#include <cstdint>
#include <iostream>
#include <random>

namespace meshwright {

// For a test that is another one at every run; what it prints makes it the same one again.
inline uint32_t FreshSeed() {
  const uint32_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  return seed;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_TESTING_FRESH_SEED_H_
