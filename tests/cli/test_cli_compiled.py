#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives the options of compiled epilogues. Prints TAP.

Usage: test_cli_compiled.py JIT_GEMM SOURCE_ROOT

Tests whose name begins with gpu_ need a GPU and are skipped without one.
"""
import re
import sys

from cli_harness import (ARCH, SMALL, Folder, expect, expect_exit, named_tests, need_compiler,
                         need_gpu, run_tests, tool)

# float keep(float acc, int row, int col, int batch, float bias, float *aux)
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) keep(.param .b32 a, .param .b32 b, .param .b32 c, .param .b32 d,
    .param .b32 e, .param .b64 f)
{
    .reg .f32 %f<5>; .reg .b64 %rd<2>; .reg .pred %p<2>;
    ld.param.f32 %f1, [a];
    ld.param.f32 %f2, [e];
    ld.param.u64 %rd1, [f];
    add.f32 %f3, %f1, %f2;
    st.f32 [%rd1], %f3;
    st.param.f32 [r], %f3;
    setp.gt.f32 %p1, %f3, 0f00000000;
    @%p1 ret;
    mul.f32 %f4, %f3, 0f3C800000;
    st.param.f32 [r], %f4;
    ret;
}
"""
KEEP = ["--epilogue-symbol", "keep", "--operand", "bias:row_vector:bf16", "--operand",
        "aux:matrix:f32:out"]


def write_code(folder, text=PTX):
    path = folder.path / "keep.ptx"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("ascii"))
    return path


def test_a_compiled_epilogue_becomes_a_kernel_of_both_chips():
    need_compiler()
    with Folder() as folder:
        code = write_code(folder)
        for arch in ("sm_90a", "sm_100a"):
            out = folder.path / arch
            done = tool("build", *SMALL, "--arch", arch, "--epilogue-code", code, *KEEP, "-o",
                        out, cache=folder.cache)
            expect_exit(done, 0)
            expect(out.read_bytes()[:4] == b"\x7fELF", "no cubin", done)


def test_a_compiled_epilogue_runs_and_is_verified_by_the_same_function():
    need_compiler()
    with Folder() as folder:
        words = ["run", "72x64x64", "bf16", "--device", "emulator", *ARCH, "--verify",
                 "--epilogue-code", write_code(folder), *KEEP]
        done = tool(*words, cache=folder.cache)
        expect_exit(done, 0)
        expect(re.search(r"^aux +4608 elements, relative error ", done.stdout, re.M), "aux", done)
        expect(done.stdout.splitlines()[-1].startswith("PASS ") and "origin=compiled" in
               done.stdout, "last line", done)
        done = tool(*words, cache=folder.cache)
        expect("PASS " in done.stdout and "origin=disk" in done.stdout, "kept", done)


def test_gpu_a_compiled_epilogue_is_verified_with_every_tile():
    need_compiler()
    need_gpu()
    with Folder() as folder:
        code = write_code(folder)
        for tile in ("128x256", "256x128", "128x128", "64x128"):
            done = tool("run", "333x520x264", "bf16", "--device", "gpu", "--verify", "--config",
                        "tile=" + tile, "--epilogue-code", code, *KEEP, cache=folder.cache)
            expect_exit(done, 0)
            expect(done.stdout.splitlines()[-1].startswith("PASS "), tile, done)


def test_options_that_contradict_each_other_are_wrong_usage():
    rows = [
        (["--epilogue", "d = acc;", "--epilogue-code", "x"],
         "--epilogue and --epilogue-code exclude each other"),
        (["--epilogue-file", "y", "--epilogue-code", "x"],
         "--epilogue-file and --epilogue-code exclude each other"),
        (["--epilogue-code", "x"], "--epilogue-code needs --epilogue-symbol"),
        (["--epilogue-symbol", "f"], "--epilogue-symbol needs --epilogue-code"),
    ]
    for words, message in rows:
        done = tool("plan", *SMALL, *words)
        expect(done.returncode == 2 and message in done.stderr, message, done)


def test_wrong_code_names_its_field():
    with Folder() as folder:
        rows = [
            (b"\x7fELF\2\1\1", KEEP, "epilogue.code: it is an ELF file: a cubin"),
            (b"float keep();", KEEP, "epilogue.code: it is neither PTX nor LTO-IR"),
            (PTX.replace("sm_80", "sm_120"), KEEP, "is for sm_120, and the kernel for sm_90a"),
            (PTX, KEEP[:4], "epilogue.symbol: the function 'keep' has another signature"),
            (PTX, ["--epilogue-symbol", "kepp", *KEEP[2:]], "it defines: keep"),
            (PTX.replace("ret;", "call other;"), KEEP, "line 15: 'call'"),
            (b"", KEEP, "the file is empty"),
        ]
        for text, words, message in rows:
            done = tool("plan", *SMALL, *ARCH, "--epilogue-code", write_code(folder, text), *words)
            expect(done.returncode == (2 if text else 1) and message in done.stderr, message, done)
        done = tool("plan", *SMALL, *ARCH, "--epilogue-code", folder.path / "absent", *KEEP)
        expect(done.returncode == 1 and "absent" in done.stderr, "no file", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
