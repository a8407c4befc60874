#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: check_symbols.sh LIBRARY LIST
# The names that the shared library exports must be exactly those of the list, sorted.
set -euo pipefail
nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | LC_ALL=C sort >"$1.symbols"
if grep -v '^jit_gemm_' "$1.symbols"; then
    echo "the names above do not begin with jit_gemm_" >&2
    exit 1
fi
if ! diff -u "$2" "$1.symbols"; then
    echo "the exported names changed: if that is meant, bring $2 up to date" >&2
    exit 1
fi
echo "$(wc -l <"$1.symbols") names"
