#!/usr/bin/env bash
# scripts/lint.sh [BASE [MOST]]: formatting and lints, all but clang-tidy over everything: that looks at the first MOST
# (24) C++ sources which changed since BASE (default: the last commit's parent), as it takes seconds a file. Includes that run up the
# list of folders are a test (tests/docs/test_layers.py).
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD^}

echo "lint"
git ls-files -z '*.h' '*.cc' | xargs -0 clang-format --dry-run --Werror
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck

[ -x build/venv-lint/bin/ruff ] || { python3 -m venv build/venv-lint && build/venv-lint/bin/pip install -q "ruff>=0.17,<0.18"; }
build/venv-lint/bin/ruff check -q python tests scripts bench
build/venv-lint/bin/ruff format -q --check python tests scripts bench

# A clone of one commit has no base.
git rev-parse -q --verify "$base^{commit}" >/dev/null || exit 0
mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc')
[ "${#changed[@]}" -gt 0 ] || exit 0
most=${2:-24}
if [ "${#changed[@]}" -gt "$most" ]; then
  echo "clang-tidy: ${#changed[@]} sources changed since $base, of which the first $most are looked at"
fi
cmake --preset release -B build/lint -DMESHWRIGHT_UNITY=OFF -DMESHWRIGHT_REPORT=OFF >/dev/null
# What the build generates, without what it would build before: GCC's precompiled headers are none of clang's.
protoc --cpp_out=build/lint/generated/meshwright/hlo -I src/meshwright/hlo src/meshwright/hlo/proto/hlo.proto
printf '%s\n' "${changed[@]:0:$most}" | xargs -P "$(nproc)" -n 1 clang-tidy -p build/lint --quiet 2>/dev/null
