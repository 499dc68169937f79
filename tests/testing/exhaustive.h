#ifndef MESHWRIGHT_TESTS_TESTING_EXHAUSTIVE_H_
#define MESHWRIGHT_TESTS_TESTING_EXHAUSTIVE_H_

#include <gtest/gtest.h>

// First in a test that searches thousands of programs, walks through a large reference program or
// shows all screens of a command. Instrumented and unoptimised code is twenty times slower, and
// such a test says nothing about memory errors that others do not: the sanitized run leaves it out.
#ifdef __SANITIZE_ADDRESS__
#define MESHWRIGHT_EXHAUSTIVE_TEST() GTEST_SKIP() << "exhaustive, and this build is sanitized"
#else
#define MESHWRIGHT_EXHAUSTIVE_TEST() static_cast<void>(0)
#endif

#endif  // MESHWRIGHT_TESTS_TESTING_EXHAUSTIVE_H_
