#!/usr/bin/env bash
# Installs what is needed, builds everything, and runs all tests: the release build, then the same tests
# under AddressSanitizer and UndefinedBehaviorSanitizer. It builds in build/ci and build/ci-asan, so that a
# developer's own builds stay as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh

scripts/lint.sh

cmake --preset ci >/dev/null
cmake --build --preset ci
ctest --preset ci --no-tests=error -j "$(nproc)"
export MESHWRIGHT="$PWD/build/ci/meshwright" MESHWRIGHT_BINARY="$PWD/build/ci/meshwright"

# The page of `meshwright report`: its types, its parts, and all of it in a browser.
echo "report"
(cd report && npm run -s check && npm run -s test && npm run -s test:browser)

# The Python package, as a wheel around the library that was just built.
echo "Python package"
build/venv/bin/python -c 'import xdist' 2>/dev/null || { python3 -m venv build/venv && build/venv/bin/pip install -q "jax[cpu]>=0.7.1" flatbuffers flax optax equinox pyright pytest pytest-xdist pyyaml "scikit-build-core>=0.10"; }
rm -rf build/dist
build/venv/bin/pip wheel -q . --no-build-isolation --no-deps -w build/dist -C build-dir=build/ci \
  -C cmake.define.MESHWRIGHT_UNITY=ON -C cmake.define.MESHWRIGHT_TESTS=ON -C cmake.define.MESHWRIGHT_BENCH=ON \
  -C cmake.define.MESHWRIGHT_REPORT=ON  # leaves the build as it is
build/venv/bin/pip install -q --force-reinstall --no-deps build/dist/meshwright-*.whl
build/venv/bin/pytest -q -n "$(nproc)" --dist loadfile tests/python

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

echo "sanitized run, without the exhaustive tests that the release run has done (tests/testing/exhaustive.h)"
cmake --preset ci-asan >/dev/null
cmake --build --preset ci-asan
ctest --preset ci-asan --no-tests=error -j "$(nproc)"

# The front end for PyTorch, which needs no JAX; XLA is there to evaluate its StableHLO. PyPI's wheels bring CUDA: 6 GB.
echo "Python package with PyTorch"
if [ ! -x build/venv-torch/bin/pytest ] && [ "$(df --output=avail -B1G build | tail -n 1)" -lt 12 ]; then
  echo "not run: PyTorch and what it brings needs 12 GB of disk"
else
  build/venv-torch/bin/python -c 'import xdist' 2>/dev/null || { python3 -m venv build/venv-torch && build/venv-torch/bin/pip install -q --no-cache-dir "torch>=2.15" numpy transformers accelerate pytest pytest-xdist pyright "jax[cpu]>=0.7.1"; }
  build/venv-torch/bin/pip install -q --force-reinstall --no-deps build/dist/meshwright-*.whl
  PATH="$PWD/build/venv-torch/bin:$PATH" pytest -q -n "$(nproc)" --dist loadfile --confcutdir=tests/python/pytorch tests/python/pytorch
  build/venv-torch/bin/pytest -q "tests/docs/test_pages_run.py::test_python_examples_of_the_readme[torch]"
fi
