# SPDX-License-Identifier: MIT
"""Runs every line of gpu_grid.txt with `jit-gemm run --verify`, several at a time.

Arguments: the tool, the source folder. With JIT_GEMM_TEST_WRAPPER set (for instance to
`compute-sanitizer --tool memcheck --error-exitcode 9`), only the lines of small problems run, each
under that command.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys

from cli_harness import (HOLDER, Skip, TOOL, clean_environment, expect, need_gpu, run_tests)

GRID = pathlib.Path(__file__).with_name("gpu_grid.txt")
WRAPPER = shlex.split(os.environ.get("JIT_GEMM_TEST_WRAPPER", ""))
SMALL_ELEMENTS = 400 * 600


def read_grid():
    lines = GRID.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if WRAPPER:
        sizes = [re.match(r"(?:m=)?(\d+)(?:x| n=)(\d+)(?:x| k=)", line) for line in lines]
        lines = [line for line, size in zip(lines, sizes)
                 if int(size[1]) * int(size[2]) <= SMALL_ELEMENTS]
    return lines


def run_line(line):
    return subprocess.run([*WRAPPER, str(TOOL), "run", *shlex.split(line), "--verify", "--repeat",
                           "1" if WRAPPER else "3"],
                          env=clean_environment(JIT_GEMM_CACHE_DIR=HOLDER.name + "/cache"),
                          capture_output=True, text=True, timeout=600, check=False)


def make_test(result):
    def test():
        done = result.result()
        last = done.stdout.splitlines()[-1] if done.stdout.strip() else ""
        passed = any(line.startswith("PASS ") for line in done.stdout.splitlines())
        expect(done.returncode == 0 and passed, last, done)
        print("# " + (last if not WRAPPER else
                      [line for line in done.stdout.splitlines() if line.startswith("PASS ")][0]))
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
    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        results = [pool.submit(run_line, line) for line in lines]
        return run_tests([(line, make_test(result)) for line, result in zip(lines, results)])


if __name__ == "__main__":
    sys.exit(main())
