#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names the tests that run under ThreadSanitizer, and what has to be built for each.

Usage: thread_programs.py BUILD_FOLDER

They are the tests of the meson folder whose names end in `_threads`: Criterion does not start
under that sanitizer, so they are plain programs. One line per test: its name, its program and the
targets that it needs, relative to the folder.
"""
import json
import os
import subprocess
import sys


def introspect(folder, what):
    done = subprocess.run(["meson", "introspect", what, folder], capture_output=True, check=True)
    return json.loads(done.stdout)


def main():
    folder = sys.argv[1]
    files = {target["id"]: target["filename"] for target in introspect(folder, "--targets")}
    for test in introspect(folder, "--tests"):
        if test["name"].endswith("_threads"):
            needed = [file for target in test["depends"] for file in files.get(target, [])]
            needed = [os.path.relpath(file, folder) for file in [test["cmd"][0], *needed]]
            print(test["name"], *sorted(set(needed)))


main()
