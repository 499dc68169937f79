#!/usr/bin/env bash
# Plans every program found among the sources of other projects (MLIR, HLO, their tests' strings and data),
# each in a process of its own, and prints how they ended and why programs were refused. Fails if any crashed,
# hung or ended with exit code 1. `scripts/corpora.sh --help` has the options. What XLA's own parsers take is
# asked of jaxlib, if PYTHON (default: build/venv's, else python3) has it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -x "$root/build/venv/bin/python" ]; then default=$root/build/venv/bin/python; else default=python3; fi
exec "${PYTHON:-$default}" "$root/scripts/corpora" "$@"
