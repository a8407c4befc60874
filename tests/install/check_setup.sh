#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: check_setup.sh ROOT SCRATCH CUDA_INCLUDE
# What `meson setup` says on a machine where packages are missing: all of them at once, and how to
# get them. Without Criterion only, everything but the tests is set up. As a subproject it is found, and a program
# of stricter settings compiles.
set -euo pipefail
root=$1 scratch=$2 cuda=$3
rm -rf "$scratch"
mkdir -p "$scratch/none" "$scratch/some" "$scratch/old"
echo '#define CUDA_VERSION 12080' >"$scratch/old/cuda.h"
echo >"$scratch/old/nvrtc.h"
for package in libxxhash libsodium; do
    folder=$(pkg-config --variable=pcfiledir "$package")
    cp "$folder/$package.pc" "$scratch/some"
done

# expect STATUS PACKAGES WORDS... -- OPTION...: meson setup, which sees these packages only.
expect() {
    local wanted=$1 packages=$2 status=0 words=() word
    shift 2
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    rm -rf "$scratch/build"
    PKG_CONFIG_LIBDIR=$scratch/$packages PKG_CONFIG_PATH='' \
        meson setup "$@" "$scratch/build" "$root" >"$scratch/log" 2>&1 || status=1
    for word in "${words[@]}"; do
        grep -qF -- "$word" "$scratch/log" || status="$status, without '$word'"
    done
    [ "$status" = "$wanted" ] || { cat "$scratch/log"; echo "$packages $*: $status"; exit 1; }
}

expect 1 none 'cuda.h and nvrtc.h' 'toolkit_include=FOLDER' libxxhash-dev libsodium-dev \
    'libcriterion-dev (without it they are left out)' './scripts/fetch_cuda' './scripts/demo' -- \
    -Dtoolkit_include=/none
expect 1 some 'CUDA 12.9 or newer' "$scratch/old, which is too old" -- "-Dtoolkit_include=$scratch/old"
expect 1 some 'libcriterion-dev, or pass -Dtests=false' -- -Dtests=true "-Dtoolkit_include=$cuda"
expect 0 some 'no tests are built' libcriterion-dev -- "-Dtoolkit_include=$cuda"
[ -z "$(meson introspect --tests "$scratch/build" | tr -d '[]\n ')" ] || {
    echo "there are tests without Criterion"
    exit 1
}
expect 0 some 'Build targets' -- -Dtests=false "-Dtoolkit_include=$cuda"

mkdir -p "$scratch/parent/subprojects"
ln -s "$root" "$scratch/parent/subprojects/jit_gemm"
awk '/^```/ { inside = $0 == "```c"; next } inside' "$root/README.md" >"$scratch/parent/program.c"
cat >"$scratch/parent/meson.build" <<'END'
project('parent', 'c', version: '9', default_options: ['warning_level=3', 'werror=true', 'c_std=c17'])
jit_gemm = dependency('jit_gemm', fallback: ['jit_gemm', 'jit_gemm_dep'],
  default_options: ['tests=false', 'tools=false', 'bench=false', 'examples=false'])
executable('program', 'program.c', dependencies: jit_gemm)
END
# Not one that this machine has installed.
PKG_CONFIG_LIBDIR=$scratch/some PKG_CONFIG_PATH='' meson setup "-Djit_gemm:toolkit_include=$cuda" \
    "$scratch/parent/build" "$scratch/parent" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
grep -q 'Dependency jit_gemm found: YES .*(overridden)' "$scratch/log" || { cat "$scratch/log"; exit 1; }
ninja -C "$scratch/parent/build" program.p/program.c.o
echo "meson setup tells what is missing, and takes a subproject"
