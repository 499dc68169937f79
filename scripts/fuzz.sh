#!/usr/bin/env bash
# scripts/fuzz.sh [TARGET] [RUNS] [SOURCES]: runs the fuzzers of tests/fuzz (one of them, or "all") on RUNS inputs
# each (default a million), as many at a time as there are processors. Needs clang 19 and the release build. SOURCES
# is a folder with other projects' sources, whose programs are seeds beside those of our own tests. What is found
# lies in build/fuzz/findings; inputs that reached something new, in build/fuzz/corpus, where the next run goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-all} runs=${2:-1000000} sources=${3:-}

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
python3 scripts/fuzz/seeds.py build/fuzz/seeds ${sources:+"$sources"}
mkdir -p build/fuzz/findings

targets=()
for source in tests/fuzz/*.cc; do
  name=$(basename "$source" .cc)
  if [ "$target" = all ] || [ "$target" = "$name" ]; then targets+=("$name"); fi
done
if [ "${#targets[@]}" -eq 0 ]; then
  echo "scripts/fuzz.sh: tests/fuzz has no $target.cc" >&2
  exit 2
fi

fuzz() {  # TARGET RUNS: says at its end whether something was found
  local corpus=build/fuzz/corpus/$1 seeds=build/fuzz/seeds/$1 log=build/fuzz/$1.log longest=4096
  mkdir -p "$corpus" "$seeds"
  # Whole plans are longer than programs that have one of everything.
  if [ "$1" = plan_json ]; then longest=16384; fi
  # An input may take 2 GiB and 25 seconds.
  if "build/fuzz/tests/fuzz/fuzz_$1" -runs="$2" -max_len=$longest -timeout=25 -rss_limit_mb=2048 -close_fd_mask=1 \
    -artifact_prefix="build/fuzz/findings/$1-" "$corpus" "$seeds" 2>"$log"; then
    echo "$1: nothing found in $(grep -aoE "^Done [0-9]+" "$log" | cut -d' ' -f2) inputs ($(find "$corpus" -type f | wc -l) in its corpus)"
  else
    echo "$1: FOUND"
    grep -aE "ERROR: |SUMMARY: |no answer|runtime error|Test unit written" "$log" | sed 's/^/  /'
    return 1
  fi
}
export -f fuzz
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c "fuzz {} $runs"
