#!/usr/bin/env bash
# symbols_test.sh BUILD LIBRARY: it exports exactly the functions of meshwright.h, and as it is installed for Python, it
# finds beside itself whatever it needs that is not part of every system with a C++ program.
set -euo pipefail
build=$1
library=$2
header=$(dirname "$0")/../../include/meshwright.h

exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
declared=$(grep '^MW_API' "$header" | grep -oE 'mw_[a-z_]+\(' | tr -d '(' | sort)
diff <(echo "$declared") <(echo "$exported") || { echo "declared (<) and exported (>) functions differ"; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --component python --prefix "$folder" >/dev/null
found=$(ldd "$folder/meshwright/$(basename "$library")" | awk '$2 == "=>" {print $1, $3}')
if echo "$found" | grep -vE "^lib(c|m|gcc_s|stdc\+\+)\.so[.0-9]* |^ld-linux| $folder/meshwright/"; then
  echo "needed, but neither part of every system nor installed with the library"
  exit 1
fi
echo "$found" | grep -q " $folder/meshwright/libabsl_"
