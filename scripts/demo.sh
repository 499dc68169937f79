#!/usr/bin/env bash
# Installs what is needed, builds the release program, plans a training step that no device holds (LLaMA 3 8B with Adam,
# 16 sequences of 8,192 tokens) on 16 nodes of 8 H100s, explains the plan, draws it, and says what launches it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
# A build folder that is there stays as its developer wants it; a new one compiles each layer as one file.
[ -f build/release/CMakeCache.txt ] ||
  cmake --preset release -DMESHWRIGHT_UNITY=ON -DMESHWRIGHT_TESTS=OFF -DMESHWRIGHT_BENCH=OFF >/dev/null
cmake --build --preset release --target meshwright
meshwright=build/release/meshwright
$meshwright plan tests/data/hlo/llama3_8b.scan.train.hlo.txt.gz --cluster 16x8xh100-sxm --explain -o build/plan.json
# Without npm the program is built without the page.
! $meshwright report build/plan.json -o build/plan.html || echo "the report is build/plan.html: open it in a browser"
echo "launch it with $meshwright export build/plan.json --to jax \\
    --program tests/data/hlo/llama3_8b.scan.train.hlo.txt.gz -o build/launch"
