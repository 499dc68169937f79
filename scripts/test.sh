#!/usr/bin/env bash
# Installs what is needed, builds everything, and runs all tests: the release build, then the same tests
# under AddressSanitizer and UndefinedBehaviorSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
for preset in release asan; do
  cmake --preset "$preset" -DMESHWRIGHT_TESTS=ON >/dev/null
  cmake --build --preset "$preset"
  ctest --preset "$preset" --no-tests=error -j "$(nproc)"
done
