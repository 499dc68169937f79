#ifndef MESHWRIGHT_TESTS_TESTING_EXHAUSTIVE_H_
#define MESHWRIGHT_TESTS_TESTING_EXHAUSTIVE_H_

#include <gtest/gtest.h>

#include <cstdlib>

// First in a test that searches thousands of programs, walks through a large reference program or
// shows all screens of a command. Instrumented and unoptimised code is twenty times slower, and
// such a test says nothing about memory errors that others do not: the sanitized run leaves it out.
#ifdef __SANITIZE_ADDRESS__
#define MESHWRIGHT_EXHAUSTIVE_TEST() GTEST_SKIP() << "exhaustive, and this build is sanitized"
#else
#define MESHWRIGHT_EXHAUSTIVE_TEST() static_cast<void>(0)
#endif

namespace meshwright {

// Of `all` cases that a test draws at random, how many it takes: where it is sanitized a quarter,
// as each takes twenty times as long and goes the same ways through the code.
constexpr int RandomCases(int all) {
#ifdef __SANITIZE_ADDRESS__
  constexpr int kShare = 4;
#else
  constexpr int kShare = 1;
#endif
  return (all + kShare - 1) / kShare;
}

// Of cases that a test draws at random, how many it takes: `usual`, or as many as the environment
// variable MESHWRIGHT_CASES says.
inline int Cases(int usual) {
  const char* const asked = std::getenv("MESHWRIGHT_CASES");
  const int cases = asked == nullptr ? 0 : std::atoi(asked);
  return cases > 0 ? cases : RandomCases(usual);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_TESTING_EXHAUSTIVE_H_
