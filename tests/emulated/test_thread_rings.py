#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rings that threads fill, as short as the choice makes them: a K of one, two and three blocks, and
several tiles a CTA, so that a ring that is too short for those who hold stages comes to a stop.

Usage: test_thread_rings.py JIT_GEMM DRIVER

Prints TAP.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from strides import in_turn  # noqa: E402

MODES = ["async=latest,schedule=fair", "async=random,schedule=starve"]
TYPES = [("a=bf16 d=f32 input_align=4", 64), ("a=bf16 d=f32 input_align=2", 64),
         ("a=e4m3 d=bf16 input_align=8", 128),
         ("a=e4m3 d=bf16 input_align=8 a_scale=1x128 b_scale=1x128", 128)]
ARCHS = ["sm_90a", "sm_100a"]


def main():
    tool, driver = sys.argv[1:]
    cases = in_turn([(arch, f"m=400 n=264 k={blocks * step} {words}")
                     for arch in ARCHS for words, step in TYPES for blocks in (1, 2, 3)])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="jit_gemm_rings_") as holder, pool() as workers:
        runner = Runner(tool, driver, holder)

        def run(number, arch, words):
            mode = MODES[number % len(MODES)]
            return complaint(runner.run(["run", *words.split(), "--arch", arch, "--verify"],
                                        f"{mode},seed={number},sms=2,threads=1", covered=False))

        jobs = [workers.submit(run, number, *case) for number, case in enumerate(cases)]
        print(f"1..{len(jobs)}", flush=True)
        for number, (case, job) in enumerate(zip(cases, jobs), 1):
            wrong = job.result()
            failed += bool(wrong)
            print_result(number, " ".join(case), wrong)
    sys.exit(1 if failed else 0)


main()
