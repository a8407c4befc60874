#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Usage: check_install.sh ROOT SCRATCH CUDA_INCLUDE
# Installs into an empty prefix, then builds every example, the README's program in C and C++,
# a C++ unit and a static program with nothing but pkg-config, and runs what needs no GPU.
set -euo pipefail
root=$1 scratch=$2 cuda=$3
prefix=$scratch/prefix
rm -rf "$scratch"
mkdir -p "$scratch"

step() { echo "-- $*"; }

step "install into $prefix"
meson setup --prefix "$prefix" --libdir lib -Ddefault_library=both -Dtests=false \
    -Dexamples=false -Dbench=false -Doptimization=0 -Dtoolkit_include="$cuda" "$scratch/build" "$root"
meson install -C "$scratch/build"
for file in include/jit_gemm/{jit_gemm,problem,epilogue,launch,context,status,device,debug,version}.h \
    lib/libjit_gemm.so lib/libjit_gemm.a \
    lib/pkgconfig/jit_gemm.pc bin/jit-gemm; do
    [ -e "$prefix/$file" ] || { echo "$file was not installed"; exit 1; }
done

# Only the prefix of the test, and the system's own packages for the static link.
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export LD_LIBRARY_PATH=$prefix/lib
read -ra flags <<<"$(pkg-config --cflags jit_gemm)"
read -ra libs <<<"$(pkg-config --libs jit_gemm)"
read -ra static_libs <<<"$(pkg-config --static --libs jit_gemm | sed "s#-L$prefix/lib##")"
case " ${flags[*]} " in
*" -I$prefix/include "*) ;;
*) echo "pkg-config gives '${flags[*]}', not the folder of the headers"; exit 1 ;;
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
[ $count -gt 1 ] || { echo "there are no examples"; exit 1; }

step "g++ readme.c"
# C++ warns of members that a designated initializer leaves zero; C does not.
g++ -x c++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers \
    "${flags[@]}" "$scratch/examples/readme.c" -o "$scratch/readme_cpp" "${libs[@]}"

cat >"$scratch/unit.cpp" <<'END'
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>
#include <cstdio>
int main()
{
    jit_gemm_context_options options{};
    options.struct_size = sizeof options;
    options.arch = "sm_90a";
    options.no_device = 1;
    options.no_cache = 1;
    jit_gemm_context *context = nullptr;
    if (jit_gemm_context_create(&options, &context) != JIT_GEMM_OK) {
        std::fprintf(stderr, "%s\n", jit_gemm_last_error());
        return 1;
    }
    jit_gemm_problem problem{};
    problem.struct_size = sizeof problem;
    char text[4096];
    if (jit_gemm_problem_parse("512x512x512 bf16", &problem) != JIT_GEMM_OK ||
        jit_gemm_plan(context, &problem, text, sizeof text, nullptr) != JIT_GEMM_OK) {
        std::fprintf(stderr, "%s\n", jit_gemm_last_error());
        return 1;
    }
    std::printf("%s: %s, version %d\n", jit_gemm_context_arch(context),
                jit_gemm_version_string(), JIT_GEMM_VERSION);
    jit_gemm_context_destroy(&context);
    return jit_gemm_version() == JIT_GEMM_VERSION ? 0 : 1;
}
END
step "g++ unit.cpp, shared"
g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" "$scratch/unit.cpp" \
    -o "$scratch/unit" "${libs[@]}"
"$scratch/unit"
step "g++ unit.cpp, static"
mkdir -p "$scratch/static"
cp "$prefix/lib/libjit_gemm.a" "$scratch/static/"
g++ -std=c++17 "${flags[@]}" "$scratch/unit.cpp" -o "$scratch/unit_static" \
    -L"$scratch/static" "${static_libs[@]}"
env -u LD_LIBRARY_PATH "$scratch/unit_static"

step "the installed command plans without a GPU, and finds its library by itself"
env -u LD_LIBRARY_PATH "$prefix/bin/jit-gemm" plan 512x512x512 bf16 --arch sm_90a
step "and from where the prefix was moved to"
mv "$prefix" "$scratch/moved"
env -u LD_LIBRARY_PATH "$scratch/moved/bin/jit-gemm" plan 512x512x512 bf16 --arch sm_90a
mv "$scratch/moved" "$prefix"

export JIT_GEMM_CACHE_DIR=$scratch/cache
if "$prefix/bin/jit-gemm" build 64x64x64 bf16 --arch sm_100a -o "$scratch/k.cubin"; then
    step "the README's program on the emulator"
    JIT_GEMM_DRIVER=emulator "$scratch/examples/readme"
    JIT_GEMM_DRIVER=emulator "$scratch/readme_cpp"

    step "the same with an A that is not written, which the report names"
    sed 's/a, 0x3f, 1024 \* 512 \* 2/a, 0x3f, 2/' "$scratch/examples/readme.c" >"$scratch/a.c"
    gcc -std=c11 "${flags[@]}" "$scratch/a.c" -o "$scratch/a" "${libs[@]}"
    if JIT_GEMM_DRIVER=emulator "$scratch/a" 2>"$scratch/report"; then
        echo "nobody saw that A was not written"
        exit 1
    fi
    grep "global memory that was never written: byte [0-9]* of the 1048576 bytes at 0x" \
        "$scratch/report"
fi
echo "$count examples, 2 C++ programs and the command work from $prefix"
