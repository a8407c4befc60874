#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of a Criterion program whose turn it is, where it is one of the suite `emulated`; another one of that
suite that is given a chip in every other commit; and any other program as it is. `scripts/check` puts it before each
test (`meson test --wrapper`).

Usage: run_in_turn.py PROGRAM ARGUMENT...

strides.py says which tests these are.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

from strides import CHIPS, has_turn, share_of_turn

SKIPPED = 77


def is_emulated(program):
    """Was it built for the suite `emulated`?"""
    for folder in program.parents:
        list_of_tests = folder / "meson-info" / "intro-tests.json"
        if list_of_tests.is_file():
            return any(pathlib.Path(test["cmd"][0]).resolve() == program and
                       any(suite.endswith(":emulated") for suite in test["suite"])
                       for test in json.loads(list_of_tests.read_text(encoding="utf-8")))
    return False


def tests_of(program):
    """Names, as in `suite/test`."""
    said = subprocess.run([program, "--list", "--encoding=C", "--color=never"], capture_output=True, text=True, check=True)
    names, suite = [], ""
    for line in said.stdout.splitlines():
        if found := re.match(r"(\w+): \d+ tests?$", line):
            suite = found[1]
        elif found := re.match(r"\W+(\w+)", line):
            names.append(f"{suite}/{found[1]}")
    return names


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    words = sys.argv[1:]
    is_ours = is_emulated(program)
    if is_ours and any(chip in words and not has_turn(chip) for chip in CHIPS):
        print("the other chip has its turn")
        sys.exit(SKIPPED)
    if is_ours and b"libcriterion.so" in program.read_bytes():
        names = tests_of(program)
        taken = share_of_turn(names, program.name)
        if not taken:
            sys.exit(f"{program.name} has no tests")
        if len(taken) < len(names):
            print(f"# {len(taken)} of {len(names)}, by JIT_GEMM_TEST_TURN={os.environ['JIT_GEMM_TEST_TURN']}", flush=True)
            words += ["--filter", f"@({'|'.join(taken)})"]
    os.execv(words[0], words)


main()
