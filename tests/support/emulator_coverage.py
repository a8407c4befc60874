# SPDX-License-Identifier: MIT
"""Where the emulated suites leave which instructions of our kernels they executed.

A suite runs its kernels with `setting()` among the emulator's settings; when it has ended and calls
`finish()`, its file takes the place of the one from the last time, under another name where it had
no more than a share of its list to run. Without the variable EMULATOR_COVERAGE, which names that file, nothing is written.
"""
import os
import pathlib

FILE = os.environ.get("EMULATOR_COVERAGE", "")
PART = FILE + ".part"
SHARE = FILE + ".share"


def begin():
    if FILE:
        pathlib.Path(FILE).parent.mkdir(parents=True, exist_ok=True)
        for name in (FILE, PART, SHARE):
            pathlib.Path(name).unlink(missing_ok=True)


def setting():
    """To be added to the settings of the emulator, which take no path but a plain one."""
    return f",coverage={PART}" if FILE and len(PART) < 256 and not set(PART) & set(", ") else ""


def finish(is_whole=True):
    if FILE and pathlib.Path(PART).is_file():
        os.replace(PART, FILE if is_whole else SHARE)
