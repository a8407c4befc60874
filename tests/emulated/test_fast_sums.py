#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums of 8-bit floats with accumulate=fast are those that the tensor core of sm_90a makes of all K,
and without it those of 128 of K each, added up in f32: seen by what is lost.

Usage: test_fast_sums.py JIT_GEMM DRIVER

With the arithmetic of the tensor core (`numbers=exact`). Prints TAP.
"""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import Runner, complaint  # noqa: E402
from strides import in_turn  # noqa: E402
from tap import named_tests, run_tests  # noqa: E402

TOOL, DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
SETTINGS = "numbers=exact,sms=4,async=random,seed=4"


def error(size, *words, arch="sm_90a"):
    with tempfile.TemporaryDirectory() as folder:
        done = Runner(TOOL, DRIVER, pathlib.Path(folder)).run(
            ["run", size, *words, "--arch", arch, "--verify"], SETTINGS)
    wrong = complaint(done, "PASS")
    assert not wrong, wrong
    return float(re.search(r"PASS rel_error=(\S+)", done.stdout)[1])


def compare(size, *words):
    """Of K = 4096: about 1e-4 of the norm, and 1.2e-3."""
    exact = error(size, *words)
    fast = error(size, *words, "accumulate=fast")
    assert exact < 2e-4 and 6e-4 < fast < 2e-3, f"{size} {words}: exact {exact}, fast {fast}"


def test_sums_of_all_k_lose_more_than_sums_of_128():
    compare("128x256x4096", "e4m3", "d=f32", "--config", "tile=128x192")


def test_few_rows_lose_the_same():
    compare("17x64x4096", "e5m2", "b=e4m3", "d=f32", "--config", "tile=64x32 split_k=1")


def test_tiles_that_only_fast_sums_have_registers_for():
    for config in ("tile=128x256", "tile=128x192 pingpong=1"):
        fast = error("128x256x4096", "e4m3", "d=f32", "accumulate=fast", "--config", config)
        assert 6e-4 < fast < 2e-3, f"{config}: {fast}"


def test_sums_that_are_small_by_chance_pass():
    """Terms that cancel: what 13 bits lose is more of what is left than of sums as usual."""
    for words in (["9x1x896", "--seed", "2", "--epilogue", "d = relu(acc);"], ["1x1x896", "--seed", "9"]):
        fast = error(words[0], "e4m3", "d=f32", "accumulate=fast", *words[1:])
        assert fast > 5e-4 + 4e-7 * 896, f"{words}: {fast} is within the bound of many elements"


def test_what_a_steep_snippet_makes_of_a_sum_is_right():
    """A product of two sums of 7 or so has ten times their error, beside a D of about 1."""
    error("256x160x512", "e4m3", "b=e5m2", "d=bf16", "--epilogue", "d = dgelu(silu(acc0) * acc1 + p);", "--operand",
          "p:row_vector:f32", "--config", "tile=128x128", "--seed", "3")


def test_what_it_makes_of_all_sums_is_right():
    """No element is beyond its own bound, but the norm of all is 1.5 times that of sums."""
    fast = error("256x160x2048", "e4m3", "b=e5m2", "d=f32", "accumulate=fast", "--epilogue",
                 "d = dgelu(silu(acc0) * acc1);", "--config", "tile=128x128", "--seed", "3")
    assert fast > 5e-4 + 4e-7 * 2048, f"{fast} is within the bound of plain sums"


def test_sm_100a_keeps_all_of_them():
    fast = error("128x64x4096", "e4m3", "d=f32", "accumulate=fast", arch="sm_100a")
    assert fast < 2e-5, str(fast)


if __name__ == "__main__":
    sys.exit(run_tests(in_turn(named_tests(globals()))))
