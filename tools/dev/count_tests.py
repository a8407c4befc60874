#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the tests of one `meson test` run.

Usage: count_tests.py TESTLOG_JSON RUN_LOG

A Criterion program counts with each of its tests (from the summary that it prints; a program that
ran none has failed), a TAP program with each of its lines, any other program as one. Prints a line
for each program, with the reasons of skipped tests, the names of failed ones and the last words of
a failed program that has no names, and last a line `PASSED FAILED SKIPPED` with three numbers.
"""
import json
import re
import sys

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SUMMARY = re.compile(r"Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+)")
# Without those that a filter leaves out (tests/support/run_in_turn.py).
SKIPPED = re.compile(r"^\[SKIP\] (\S+?):? (?!Test is disabled$)(.*)$", re.M)
FAILED = re.compile(r"^\[FAIL\] (\S+): ", re.M)
LAST_WORDS = 6  # lines
TAP = re.compile(r"^(ok|not ok)\b *\d* *-? *(.*?)(?: *# *(skip|todo)\b *(.*))?$", re.M | re.I)


def skip_notes(skips):
    """One note a test, or one for all that share a reason, if they are many."""
    by_reason = {}
    for name, reason in skips:
        by_reason.setdefault(reason, []).append(name)
    notes = []
    for reason, names in by_reason.items():
        if len(names) > 4:
            notes.append(f"skipped {len(names)} tests: {reason}")
        else:
            notes += [f"skipped {name}: {reason}" for name in names]
    return notes


def count(test):
    """(passed, failed, skipped, notes) of one program."""
    output = COLOUR.sub("", test.get("stdout", "") + "\n" + test.get("stderr", ""))
    result = test["result"]
    summary = SUMMARY.search(output)
    notes = []
    if summary:
        passed, failed = int(summary.group(2)), int(summary.group(3))
        skips = SKIPPED.findall(output)
        notes += skip_notes(skips)
        notes += [f"FAILED {name}" for name in dict.fromkeys(FAILED.findall(output))]
        if result not in ("OK", "EXPECTEDFAIL", "SKIP") and failed == 0:
            failed = 1
            notes.append(f"FAILED: {result}, exit status {test['returncode']}")
        if passed + failed + len(skips) == 0:
            failed = 1
            notes.append("FAILED: the program ran no test")
        return passed, failed, len(skips), notes
    lines = TAP.findall(test.get("stdout", ""))
    if re.search(r"^1\.\.\d+", test.get("stdout", ""), re.M) and lines:
        skips = [(name, why) for _, name, word, why in lines if word.lower() == "skip"]
        bad = [name for state, name, word, _ in lines if state.lower() == "not ok" and not word]
        notes += skip_notes(skips)
        notes += [f"FAILED {name}" for name in bad]
        failed = len(bad)
        if result not in ("OK", "EXPECTEDFAIL", "SKIP") and failed == 0:
            failed = 1
            notes.append(f"FAILED: {result}, exit status {test['returncode']}")
        return len(lines) - len(skips) - len(bad), failed, len(skips), notes
    if result in ("OK", "EXPECTEDFAIL"):
        return 1, 0, 0, notes
    if result == "SKIP":
        words = output.strip().splitlines()
        return 0, 0, 1, [f"skipped: {words[-1] if words else 'no reason given'}"]
    words = [line for line in output.splitlines() if line.strip()]
    return 0, 1, 0, [f"FAILED: {result}, exit status {test['returncode']}", *words[-LAST_WORDS:]]


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            tests = [json.loads(line) for line in file if line.strip()]
    except OSError:
        tests = []
    totals = [0, 0, 0]
    for test in sorted(tests, key=lambda test: test["name"]):
        passed, failed, skipped, notes = count(test)
        for index, number in enumerate((passed, failed, skipped)):
            totals[index] += number
        word = "FAIL" if failed else "ok  " if passed else "skip"
        name = test["name"].split(" / ")[-1]
        print(f"{word}  tests     {name}: {passed} passed, {failed} failed"
              + (f", {skipped} skipped" if skipped else "")
              + f" ({test.get('duration', 0.0):.1f} s)")
        for note in notes:
            print(f"      | {note if len(note) <= 160 else note[:157] + '...'}")
    if not tests:
        print(f"FAIL  tests     meson ran no tests; log: {sys.argv[2]}")
        totals[1] = 1
    elif totals[1]:
        print(f"      | log: {sys.argv[2]}")
    print(*totals)


main()
