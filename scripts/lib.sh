# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Set-up shared by demo and check; sourced, never run. The caller has set `root`, the folder
# of the project, and `build`, where downloads go.
#
# Everything here may run any number of times: what is already there is left alone, and
# with everything there nothing touches the network.

root=${root:?} build=${build:?}

say() { printf '==> %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
have_library() { have pkg-config && pkg-config --exists "$1"; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        die "packages are missing and neither root rights nor sudo are there; as root, run: $*"
    fi
}

# Packages that the last call of `want` found missing.
missing=()

# want PACKAGE TEST...: notes the package if the test command fails.
want() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

compiles_c() { have gcc && echo '#include <stdio.h>' | gcc -fsyntax-only -x c -; }
compiles_cpp() { have g++ && echo '#include <string>' | g++ -fsyntax-only -x c++ -; }

# Where python3 is not the distribution's, the tests of the package take that one's instead.
has_modules() { python3 -c "import $1" || /usr/bin/python3 -c "import $1"; }

want_build_tools() {
    want gcc have gcc
    want libc6-dev compiles_c
    want meson have meson
    want ninja-build have ninja
    want pkg-config have pkg-config
    want python3 have python3
    want libxxhash-dev have_library libxxhash
    want libsodium-dev have_library libsodium
}

# Fetches the package lists, once per run.
refreshed=no
refresh_packages() {
    [ $refreshed = no ] || return 0
    refreshed=yes
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >"$build/apt.log" 2>&1 ||
        say "apt-get update failed (see $build/apt.log); going on with the lists that are there"
}

# Installs what `want` noted, in one go.
install_missing() {
    [ ${#missing[@]} -gt 0 ] || return 0
    have apt-get || die "this machine has no apt-get; please install: ${missing[*]}"
    say "Installing with apt-get: ${missing[*]}"
    refresh_packages
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "${missing[@]}" >>"$build/apt.log" 2>&1 || {
        tail -n 20 "$build/apt.log" >&2
        die "apt-get could not install: ${missing[*]}"
    }
    missing=()
}

# can_install PACKAGE: does the distribution have it?
can_install() {
    have apt-get || return 1
    refresh_packages
    [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]
}

# why_no_download LOG: what to do about what pip says there.
why_no_download() {
    if grep -qiE 'certificate|SSLError' "$1"; then
        echo "a certificate was refused; name the one of your proxy in PIP_CERT"
    elif grep -qiE 'hash|MISMATCH' "$1"; then
        echo "a file is not the one whose hash is in the list"
    elif grep -qiE 'resol[uv]|unreachable|timed out|connection|No matching distribution' "$1"; then
        echo "is the network there, and the package index (PIP_INDEX_URL)?"
    else
        echo "pip says why above"
    fi
}

# fetch_wheels LIST FOLDER: the wheels of a pinned list, with their hashes verified.
fetch_wheels() {
    local list=$1 folder=$2
    python3 -m pip --version >/dev/null 2>&1 || {
        missing+=(python3-pip ca-certificates)
        install_missing
    }
    python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
        --disable-pip-version-check -r "$list" -d "$folder" 2>"$build/pip.log" || {
        tail -n 20 "$build/pip.log" >&2
        die "could not download the packages of $list: $(why_no_download "$build/pip.log")"
    }
}

# "driver=13000 gpu=9.0 name=NVIDIA H200", or "driver=none".
gpu_facts() { python3 "$root/tools/dev/probe_gpu.py"; }

# Sets cuda_include and cuda_libs to a toolkit of at least CUDA 12.9; false if there is none.
find_cuda() {
    local facts driver place version include libs lib
    facts=$(gpu_facts)
    driver=${facts#driver=}
    driver=${driver%% *}
    for place in ${CUDA_HOME:-} ${CUDA_PATH:-} /usr/local/cuda /usr/local/cuda-* /opt/cuda /usr \
        "$build/cuda"; do
        include=$place/include
        if [ ! -f "$include/cuda.h" ] || [ ! -f "$include/nvrtc.h" ]; then continue; fi
        version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$include/cuda.h" | head -n 1)
        [ "${version:-0}" -ge 12090 ] || continue
        # Machine code of a newer major version is not for an older driver.
        if [ "$driver" != none ] && [ $((version / 1000)) -gt $((driver / 1000)) ]; then
            continue
        fi
        for libs in "$place"/lib64 "$place"/lib "$place"/targets/*/lib "$place"/lib/*-linux-gnu; do
            for lib in "$libs"/libnvrtc.so.1[2-9]*; do
                [ -e "$lib" ] || continue
                cuda_include=$include
                cuda_libs=$libs
                cuda_version=$((version / 1000)).$((version % 1000 / 10))
                return 0
            done
        done
    done
    return 1
}

# Finds a toolkit, or fetches NVRTC, nvJitLink and the headers into the build folder.
need_cuda() {
    local facts driver list
    if ! find_cuda; then
        facts=$(gpu_facts)
        driver=${facts#driver=}
        driver=${driver%% *}
        list=$root/scripts/cuda-13.txt
        if [ "$driver" != none ] && [ "$driver" -lt 13000 ]; then
            list=$root/scripts/cuda-12.txt
        fi
        say "No CUDA toolkit 12.9 or newer that suits the driver: fetching NVRTC, nvJitLink and" \
            "headers (about 90 MB, ${list##*/}) into $build/cuda"
        rm -rf "$build/wheels" "$build/cuda"
        fetch_wheels "$list" "$build/wheels"
        python3 "$root/tools/dev/unpack_wheels.py" cuda "$build/wheels" "$build/cuda" ||
            die "could not unpack the CUDA packages"
        rm -rf "$build/wheels"
        find_cuda || die "the CUDA packages lack cuda.h, nvrtc.h or libnvrtc"
    fi
    say "CUDA $cuda_version: headers in $cuda_include, NVRTC in $cuda_libs"
}

# Names nvdisasm for `jit-gemm inspect` where it is not found by itself, and fetches it if it is
# nowhere. What only it can show is skipped where it cannot be had.
want_nvdisasm() {
    local place
    [ -z "${JIT_GEMM_NVDISASM:-}" ] || return 0
    if have nvdisasm; then return 0; fi
    for place in ${CUDA_HOME:-} ${CUDA_PATH:-} /usr/local/cuda; do
        if [ -x "$place/bin/nvdisasm" ]; then return 0; fi
    done
    if [ ! -x "$build/nvdisasm/nvdisasm" ]; then
        say "No nvdisasm: fetching it (5 MB, nvdisasm.txt) into $build/nvdisasm"
        rm -rf "$build/wheels"
        (fetch_wheels "$root/scripts/nvdisasm.txt" "$build/wheels" &&
            python3 "$root/tools/dev/unpack_wheels.py" nvdisasm "$build/wheels" \
                "$build/nvdisasm") || say "going on without it"
        rm -rf "$build/wheels"
    fi
    if [ -x "$build/nvdisasm/nvdisasm" ]; then
        export JIT_GEMM_NVDISASM=$build/nvdisasm/nvdisasm
    fi
}

# Packages of Python that build the documentation site; without them its stage is skipped.
want_site_tools() {
    [ ! -d "$build/site-tools/sphinx" ] || return 0
    say "Fetching Sphinx and what it needs (15 MB, site.txt) into $build/site-tools"
    rm -rf "$build/wheels" "$build/site-tools"
    (fetch_wheels "$root/scripts/site.txt" "$build/wheels" &&
        python3 "$root/tools/dev/unpack_wheels.py" site "$build/wheels" "$build/site-tools") ||
        say "going on without it"
    rm -rf "$build/wheels"
}

# configure FOLDER OPTION...: a fresh or an existing meson folder, log in the folder.
configure() {
    local folder=$1 log=$1/setup.log
    shift
    mkdir -p "$folder"
    if [ -f "$folder/build.ninja" ]; then
        set -- --reconfigure "$@"
    else
        rm -rf "$folder/meson-private" "$folder/meson-info"
    fi
    meson setup "$@" -Dtoolkit_include="$cuda_include" -Dnvrtc_dir="$cuda_libs" "$folder" "$root" \
        >"$log" 2>&1
}
