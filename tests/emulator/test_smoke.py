#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the configs of tests/cli/sm100a_smoke.txt on the emulator, with many seeds and every way in
which asynchronous operations may complete: right, without a finding, and the same bits whatever
the seed; and the same bits for configs of one size, because all of them add up K in one order.

Usage: test_smoke.py JIT_GEMM DRIVER CONFIGS

32 seeds, each with one of the ways; JIT_GEMM_TEST_WAYS=all runs each seed with all of them. Prints
TAP.
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

SEEDS = 32
ASYNC = ["eager", "latest", "random", "reorder"]
SCHEDULES = ["fair", "random", "deep", "starve"]
FINDING = re.compile(r"^(error|warning) \[", re.MULTILINE)


def settings():
    """Every seed with another pair of async and schedule, or with all four of async."""
    every = os.environ.get("JIT_GEMM_TEST_WAYS") == "all"
    for seed in range(SEEDS):
        ways = ASYNC if every else [ASYNC[seed % len(ASYNC)]]
        for way in ways:
            schedule = SCHEDULES[seed // len(ASYNC) % len(SCHEDULES)]
            numbers = "exact" if seed % 16 == 5 else "fast"
            yield numbers, (f"async={way},schedule={schedule},seed={seed},numbers={numbers},"
                            f"sms=32,threads=1,show=advice{coverage.setting()}")


def main():
    tool, driver, configs = sys.argv[1:]
    lines = [line for line in pathlib.Path(configs).read_text(encoding="utf-8").splitlines()
             if line.strip() and not line.startswith("#")]
    coverage.begin()
    bits = {}  # of D, by line and way to compute
    with tempfile.TemporaryDirectory(prefix="jit_gemm_smoke_") as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        def run(number, line):
            path = pathlib.Path(folder) / f"d{number}"
            for numbers, setting in settings():
                kept = {name: value for name, value in os.environ.items()
                        if not name.startswith("JIT_GEMM_") or name == "JIT_GEMM_NVRTC"}
                kept.update({"JIT_GEMM_DRIVER": driver, "JIT_GEMM_EMULATOR": setting,
                             "JIT_GEMM_CACHE_DIR": folder + "/cache"})
                done = subprocess.run(
                    [tool, "run", *shlex.split(line), "--arch", "sm_100a", "--verify", "--save",
                     str(path)], env=kept, capture_output=True, text=True, timeout=600,
                    check=False)
                last = done.stdout.splitlines()[-1] if done.stdout.strip() else ""
                if done.returncode or not last.startswith("PASS ") or FINDING.search(done.stderr):
                    return f"{setting}\n{done.stdout}{done.stderr}"
                data = path.read_bytes()
                if bits.setdefault((line, numbers), data) != data:
                    return f"{setting}\nother bits than with another seed"
            return ""

        jobs = [(line, pool.submit(run, number, line)) for number, line in enumerate(lines)]
        results = [(line, job.result()) for line, job in jobs]
    by_size = {}
    for line in lines:
        if "split_k=1" in line:
            by_size.setdefault(line.split(" --")[0], []).append(line)
    for size, group in by_size.items():
        if len(group) > 1:
            for numbers in ("fast", "exact"):
                kinds = {bits.get((line, numbers)) for line in group}
                results.append((f"{len(group)} configs of {size} agree, numbers={numbers}",
                                "" if len(kinds) == 1 and None not in kinds else "they differ"))
    print(f"1..{len(results)}")
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong.splitlines()[:40]:
            print("# " + line)
    coverage.finish()
    sys.exit(1 if any(wrong for _, wrong in results) else 0)


main()
