#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: check_headers.sh ROOT BUILD CUDA_INCLUDE
# Every public header compiles alone, twice in one file, in C and C++, with gcc and clang;
# every private header compiles alone in C. Compilers that are missing are named.
set -euo pipefail
root=$1 build=$2 cuda=$3
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror)
count=0
bad=0

# try WHAT COMMAND...: compiles the text of standard input.
try() {
    local what=$1
    shift
    count=$((count + 1))
    "$@" -fsyntax-only "${warnings[@]}" - || {
        echo "FAIL: $what"
        bad=$((bad + 1))
    }
}

# A line of C after the header, because an empty unit is no C.
twice() { printf '#include "%s"\n#include "%s"\nextern int unit_is_not_empty;\n' "$1" "$1"; }

public=()
for header in "$root"/include/jit_gemm/*.h "$build"/include/jit_gemm/version.h; do
    public+=("jit_gemm/${header##*/}")
done
public+=(jg_cache.h)
flags=(-I "$root/include" -I "$build/include" -I "$root/cache")

for compiler in gcc clang; do
    command -v $compiler >/dev/null || { echo "no $compiler here"; continue; }
    for header in "${public[@]}"; do
        for standard in c11 c17; do
            try "$header, $compiler, $standard" $compiler -std=$standard "${flags[@]}" -x c \
                < <(twice "$header")
        done
    done
done
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { echo "no $compiler here"; continue; }
    for header in "${public[@]}"; do
        for standard in c++11 c++20; do
            try "$header, $compiler, $standard" $compiler -std=$standard "${flags[@]}" -x c++ \
                < <(twice "$header")
        done
    done
done
while read -r header; do
    try "$header, gcc" gcc -std=c11 -D_GNU_SOURCE "${flags[@]}" -I "$root/lib" \
        -isystem "$cuda" -x c < <(twice "$header")
done < <(cd "$root/lib" && find . -name '*.h' | sed 's#^\./##' | sort)

echo "$count compiles, $bad failed"
[ "$count" -gt 20 ] && [ $bad -eq 0 ]
