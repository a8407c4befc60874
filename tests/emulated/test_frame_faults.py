#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in the frame around a snippet (jg/epilogue/user_epilogue.cuh), which the kernel and the
reference kernel share: `run --verify` has to see them by its second reading. Prints TAP.

Usage: test_frame_faults.py JIT_GEMM SOURCE_ROOT EMULATOR NVRTC
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_harness import (emulator_by_name, expect, expect_exit, named_tests, need_compiler,  # noqa: E402
                         run_tests, tool)

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
NVRTC = pathlib.Path(sys.argv[4]).resolve()
SNIPPET = "d = d + acc * 0.5f + bias + float(row - 2 * col) + 0.25f * float(M - N);"
WORDS = ["run", "96x64x64", "bf16", "d=f32", "--device", "emulator", "--arch", "sm_90a", "--no-cache",
         "--epilogue", SNIPPET, "--operand", "bias:row_vector:f32", "--verify"]
ROWS = [
    ("row and column are exchanged", "const int row, const int col,", "const int col, const int row,"),
    ("D is no result of the snippet", "JG_ACC_PARAMETERS, float &d,", "JG_ACC_PARAMETERS, float d,"),
    ("D does not begin as acc", "jg::f32 d = JG_ACC_FIRST;", "jg::f32 d = 0.0f;"),
    ("M and N are exchanged", "const int M, const int N,", "const int N, const int M,"),
    ("an accumulator is its double", "#define JG_ACC_VALUES                                          acc\n",
     "#define JG_ACC_VALUES                                          2.0f * acc\n"),
]


def run_with(before, after):
    variables = emulator_by_name(EMULATOR, "show=errors")
    return tool(*WORDS, "--nvrtc", NVRTC, variables={**variables, "MUTATE_FROM": before, "MUTATE_TO": after})


def test_without_a_fault_it_passes():
    need_compiler()
    done = run_with("JG_EPILOGUE_END", "JG_EPILOGUE_END")
    expect_exit(done, 0)
    expect(done.stdout.splitlines()[-1].startswith("PASS "), "no PASS", done)


def test_each_fault_of_the_frame_is_seen():
    need_compiler()
    for name, before, after in ROWS:
        done = run_with(before, after)
        expect(done.returncode == 1 and "D: the reference is wrong" in done.stderr, name, done)
        expect(done.stdout.splitlines()[-1].startswith("FAIL "), name, done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
