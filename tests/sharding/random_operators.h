#ifndef MESHWRIGHT_TESTS_SHARDING_RANDOM_OPERATORS_H_
#define MESHWRIGHT_TESTS_SHARDING_RANDOM_OPERATORS_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

using Random = std::mt19937;

// In [0, n).
inline int64_t Below(Random& random, int64_t n) { return static_cast<int64_t>(random() % n); }

// A family of operators of which random ones can be made.
struct OperatorFamily {
  const char* name;
  // Text of an entry computation's instructions; the operator is called r and is the root. Shapes
  // are small, attributes cover what the operator allows.
  std::string (*generate)(Random&);
  int count;  // how many make a good test
};
const std::vector<OperatorFamily>& OperatorFamilies();

// Text of a module around an entry's instructions, with the functions that they may call: add_body,
// maximum_body, minimum_body, multiply_body, second_body, less, greater_equal.
std::string ModuleText(std::string_view entry);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_RANDOM_OPERATORS_H_
