#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the small problems of tests/cli/gpu_grid.txt on the emulator, `jit-gemm run --verify`,
each under one of the modes in turn, for the architecture that is named.

Usage: test_emulated_grid.py JIT_GEMM DRIVER GRID ARCH

Lines that name a config belong to sm_90a. Prints TAP.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402

MODES = ["async=random,schedule=random", "async=latest,schedule=fair",
         "async=reorder,schedule=starve", "async=eager,schedule=deep"]
MOST_PRODUCTS = 64 << 20  # M * N * K


def read_grid(path, arch):
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        size = re.match(r"(\d+)x(\d+)x(\d+) ", line)
        if size and int(size[1]) * int(size[2]) * int(size[3]) <= MOST_PRODUCTS:
            if arch == "sm_90a" or "--config" not in line:
                yield line


def main():
    tool, driver, grid, arch = sys.argv[1:]
    failed = 0
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_grid_") as holder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        def run(number, line):
            mode = MODES[number % len(MODES)]
            kept = {name: value for name, value in os.environ.items()
                    if not name.startswith("JIT_GEMM_") or name == "JIT_GEMM_NVRTC"}
            kept.update({"JIT_GEMM_DRIVER": driver, "JIT_GEMM_CACHE_DIR": holder + "/cache",
                         "JIT_GEMM_EMULATOR": f"{mode},seed={number},threads=1,show=advice"
                         + coverage.setting()})
            done = subprocess.run([tool, "run", *shlex.split(line), "--arch", arch, "--verify"],
                                  env=kept, capture_output=True, text=True, timeout=300,
                                  check=False)
            return mode, done

        jobs = [(line, pool.submit(run, number, line))
                for number, line in enumerate(read_grid(grid, arch))]
        print(f"1..{len(jobs)}", flush=True)
        for number, (line, job) in enumerate(jobs, 1):
            mode, done = job.result()
            last = done.stdout.splitlines()[-1] if done.stdout.strip() else ""
            good = done.returncode == 0 and last.startswith("PASS ") and not re.search(
                r"^(error|warning) \[", done.stderr, re.M)
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {arch} {line} # {mode}", flush=True)
            if not good:
                for text in (done.stdout + done.stderr).splitlines()[:40]:
                    print("# " + text)
    coverage.finish()
    sys.exit(1 if failed else 0)


main()
