#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`jit-gemm bench` where only a GPU will do: launches that are captured and replayed. Prints TAP.

Usage: test_gpu_bench.py JIT_GEMM SOURCE_ROOT
"""
import json
import sys

from cli_harness import Folder, expect, expect_exit, named_tests, need_gpu, run_tests, tool


def test_rounds_are_replays_of_a_graph():
    need_gpu()
    with Folder() as folder:
        done = tool("bench", "512x512x512", "bf16", "64x1024x4096", "bf16", "epilogue=silu", "--rounds", "2", "--round-ms",
                    "5", "--warmup-ms", "20", "--replays", "--json", cache=folder.cache)
        expect_exit(done, 0)
        for line in done.stdout.splitlines():
            result = json.loads(line)
            first = result["entries"][0]
            expect(result["replays"] and first["median_us"] > 0 and not first["launch_bound"], "replays", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
