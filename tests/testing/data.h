#ifndef MESHWRIGHT_TESTS_TESTING_DATA_H_
#define MESHWRIGHT_TESTS_TESTING_DATA_H_

#include <string>
#include <string_view>

namespace meshwright {

// The path of a program in tests/data/hlo.
inline std::string HloData(std::string_view name) {
  return std::string(MESHWRIGHT_TEST_DATA "/hlo/").append(name);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_TESTING_DATA_H_
