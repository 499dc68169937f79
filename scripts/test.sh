#!/usr/bin/env bash
# Installs what is needed, builds everything, and runs all tests: the release build, then the same tests
# under AddressSanitizer and UndefinedBehaviorSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh

cmake --preset release -DMESHWRIGHT_UNITY=ON -DMESHWRIGHT_TESTS=ON -DMESHWRIGHT_BENCH=ON -DMESHWRIGHT_REPORT=ON >/dev/null
cmake --build --preset release
ctest --preset release --no-tests=error -j "$(nproc)"

# The page of `meshwright report`: its types, its parts, and all of it in a browser.
echo "report"
(cd report && npm run -s check && npm run -s test && npm run -s test:browser)

# The Python package, as a wheel around the library that was just built.
echo "Python package"
[ -x build/venv/bin/pytest ] || { python3 -m venv build/venv && build/venv/bin/pip install -q "jax[cpu]>=0.7.1" flatbuffers flax optax equinox pytest pyyaml "scikit-build-core>=0.10"; }
rm -rf build/dist
build/venv/bin/pip wheel -q . --no-build-isolation --no-deps -w build/dist -C build-dir=build/release \
  -C cmake.define.MESHWRIGHT_UNITY=ON -C cmake.define.MESHWRIGHT_TESTS=ON -C cmake.define.MESHWRIGHT_BENCH=ON \
  -C cmake.define.MESHWRIGHT_REPORT=ON  # leaves the build as it is
build/venv/bin/pip install -q --force-reinstall --no-deps build/dist/meshwright-*.whl
build/venv/bin/pytest -q tests/python

# What of it depends on JAX most, with the oldest JAX that the package takes.
oldest=$(sed -n 's/^jax = \["jax>=\([0-9.]*\)".*/\1/p' pyproject.toml)
echo "Python package with JAX $oldest"
[ -x "build/venv-jax-$oldest/bin/pytest" ] || { python3 -m venv "build/venv-jax-$oldest" && "build/venv-jax-$oldest/bin/pip" install -q "jax[cpu]==$oldest" pytest pyyaml; }
"build/venv-jax-$oldest/bin/pip" install -q --force-reinstall --no-deps build/dist/meshwright-*.whl
"build/venv-jax-$oldest/bin/pytest" -q tests/python/test_{calls,jax_version,plan,shardy,shard,verify}.py \
  -k "not small_models and not wide and not test_a_plan_that_holds and not programs_in_hlo"

# The site builds, and what documentation says of commands, keys and screens is so; the tutorial runs.
echo "documentation"
[ -x build/venv/bin/mkdocs ] || build/venv/bin/pip install -q "mkdocs>=1.6,<2" "mkdocs-material>=9.5,<10"
build/venv/bin/pytest -q tests/docs

# Instrumented, unoptimised code is twenty times slower: the searches over thousands of programs, the walks through large
# reference programs and the screens of all commands, which say nothing about memory errors that the others do not, have been run
# above and are left out here.
echo "sanitized run, without the exhaustive searches and the reference programs that the release run has done"
cmake --preset asan -DMESHWRIGHT_UNITY=ON -DMESHWRIGHT_TESTS=ON -DMESHWRIGHT_BENCH=OFF -DMESHWRIGHT_REPORT=OFF >/dev/null
cmake --build --preset asan
GTEST_FILTER='-EnginesTest.*:ProgramsTest.*:*OptimalityTest*:MixedFreedomTest.*:MixedRoomTest.*:PlanningTest*:*Contest*:CbcTest*:PipelineTest.*:StageSearchTest.Large*:*.Reference*:*.SharedPrograms*:Rule.ProgramsAreCovered:AccuracyTest.*:Space.IsEveryLegal*:Space.FixesLeave*:Space.HasOnly*:Search.Finds*:Search.Bounds*:*Plans.ObeyTheRules:MegatronPlans.*:NearestPlan.*:RankRun.*:PlanProfiled.*:Screens.*:ExplainPipelines.Rows*:WhyNotPipelines.*:LaunchFilterTest.WhatIs*:ExportRefusalTest.Commands*:Parallelism.Random*' ctest --preset asan --no-tests=error -j "$(nproc)"
