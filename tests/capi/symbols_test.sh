#!/usr/bin/env bash
# symbols_test.sh LIBRARY: it exports exactly the functions of meshwright.h and needs nothing but the C library (and, in
# instrumented builds, the sanitizers' and the C++ one).
set -euo pipefail
library=$1
header=$(dirname "$0")/../../include/meshwright.h

exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
declared=$(grep '^MW_API' "$header" | grep -oE 'mw_[a-z_]+\(' | tr -d '(' | sort)
diff <(echo "$declared") <(echo "$exported") || { echo "declared (<) and exported (>) functions differ"; exit 1; }

needed=$(objdump -p "$library" | awk '$1 == "NEEDED" {print $2}')
allowed='^(libc|libm|ld-linux-x86-64)\.so'
if nm -D "$library" | grep -q __asan_init; then allowed='^(libc|libm|ld-linux-x86-64|lib[a-z]*san|libstdc\+\+|libgcc_s)\.so'; fi
if echo "$needed" | grep -vE "$allowed"; then echo "needed, but not part of every system"; exit 1; fi
