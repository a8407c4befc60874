#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: [JIT_GEMM_NVRTC=FOLDER] check_install.sh ROOT SCRATCH CUDA_INCLUDE
# Installs into a prefix, shared and static, then builds every example, the README's program as C and as C++,
# and units in C11, C++17 and C++20, by pkg-config and by CMake; runs what needs no GPU; and uninstalls.
set -euo pipefail
root=$1 scratch=$2 cuda=$3
prefix=$scratch/prefix
here=$root/tests/install
rm -rf "$scratch"
mkdir -p "$scratch"

step() { echo "-- $*"; }
die() { echo "$*"; exit 1; }
tree() { (cd "$1" && find . | LC_ALL=C sort); }
for program in pkg-config cmake g++ nm; do
    command -v $program >/dev/null || die "this test needs $program"
done

# Debian's folder of libraries: two levels, where the machine has such.
libdir=lib/$(gcc -print-multiarch)
libdir=${libdir%/}
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build" | head -n 1)
step "install jit_gemm $version into $prefix"
meson setup --prefix "$prefix" --libdir "$libdir" -Ddefault_library=both -Dtests=false \
    -Dexamples=false -Dbench=false -Doptimization=0 -Dtoolkit_include="$cuda" "$scratch/build" "$root"
DESTDIR=$scratch/stage meson install -C "$scratch/build" >"$scratch/stage.log"
[ ! -e "$prefix" ] || die "DESTDIR was ignored"
mkdir -p "$prefix/share/doc/other" # what was there before
tree "$prefix" >"$scratch/before"
meson install -C "$scratch/build"
for file in include/jit_gemm/{jit_gemm,problem,epilogue,launch,context,status,device,debug,version}.h \
    "$libdir"/libjit_gemm.{so,a} "$libdir/pkgconfig/jit_gemm.pc" bin/jit-gemm \
    "$libdir"/cmake/jit_gemm/jit_gemm-config{,-version}.cmake share/man/man1/jit-gemm.1 \
    share/bash-completion/completions/jit-gemm share/zsh/site-functions/_jit-gemm \
    share/fish/vendor_completions.d/jit-gemm.fish \
    share/doc/jit_gemm/{LICENSE,README.md,CHANGELOG.md,SECURITY.md,docs/epilogues.md,examples/01_hello.c}; do
    [ -e "$prefix/$file" ] || die "$file was not installed"
done
diff <(tree "$prefix" | grep -v '^./share/doc/other$') <(tree "$scratch/stage$prefix") ||
    die "with DESTDIR another tree is installed"
python3 "$here/check_sbom.py" "$prefix/share/doc/jit_gemm/jit_gemm.spdx.json" "$version" \
    libjit_gemm.so."$version" libjit_gemm.a libjit_gemm_emulator.so jit-gemm xxHash libsodium glibc 'CUDA headers'
[ -z "$(find "$prefix/share/doc/jit_gemm/docs" -name '*.py' -o -name '*.in' -o -name '*.css')" ] ||
    die "what makes the site is installed"
# What the README links to beside itself is there, too.
grep -o '](docs/[^)#]*' "$root/README.md" | sed 's/](//' | sort -u | while read -r page; do
    [ -e "$prefix/share/doc/jit_gemm/$page" ] || die "the README names $page, which was not installed"
done

# Only the prefix of the test, and the system's own packages for the static link.
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export LD_LIBRARY_PATH=$prefix/$libdir
read -ra flags <<<"$(pkg-config --cflags jit_gemm)"
read -ra libs <<<"$(pkg-config --libs jit_gemm)"
read -ra static_libs <<<"$(pkg-config --static --libs jit_gemm | sed "s#-L$prefix/$libdir##")"
case " ${flags[*]} " in
*" -I$prefix/include "*) ;;
*) die "pkg-config gives '${flags[*]}', not the folder of the headers" ;;
esac
case " ${libs[*]} " in
*xxhash* | *sodium*) die "pkg-config gives '${libs[*]}': a shared library has its own" ;;
esac

# A copy, so that no header of the source tree is found by chance.
cp -r "$root/examples" "$scratch/examples"
awk '/^```/ { inside = $0 == "```c"; next } inside' "$root/README.md" \
    >"$scratch/examples/readme.c"
count=0
for source in "$scratch"/examples/*.c; do
    step "gcc ${source##*/}"
    gcc -std=c11 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" "$source" \
        -o "${source%.c}" "${libs[@]}" -lm -ldl
    count=$((count + 1))
done
nccl=(-isystem "$cuda" -L"${cuda%/*}/lib64" -lnccl)
if printf '#include <nccl.h>\nint main(void) { return ncclGetVersion(NULL) == ncclSuccess; }\n' |
    gcc -x c - -o "$scratch/has_nccl" "${nccl[@]}" 2>/dev/null; then
    step "gcc 13_tensor_parallel_mlp"
    gcc -std=gnu11 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" "$scratch"/examples/13_tensor_parallel_mlp/*.c \
        -o "$scratch/tensor_parallel_mlp" "${nccl[@]}" "${libs[@]}" -lm -ldl
    count=$((count + 1))
else
    step "skipped: 13_tensor_parallel_mlp, there is no nccl.h or no libnccl"
fi
[ $count -gt 1 ] || die "there are no examples"

step "the README's own line"
line=$(grep '^    cc program\.c' "$root/README.md") || die "the README compiles no program.c"
mkdir "$scratch/readme"
cp "$scratch/examples/readme.c" "$scratch/readme/program.c"
(cd "$scratch/readme" && eval "$line" && [ -x a.out ])
step "and from the build where it is"
(cd "$scratch/readme" && rm a.out && PKG_CONFIG_PATH=$scratch/build/meson-uninstalled && eval "$line" && [ -x a.out ])

