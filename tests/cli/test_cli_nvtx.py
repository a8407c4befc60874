#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NVTX ranges, as a tool sees them that NVTX opens. TAP.

Usage: test_cli_nvtx.py JIT_GEMM SOURCE_ROOT EMULATOR COUNTING_NVTX
"""
import pathlib
import sys

from cli_harness import ARCH, SMALL, Folder, emulator_by_name, expect, named_tests, need_compiler, run_tests, tool

EMULATOR, COUNTING = (pathlib.Path(word).resolve() for word in sys.argv[3:5])
TEXT = "m=256 n=256 k=128 a=bf16"


def ranges(folder, name, **variables):
    """What one run gives: (depth, "create" and the like) of each push, in order."""
    path = folder.path / name
    done = tool("run", *SMALL, "--device", "emulator", *ARCH, cache=folder.cache, variables={
        **emulator_by_name(EMULATOR, "seed=1"), "NVTX_INJECTION64_PATH": str(COUNTING), "COUNTING_NVTX": str(path),
        **variables})
    expect(done.returncode == 0, "the run", done)
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    pushes = [line.split(" ", 4) for line in lines if " push " in line]
    expect(len(lines) == 2 * len(pushes), f"each push has its pop: {lines}")
    expect(not lines or lines[-1] == "0 pop", f"all are ended: {lines}")
    for _, _, who, _, text in pushes:
        expect(who == "jit_gemm:" and text == TEXT, f"{text}")
    return [(int(depth), what) for depth, _, _, what, _ in pushes]


def test_create_compile_load_and_run_are_ranges_by_the_problem():
    need_compiler()
    with Folder() as folder:
        first = ranges(folder, "first", JIT_GEMM_NVTX="1")
        expect(first[:3] == [(0, "create"), (1, "compile"), (1, "load")] and set(first[3:]) == {(0, "run")}, f"{first}")
        again = ranges(folder, "again", JIT_GEMM_NVTX="1")
        expect(again[:2] == [(0, "create"), (1, "load")] and set(again[2:]) == {(0, "run")}, f"of the cache: {again}")


def test_there_are_none_unless_they_are_asked_for():
    need_compiler()
    with Folder() as folder:
        expect(ranges(folder, "none") == [] and ranges(folder, "off", JIT_GEMM_NVTX="0") == [], "none")
        done = tool("plan", *SMALL, *ARCH, variables={"JIT_GEMM_NVTX": "yes"})
        expect(done.returncode == 2 and "JIT_GEMM_NVTX: is neither 1 nor 0" in done.stderr, "another word", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
