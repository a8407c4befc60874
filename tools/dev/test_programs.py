#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names tests of a build, and what has to be built for each.

Usage: test_programs.py BUILD_FOLDER PATTERN...

A pattern is of tests' names (`*_threads`), or of suites behind `suite:`. One line per test: its name, its program and
the targets that it needs, relative to the folder.
"""
import fnmatch
import json
import os
import subprocess
import sys


def introspect(folder, what):
    done = subprocess.run(["meson", "introspect", what, folder], capture_output=True, check=True)
    return json.loads(done.stdout)


def is_meant(test, pattern):
    if not pattern.startswith("suite:"):
        return fnmatch.fnmatch(test["name"], pattern)
    return any(fnmatch.fnmatch(suite.split(":")[-1], pattern[6:]) for suite in test["suite"])


def main():
    folder, *patterns = sys.argv[1:]
    files = {target["id"]: target["filename"] for target in introspect(folder, "--targets")}
    of_targets = {file for names in files.values() for file in names}
    for test in introspect(folder, "--tests"):
        if any(is_meant(test, pattern) for pattern in patterns):
            needed = {file for target in test["depends"] for file in files.get(target, [])}
            needed |= {word for word in test["cmd"] if word in of_targets}
            print(test["name"], *sorted(os.path.relpath(file, folder) for file in needed))


main()
