#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws problems with groups, configs and numbers of rows or of K, and runs each on the emulator for
the architecture that is named: right, without a finding; rows of no group have NaN in all inputs and
must not be written, and so has K of no group.

Usage: test_groups.py JIT_GEMM DRIVER ARCH

The draw is the same each time. JIT_GEMM_TEST_GROUPS=COUNT draws so many problems,
JIT_GEMM_TEST_SEED=NUMBER others. Each problem runs with three lists of sizes, under a mode each.
What the library refuses is drawn again; a refusal has to name what is wrong. Prints TAP.
"""
import collections
import os
import pathlib
import random
import shlex
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from group_draws import LISTS, draw_own_sizes, draw_place, draw_problem  # noqa: E402
from strides import has_turn, of_chip  # noqa: E402

PROBLEMS = int(os.environ.get("JIT_GEMM_TEST_GROUPS", "12"))
SEED = int(os.environ.get("JIT_GEMM_TEST_SEED", "1"))
MODES = ["async=random,schedule=random", "async=latest,schedule=fair",
         "async=reorder,schedule=starve", "async=eager,schedule=deep",
         "async=latest,schedule=random,elect=highest,resident=1"]


def is_refused(done):
    """Is it a refusal of what was drawn, with the field named?"""
    return done.returncode == 2 and "problem" in done.stderr and "hint:" in done.stderr


class Suite:
    def __init__(self, runner, arch):
        self.runner, self.arch = runner, arch
        self.draw = random.Random(SEED)
        self.refused = collections.Counter()

    def problems(self):
        """As many as are asked for that the library plans."""
        found = 0
        while found < PROBLEMS:
            words, lists, form = draw_problem(self.draw, self.arch)
            done = self.runner.run(["plan", *words, "--arch", self.arch], covered=False)
            if done.returncode == 0:
                found += 1
                yield words, lists, form
            elif not is_refused(done):
                yield words, [], done.stdout + done.stderr
            else:
                self.refused[done.stderr.splitlines()[0][:60]] += 1

    def run(self, words, sizes, number):
        mode = MODES[number % len(MODES)]
        listed = ",".join(map(str, sizes))
        done = self.runner.run(
            ["run", *words, "--arch", self.arch, "--verify", "--seed", number + 1,
             "--group-sizes", listed, *draw_place(random.Random(~number), words), *draw_own_sizes(random.Random(number), words, len(sizes))],
            f"{mode},seed={number},sms=4,threads=1,show=advice")
        return complaint(done)


def main():
    tool, driver, arch = sys.argv[1:]
    failed = 0
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_groups_") as holder, pool() as workers:
        suite = Suite(Runner(tool, driver, holder), arch)
        jobs = []
        for place, (words, lists, form) in of_chip(list(enumerate(suite.problems())), arch):
            if not lists:
                print(f"Bail out! {shlex.join(words)}: {form}")
                sys.exit(1)
            for number, sizes in enumerate(lists, place * LISTS):
                jobs.append((words, sizes, workers.submit(suite.run, words, sizes, number)))
        print(f"1..{len(jobs)}", flush=True)
        for number, (words, sizes, job) in enumerate(jobs, 1):
            wrong = job.result()
            failed += bool(wrong)
            print_result(number, f"{arch} {shlex.join(words)} --group-sizes "
                         f"{','.join(map(str, sizes))}", wrong)
    for text, count in suite.refused.most_common(5):
        print(f"# refused {count} times: {text}")
    coverage.finish(is_whole=has_turn(arch))
    sys.exit(1 if failed else 0)


main()
