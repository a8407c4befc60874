# SPDX-License-Identifier: MIT
"""Runs every line of gpu_grid.txt with `jit-gemm run --verify`, by a process for each processor.

Arguments: the tool, the source folder. With JIT_GEMM_TEST_WRAPPER set (for instance to
`compute-sanitizer --tool memcheck --error-exitcode 9`), only the lines of small problems run, each
under that command.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import sys
import threading

from cli_harness import HOLDER, Skip, TOOL, expect, need_gpu, run_tests
from line_runs import WRAPPER, Process

GRID = pathlib.Path(__file__).with_name("gpu_grid.txt")
LIMIT_S = 300
SMALL_ELEMENTS = 400 * 600


def read_grid():
    lines = GRID.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if WRAPPER:
        sizes = [re.match(r"(?:m=)?(\d+)(?:x| n=)(\d+)(?:x| k=)", line) for line in lines]
        lines = [line for line, size in zip(lines, sizes)
                 if int(size[1]) * int(size[2]) <= SMALL_ELEMENTS]
    return lines


class Runner:
    """Runs lines, each thread by a process of its own."""

    def __init__(self):
        self.own, self.all = threading.local(), []

    def run(self, line):
        if not hasattr(self.own, "process"):
            self.own.process = Process(TOOL, ["--device", "gpu", "--repeat", "1" if WRAPPER else "3"], LIMIT_S,
                                       JIT_GEMM_CACHE_DIR=HOLDER.name + "/cache")
            self.all.append(self.own.process)
        return self.own.process.run(shlex.split(line))

    def end(self):
        for process in self.all:
            process.end()


def make_test(result):
    def test():
        verdict, said = result.result()
        expect(verdict == "passed", said)
        print("# " + next(line for line in said.splitlines() if line.startswith("PASS ")))
    return test


def make_skip(reason):
    def skip():
        raise reason
    return skip


def main():
    lines = read_grid()
    try:
        need_gpu()
    except Skip as reason:
        skip = make_skip(reason)
        return run_tests([(line, skip) for line in lines])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        runner = Runner()
        results = [pool.submit(runner.run, line) for line in lines]
        code = run_tests([(line, make_test(result)) for line, result in zip(lines, results)])
        runner.end()
    return code


if __name__ == "__main__":
    sys.exit(main())