step "g++ readme.c"
# C++ warns of members that a designated initializer leaves zero; C does not.
g++ -x c++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers \
    "${flags[@]}" "$scratch/examples/readme.c" -o "$scratch/readme_cpp" "${libs[@]}"

mkdir "$scratch/static"
cp "$prefix/$libdir/libjit_gemm.a" "$scratch/static/"
for standard in c11 c++17 c++20; do
    compiler=gcc unit=$here/unit.c
    [ $standard = c11 ] || compiler=g++ unit=$here/unit.cpp
    step "$compiler -std=$standard, shared and static"
    $compiler -std=$standard -Wall -Wextra -Wpedantic -Werror "${flags[@]}" "$unit" \
        -o "$scratch/unit" "${libs[@]}"
    "$scratch/unit"
    $compiler -std=$standard "${flags[@]}" "$unit" -o "$scratch/unit_static" \
        -L"$scratch/static" "${static_libs[@]}"
    env -u LD_LIBRARY_PATH "$scratch/unit_static"
done

step "CMake, shared and static"
# check_cmake VERSION [OPTION...]: from a folder that is not the one which the files were made for.
check_cmake() {
    local wanted=$1
    shift
    rm -rf "$scratch/cmake"
    PKG_CONFIG_PATH='' cmake -G Ninja -S "$here/cmake" -B "$scratch/cmake" "-DCMAKE_PREFIX_PATH=$prefix" \
        -DWITH_STATIC=ON "-DWANTED_VERSION=$wanted" "$@" >"$scratch/cmake.log" 2>&1
}
check_cmake "$version" || { cat "$scratch/cmake.log"; exit 1; }
grep "jit_gemm $version" "$scratch/cmake.log"
cmake --build "$scratch/cmake"
for program in "$scratch"/cmake/jit_gemm_{c,cpp17,cpp20,static_c,static_cpp17,static_cpp20}; do
    env -u LD_LIBRARY_PATH "$program"
done
for wanted in 0.0.1 0; do
    check_cmake $wanted || die "CMake refuses $version for $wanted: $(cat "$scratch/cmake.log")"
done
for wanted in 0.99 1 "$version.1"; do
    if check_cmake "$wanted"; then die "CMake takes $version for $wanted"; fi
    grep -q "version: $version" "$scratch/cmake.log" || { cat "$scratch/cmake.log"; exit 1; }
done

step "a program with the static library's own names"
nm -g --defined-only "$scratch/static/libjit_gemm.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort |
    diff "$root/tests/lint/symbols.txt" - || die "the static library has other names than the shared one"
nm "$scratch/static/libjit_gemm.a" | awk '$2 == "t" && $3 ~ /^(jg_|bundle_)/ && $3 !~ /\./ { print $3 }' |
    sort -u >"$scratch/names"
[ "$(wc -l <"$scratch/names")" -gt 100 ] || die "there are few names in the static library"
{
    echo '#include <stdlib.h>'
    sed 's/.*/void &(void);\nvoid &(void) { abort(); }/' "$scratch/names"
    cat "$here/unit.c"
} >"$scratch/names.c"
gcc -std=c11 -O0 -rdynamic "${flags[@]}" "$scratch/names.c" -o "$scratch/names_static" -L"$scratch/static" \
    "${static_libs[@]}"
env -u LD_LIBRARY_PATH "$scratch/names_static"

step "the installed command plans without a GPU, and finds its library by itself"
env -u LD_LIBRARY_PATH "$prefix/bin/jit-gemm" plan 512x512x512 bf16 --arch sm_90a
step "and from where the prefix was moved to, and from below DESTDIR"
mv "$prefix" "$scratch/moved"
for place in "$scratch/moved" "$scratch/stage$prefix"; do
    env -u LD_LIBRARY_PATH "$place/bin/jit-gemm" plan 512x512x512 bf16 --arch sm_90a
    env -u LD_LIBRARY_PATH "$place/bin/emu-run" --help >"$scratch/emu-run"
done
mv "$scratch/moved" "$prefix"

export JIT_GEMM_CACHE_DIR=$scratch/cache
if "$prefix/bin/jit-gemm" build 64x64x64 bf16 --arch sm_100a -o "$scratch/k.cubin"; then
    step "the README's program on the emulator"
    for program in "$scratch/examples/readme" "$scratch/readme/a.out" "$scratch/readme_cpp"; do
        JIT_GEMM_DRIVER=emulator "$program"
    done

    step "the same with an A that is not written, which the report names"
    sed 's/a, 0x3f, 1024 \* 512 \* 2/a, 0x3f, 2/' "$scratch/examples/readme.c" >"$scratch/a.c"
    gcc -std=c11 "${flags[@]}" "$scratch/a.c" -o "$scratch/a" "${libs[@]}"
    if JIT_GEMM_DRIVER=emulator "$scratch/a" 2>"$scratch/report"; then
        die "nobody saw that A was not written"
    fi
    grep "global memory that was never written: byte [0-9]* of the 1048576 bytes at 0x" \
        "$scratch/report"
else
    step "skipped: programs on the emulator, which need NVRTC (JIT_GEMM_NVRTC names its folder)"
fi

step "uninstall"
ninja -C "$scratch/build" uninstall >"$scratch/uninstall.log"
tree "$prefix" | diff "$scratch/before" - || die "the tree is not what it was before"
echo "$count examples, units in C and C++ and the command work from $prefix"
