# SPDX-License-Identifier: MIT
"""Runs lines of files on the emulator with `jit-gemm run --verify`; which: see grid_lines.py, which
looks at all files, so that none has a line for what another has already.

Arguments: the tool, the source folder, the emulator, files beside this one; and, for a sample of their
small problems, how many of them to go on at a time. A run passes if the numbers are right and the emulator found
nothing worse than advice: no race, no missing fence, no wrong barrier.
"""
import math
import pathlib
import re
import shlex
import sys

from cli_harness import TOOL, emulator_by_name, expect, need_compiler, run_tests, tool
import emulator_coverage as coverage
from emulated_runs import complaint
from grid_lines import grid_lines, read
from strides import has_turn, of_chip

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
NAMES, COUNT = ([word for word in sys.argv[4:] if word.isdigit() == is_count] for is_count in (False, True))
GRIDS = [pathlib.Path(__file__).with_name(name) for name in NAMES]


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


def is_small(line):
    size = re.search(r" (\d+)x(\d+)x(\d+) ", line)
    return size is not None and math.prod(map(int, size.groups())) <= 12 << 20


def lines():
    if COUNT:
        return [line for path in GRIDS for line, _ in read(path, is_small)][::int(COUNT[0])]
    return of_chip([line for _, line in grid_lines(GRIDS, TOOL, "sm_100a", has_settings=True)], "sm_100a")


if __name__ == "__main__":
    coverage.begin()
    failed = run_tests([(line, make_test(line)) for line in lines()])
    coverage.finish(is_whole=has_turn("sm_100a"))
    sys.exit(failed)
