# SPDX-License-Identifier: MIT
"""Runs lines of a file on the emulator with `jit-gemm run --verify`; which: see grid_lines.py.

Arguments: the tool, the source folder, the emulator, the file beside this one, and how many of
these lines to go on at a time (1 if left out). A run passes if the numbers are right and the emulator found
nothing worse than advice: no race, no missing fence, no wrong barrier.
"""
import pathlib
import shlex
import sys

from cli_harness import emulator_by_name, expect, need_compiler, run_tests, tool
import emulator_coverage as coverage
from emulated_runs import complaint
from grid_lines import grid_lines

GRID = pathlib.Path(__file__).with_name(sys.argv[4])
EMULATOR = pathlib.Path(sys.argv[3]).resolve()
EVERY = int(sys.argv[5]) if len(sys.argv) > 5 else 1


def make_test(line):
    def test():
        need_compiler()
        settings, *words = shlex.split(line)
        done = tool("run", *words, "--device", "emulator", "--arch", "sm_100a", "--verify",
                    variables=emulator_by_name(EMULATOR, settings + coverage.setting()))
        expect(not complaint(done), "wrong, or the emulator found something", done)
        expect("\ndevice   Emulated B200 (sm_100a), " in done.stdout, "another device", done)
        expect("arch=sm_100a" in done.stdout, "another architecture", done)
    return test


if __name__ == "__main__":
    coverage.begin()
    failed = run_tests([(line, make_test(line)) for line in list(grid_lines(GRID))[::EVERY]])
    coverage.finish()
    sys.exit(failed)
