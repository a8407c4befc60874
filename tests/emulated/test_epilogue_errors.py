#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An epilogue's own errors (docs/epilogues.md) beside borders between the values of a narrow D: `run
--verify` allows them, and no more. Prints TAP.

Usage: test_epilogue_errors.py JIT_GEMM SOURCE_ROOT EMULATOR NVRTC
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_harness import (emulator_by_name, expect, expect_exit, named_tests, need_compiler,  # noqa: E402
                         run_tests, tool)
from strides import in_turn  # noqa: E402

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
NVRTC = pathlib.Path(sys.argv[4]).resolve()
# Of small arguments the curve of 8 bits is off by 2.36e-4 of its value, 2.5e-4 are documented.
RIGHT, WRONG = "-1.00034082f", "-1.00046f"  # ... and 3.2e-4
WORDS = ["k=1", "a=s8", "--device", "emulator", "--arch", "sm_90a", "--no-cache", "--alpha", "0.0000004",
         "--epilogue", "d = 19000.0f * gelu(acc);", "--verify"]
TYPES = in_turn([
    ("n=129", "d=e4m3"),
    ("n=129", "d=e5m2"),
    ("n=129", "d=s8"),
    ("n=129", "d=e4m3", "d_scale=1x128"),
    ("n=129", "d=e5m2", "d_scale=mx"),
    ("n=129", "d=e4m3", "d_scale=128x128ue8m0"),
    ("n=130", "d=nvfp4"),
    ("n=130", "d=mxfp4"),
])


def run_with(words, to):
    return tool("run", "m=768", words[0], *WORDS[:2], *words[1:], *WORDS[2:], "--nvrtc", NVRTC,
                variables={**emulator_by_name(EMULATOR, "show=errors"), "MUTATE_FROM": RIGHT, "MUTATE_TO": to})


def test_the_documented_error_is_right_beside_a_border():
    need_compiler()
    for words in TYPES:
        done = run_with(words, RIGHT)
        expect_exit(done, 0)
        expect(done.stdout.splitlines()[-1].startswith("PASS "), " ".join(words), done)
        expect("within the epilogue's own errors only" in done.stdout, " ".join(words), done)


def test_a_little_more_is_wrong():
    need_compiler()
    for words in TYPES:
        done = run_with(words, WRONG)
        expect(done.returncode == 1 and "over the bound of an element" in done.stderr, " ".join(words), done)
        expect(done.stdout.splitlines()[-1].startswith("FAIL "), " ".join(words), done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
