#!/usr/bin/env bash
# Installs what is needed, builds the release program, and plans an example: a small GPT's training
# step on one node of 8 H100s.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
cmake --preset release -DMESHWRIGHT_UNITY=ON -DMESHWRIGHT_TESTS=OFF -DMESHWRIGHT_BENCH=OFF >/dev/null
cmake --build --preset release --target meshwright
build/release/meshwright plan tests/data/hlo/tiny_gpt.train.hlo.txt.gz --cluster 8xh100-sxm --mesh 2x4 -o build/plan.json
echo "the whole plan is in build/plan.json"
