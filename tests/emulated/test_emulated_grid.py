#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs small problems of tests/cli/gpu_grid.txt on the emulator, `jit-gemm run --verify`, each
under one of the modes, for the architecture that is named. Which: see grid_lines.py, strides.py.

Usage: test_emulated_grid.py JIT_GEMM DRIVER GRID ARCH

Lines that name a config belong to sm_90a. Prints TAP.
"""
import pathlib
import re
import shlex
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from grid_lines import grid_lines  # noqa: E402
from strides import has_turn, of_chip  # noqa: E402

MODES = ["async=random,schedule=random", "async=latest,schedule=fair",
         "async=reorder,schedule=starve", "async=eager,schedule=deep"]
MOST_PRODUCTS = 64 << 20  # M * N * K


def is_for(line, arch):
    size = re.match(r"(\d+)x(\d+)x(\d+) ", line)
    return (size and int(size[1]) * int(size[2]) * int(size[3]) <= MOST_PRODUCTS and
            (arch == "sm_90a" or "--config" not in line))


def main():
    tool, driver, grid, arch = sys.argv[1:]
    failed = 0
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_grid_") as holder, pool() as workers:
        runner = Runner(tool, driver, holder)

        def run(line):
            number = zlib.crc32(line.encode()) % 1000  # of its own: a line beside it changes nothing
            mode = MODES[number % len(MODES)]
            return mode, complaint(runner.run(
                ["run", *shlex.split(line), "--arch", arch, "--verify"],
                f"{mode},seed={number},threads=1,show=advice"))

        lines = grid_lines([pathlib.Path(grid)], tool, arch, is_for=lambda line: is_for(line, arch))
        jobs = [(line, workers.submit(run, line)) for _, line in of_chip(lines, arch)]
        print(f"1..{len(jobs)}", flush=True)
        for number, (line, job) in enumerate(jobs, 1):
            mode, wrong = job.result()
            failed += bool(wrong)
            print_result(number, f"{arch} {line} # {mode}", wrong)
    coverage.finish(is_whole=has_turn(arch))
    sys.exit(1 if failed else 0)


main()
