# SPDX-License-Identifier: MIT
"""Runs test functions and reports them as TAP."""
import sys


class Skip(Exception):
    pass


def named_tests(module):
    """The functions of a module that are tests, by what they say."""
    return [(name[5:].replace("_", " "), function) for name, function in list(module.items())
            if name.startswith("test_")]


def run_tests(tests):
    """Runs pairs of a name and a function; 1 if one failed."""
    failures = 0
    print("TAP version 13")
    print(f"1..{len(tests)}")
    for number, (name, function) in enumerate(tests, 1):
        try:
            function()
            print(f"ok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except Exception as error:  # every failure is a line of the report
            failures += 1
            print(f"not ok {number} - {name}")
            for line in f"{type(error).__name__}: {error}".splitlines():
                print(f"# {line}")
        sys.stdout.flush()
    return 1 if failures else 0
