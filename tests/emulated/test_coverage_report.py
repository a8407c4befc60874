#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the report of coverage calls missing, allowed and not run. Usage: FILE; prints TAP."""
import os
import pathlib
import subprocess
import sys
import tempfile

REPORT = pathlib.Path(__file__).with_name("coverage_report.py")
SOURCE = "void f()\n{\n    one();\n    two();\n    three();\n}\n"
FULL = "1\tadd.s32\tjg/a/x.cuh:3\n1\tinlined\tjg/a/x.cuh:4\n0\tmov.b32\tjg/a/x.cuh:4\n"
HALF = "0\tadd.s32\tjg/a/x.cuh:3\n0\tred.async\tjg/a/x.cuh:5\n0\tbra\tk, ptx line 7\n"


class Case:
    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        (self.root / "jg/a").mkdir(parents=True)
        (self.root / "jg/a/x.cuh").write_text(SOURCE)

    def run(self, files, uncovered=""):
        (self.root / "list.txt").write_text(uncovered)
        names = []
        for number, text in enumerate(files):
            names.append(self.root / f"suite{number}")
            if text is not None:
                names[-1].write_text(text)
        return self.report(names)

    def report(self, names):
        return subprocess.run([sys.executable, REPORT, self.root, self.root / "list.txt", *names],
                              capture_output=True, text=True, check=False)


def expect(done, code, *texts):
    missing = [text for text in texts if text not in done.stdout + done.stderr]
    if done.returncode != code or missing:
        raise AssertionError(f"exit {done.returncode}, not {code}; without {missing}\n"
                             f"{done.stdout}{done.stderr}")


def what_one_suite_ran_counts_for_all(case):
    expect(case.run([FULL, HALF.replace("x.cuh:5", "x.cuh:4")]), 0,
           "jg/a/x.cuh: 2 of 2 lines executed", "1 of    1  add.s32", "1 of 3 opcodes")


def line_that_never_ran_fails(case):
    expect(case.run([FULL, HALF]), 1, "5: three();", "NO REASON", "1 lines never ran")


def line_with_a_reason_passes(case):
    expect(case.run([FULL, HALF], "# why\njg/a/x.cuh | ^thr[e]+ | not for tests\n"), 0,
           "never ran: not for tests", "0 lines never ran")
    expect(case.run([FULL, HALF], "jg/a/x.cuh | two | other line\n"), 1, "not needed any more")
    expect(case.run([FULL, HALF], "jg/a/x.cuh | three\n"), 1, "is not `file | part | reason`")


def suites_that_were_not_run_are_a_skip(case):
    expect(case.run([FULL, None]), 77, "suite1 has not been run in full")
    os.utime(case.root / "jg/a/x.cuh", (4e9, 4e9))
    expect(case.report([case.root / "suite0"]), 77, "before the kernels' sources changed")


def with_a_share_only_lines_of_whole_suites_of_a_chip_have_to_run(case):
    """x.cuh:5 is compiled by a suite of both chips and by a share; x.cuh:4 by a whole one, and executed by the share."""
    whole, both = "1\tadd.s32\tjg/a/x.cuh:3\n0\tmov.b32\tjg/a/x.cuh:4\n", "0\tred.async\tjg/a/x.cuh:5\n"
    share = both + "1\tmov.b32\tjg/a/x.cuh:4\n"
    for name, text in (("suite0", whole), ("suite1.share", share), ("suite2", both)):
        (case.root / name).write_text(text)
    (case.root / "list.txt").write_text("")
    names = [f"chip={case.root}/suite0", f"chip={case.root}/suite1", f"{case.root}/suite2"]
    expect(case.report(names), 0, "jg/a/x.cuh: 2 of 2 lines executed")
    (case.root / "suite1.share").write_text(both)
    expect(case.report(names), 1, "4: two();", "1 lines never ran")
    (case.root / "list.txt").write_text("jg/a/x.cuh | two | the other chip's\njg/a/x.cuh | three | the other chip's\n")
    expect(case.report(names), 0, "never ran: the other chip's", "not needed any more: jg/a/x.cuh | three")
    (case.root / "suite1.share").rename(case.root / "suite1")
    expect(case.report(names), 1, "4: two();", "5: three();", "2 lines never ran")


def nothing_of_ours_is_no_coverage(case):
    expect(case.run(["1\tbra\tk, ptx line 7\n"]), 1)


def main():
    tests = [what_one_suite_ran_counts_for_all, line_that_never_ran_fails,
             line_with_a_reason_passes, with_a_share_only_lines_of_whole_suites_of_a_chip_have_to_run, suites_that_were_not_run_are_a_skip,
             nothing_of_ours_is_no_coverage]
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            with tempfile.TemporaryDirectory(prefix="jit_gemm_coverage_") as folder:
                test(Case(folder))
            print(f"ok {number} - {test.__name__}")
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} - {test.__name__}")
            print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
    sys.exit(1 if failed else 0)


main()
