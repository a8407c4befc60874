#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the configs of tests/cli/sm100a_smoke.txt on the emulator with 2 seeds, the first with
every way in which asynchronous operations may complete and others with one: right, without a finding, and the same bits
whatever the seed and the way; and the same bits for configs of one size, because all of them add up
K in one order.

Usage: test_smoke.py JIT_GEMM DRIVER CONFIGS

The first run of a config with either arithmetic is compared with the reference; the others are
compared with the bits of that one. JIT_GEMM_TEST_SEEDS=COUNT takes another number of seeds, at least
2, JIT_GEMM_TEST_EVERY=1 all ways with each. Prints TAP.
"""
import os
import pathlib
import shlex
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from strides import of_chip, stride  # noqa: E402

SEEDS = int(os.environ.get("JIT_GEMM_TEST_SEEDS", "2"))
ASYNC = ["eager", "latest", "random", "reorder"]
SCHEDULES = ["fair", "random", "deep", "starve"]


def modes(number):
    """Of config `number`; seed and way together go through all schedules."""
    for seed in range(SEEDS):
        numbers = "exact" if seed % 16 == 1 else "fast"
        every = stride(len(ASYNC)) if seed > 0 else 1
        for index, way in list(enumerate(ASYNC))[number % every::every]:
            schedule = SCHEDULES[(seed + index) % len(SCHEDULES)]
            yield numbers, (f"async={way},schedule={schedule},seed={seed},numbers={numbers},"
                            "sms=32,threads=1,show=advice")


class Config:
    """A line of the list, and the bits of D by the arithmetic that made them."""

    def __init__(self, number, line, runner, path):
        self.number, self.line, self.runner, self.path, self.bits = number, line, runner, path, {}

    def run(self):
        """What was wrong, or an empty text."""
        for numbers, settings in modes(self.number):
            first = numbers not in self.bits
            done = self.runner.run(["run", *shlex.split(self.line), "--arch", "sm_100a", "--save",
                                    self.path, *(["--verify"] if first else [])], settings)
            wrong = complaint(done, "PASS" if first else "DONE")
            if wrong:
                return f"{settings}\n{wrong}"
            data = self.path.read_bytes()
            self.path.unlink()
            if self.bits.setdefault(numbers, data) != data:
                return f"{settings}\nother bits than with another seed"
        return ""


def compare_sizes(configs):
    """(name, what was wrong) for the configs of each size that add up K in one order."""
    by_size = {}
    for config in configs:
        if "split_k=1" in config.line:
            by_size.setdefault(config.line.split(" --")[0], []).append(config)
    for size, group in by_size.items():
        for numbers in ("fast", "exact") if len(group) > 1 else ():
            kinds = {config.bits.get(numbers) for config in group}
            yield (f"{len(group)} configs of {size} agree, numbers={numbers}",
                   "" if len(kinds) == 1 and None not in kinds else "they differ")


def main():
    tool, driver, path = sys.argv[1:]
    lines = of_chip([line for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()
                     if line.strip() and not line.startswith("#")], "sm_100a")
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_smoke_") as folder, pool() as workers:
        runner = Runner(tool, driver, folder)
        configs = [Config(number, line, runner, pathlib.Path(folder) / f"d{number}")
                   for number, line in enumerate(lines)]
        results = [(config.line, wrong)
                   for config, wrong in zip(configs, workers.map(Config.run, configs))]
    results += compare_sizes(configs)
    print(f"1..{len(results)}")
    for number, (name, wrong) in enumerate(results, 1):
        print_result(number, name, wrong)
    coverage.finish()
    sys.exit(1 if any(wrong for _, wrong in results) else 0)


main()
