#!/usr/bin/env bash
# Builds the documentation's site into build/site. Its pages, and its search, open from the disk. Building
# needs the built program (scripts/demo.sh), which says what its commands are, and the network for the first
# time.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/site-venv/bin/mkdocs ] || {
  python3 -m venv build/site-venv
  build/site-venv/bin/pip install -q "mkdocs>=1.6,<2" "mkdocs-material>=9.5,<10"
}
NO_MKDOCS_2_WARNING=1 build/site-venv/bin/mkdocs build --strict
echo "build/site/index.html"
