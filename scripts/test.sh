#!/usr/bin/env bash
# Installs what is needed, builds everything, and runs all tests: the release build, then the same tests
# under AddressSanitizer and UndefinedBehaviorSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh

cmake --preset release -DMESHWRIGHT_TESTS=ON -DMESHWRIGHT_BENCH=ON >/dev/null
cmake --build --preset release
ctest --preset release --no-tests=error -j "$(nproc)"

# Instrumented, unoptimised code is twenty times slower: the searches over thousands of programs, which say nothing about memory
# errors that the others do not, have been run above and are left out here.
echo "sanitized run, without the exhaustive searches that the release run has done"
cmake --preset asan -DMESHWRIGHT_TESTS=ON -DMESHWRIGHT_BENCH=OFF >/dev/null
cmake --build --preset asan
GTEST_FILTER='-ProgramsTest.*:*OptimalityTest*:PlanningTest*:*Contest*:CbcTest*' ctest --preset asan --no-tests=error -j "$(nproc)"
