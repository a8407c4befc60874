# SPDX-License-Identifier: MIT
"""What becomes of lines whose process passes, fails, breaks or does not end (tests/support/line_runs.py),
with programs of the tests' own in the place of the tool. Prints TAP.

Usage: test_line_runs.py JIT_GEMM SOURCE_ROOT
"""
import os
import pathlib
import sys

from cli_harness import Folder, expect, named_tests, run_tests
from line_runs import Process

# Says its process, then what the line says. `late` never ends.
PROGRAM = """#!/bin/sh
while read -r word; do
    echo "line 1: $word"
    echo "process $$"
    case $word in
    late) sleep 1000 ;;
    gone) exit 7 ;;
    found) echo "========= Invalid __global__ write"; word=passed ;;
    esac
    echo "line 1: $word"
done
"""


def run_all(*words, limit_s=60):
    """(verdict, what was said) of each, by one Process."""
    with Folder() as folder:
        program = pathlib.Path(folder.path) / "tool"
        program.write_text(PROGRAM)
        os.chmod(program, 0o755)
        process = Process(program, [], limit_s)
        results = [process.run([word]) for word in words]
        process.end()
    return results


def number_of(said):
    return next(line for line in said.splitlines() if line.startswith("process "))


def test_lines_that_pass_and_are_refused_share_a_process():
    (first, one), (second, other), _ = run_all("passed", "refused", "passed")
    expect((first, second) == ("passed", "refused"), f"{first}, {second}")
    expect(number_of(one) == number_of(other), "another process")


def test_a_line_that_fails_ends_its_process_and_no_other_line():
    (first, one), (second, other) = run_all("failed", "passed")
    expect((first, second) == ("failed", "passed"), f"{first}, {second}")
    expect(number_of(one) != number_of(other), "the same process")


def test_a_process_that_ends_is_a_failure_with_its_status():
    (verdict, said), (second, _) = run_all("gone", "passed")
    expect(verdict == "failed" and "the process ended with status 7" in said, said)
    expect(second == "passed", second)


def test_a_line_without_an_end_is_a_failure():
    (verdict, said), = run_all("late", limit_s=0.5)
    expect(verdict == "failed" and "no end within 0.5 s" in said, said)


def test_what_a_wrapper_finds_is_a_failure_whatever_the_result_was():
    (verdict, said), (second, _) = run_all("found", "passed")
    expect(verdict == "failed" and "Invalid __global__ write" in said, said)
    expect(second == "passed", second)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
