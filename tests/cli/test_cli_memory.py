#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command without memory: each allocation of a build fails, one after the other. Prints TAP.

Usage: test_cli_memory.py JIT_GEMM SOURCE_ROOT FAILING_PRELOAD

The last one is a library that counts allocations and fails one of them.
"""
import json
import pathlib
import re
import sys

from cli_harness import ARCH, Folder, expect, named_tests, run_tests, tool

PRELOAD = str(pathlib.Path(sys.argv[3]).resolve())


def build(folder, **variables):
    """The unit, as the command printed it and as the file has it."""
    path = folder.path / "unit.cu"
    path.unlink(missing_ok=True)
    done = tool("build", "512x512x512", "bf16", *ARCH, "--emit", "source", "-o", path, "--json", "--no-cache",
                variables={"LD_PRELOAD": PRELOAD, **variables})
    return done, path.read_text() if path.exists() else None


def test_a_build_is_whole_or_says_that_there_is_no_memory():
    with Folder() as folder:
        whole, unit = build(folder, JIT_GEMM_TEST_COUNT_MALLOC="1")
        expect(whole.returncode == 0 and json.loads(whole.stdout)["problem"], "a build", whole)
        count = int(re.search(r"(\d+) allocations", whole.stderr)[1])
        expect(count > 50, f"only {count} allocations")
        failures = 0
        for number in range(1, count + 1):
            done, text = build(folder, JIT_GEMM_TEST_FAILING_MALLOC=str(number))
            if done.returncode == 0:
                expect(done.stdout == whole.stdout and text == unit, f"allocation {number}", done)
            else:
                expect(done.returncode == 1 and "memory" in done.stderr, f"allocation {number}", done)
                failures += 1
        expect(failures > 50, f"only {failures} of {count} failed")


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
