#!/usr/bin/env bash
# symbols_test.sh LIBRARY: it exports exactly the functions of meshwright.h and needs nothing but the C library.
set -euo pipefail
library=$1
header=$(dirname "$0")/../../include/meshwright.h

exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
declared=$(grep '^MW_API' "$header" | grep -oE 'mw_[a-z_]+\(' | tr -d '(' | sort)
diff <(echo "$declared") <(echo "$exported") || { echo "declared (<) and exported (>) functions differ"; exit 1; }

needed=$(objdump -p "$library" | awk '$1 == "NEEDED" {print $2}')
if echo "$needed" | grep -vE '^(libc|libm|ld-linux-x86-64)\.so'; then echo "needed, but not part of every system"; exit 1; fi
