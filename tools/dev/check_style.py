#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds every file of ours against the rules for bytes, names, lengths and the C dialect.

Usage: check_style.py ROOT

Bytes: UTF-8 (ASCII below kernel_src), LF, final newline, no trailing blanks, no tabs, no
invisible characters. Names: snake_case for sources. Lengths: the limits below. Text: no
paths of somebody's machine, no unfinished marks. SPDX line in every source. Constants of device
code are enumerators. Dialect: see c_dialect.py, which lists the folders that are held.
"""
import pathlib
import re
import subprocess
import sys

import c_dialect

# (pattern of the path, most lines). The first match counts.
LENGTHS = [
    (r"^tests/.*\.(c|cpp|h)$", 800),
    (r"^examples/.*\.c$", 160),
    (r"\.c$", 800),
    (r"^include/.*\.h$", 400),
    (r"\.h$", 400),
    (r"\.cuh$", 450),
    (r"\.py$", 400),
    (r"^scripts/", 400),
]
BINARY = {".bin", ".cubin", ".png"}
SOURCE = {".c", ".cpp", ".h", ".cuh", ".py", ".sh"}
# Generated or third-party text whose form is not ours to choose.
FOREIGN = re.compile(r"^(tests/golden/|bench/results/|LICENSE$)")
IGNORED = r"^(\.git|build|build-[^/]*|\.cache)/|__pycache__"
SNAKE = re.compile(r"^[a-z0-9_]+(\.[a-z0-9_]+)*$")
# Zero-width, direction and other characters that a reader cannot see.
INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
                       "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
                       "\U000e0000-\U000e0fff\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u00a0]")
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|Users|root|mnt|work|workspace|scratch)/\w")
# NVRTC leaves a variable in the kernel for each: its name and relocations were half of a cubin.
DEVICE_VARIABLE = re.compile(r"^(\s*static |\s*inline |)constexpr ((jg::)?[ui](8|16|32|64)|bool|int) \w+ *[=;]")
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def own_files(root):
    """What git would commit; without git, everything but build folders."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
        names = sorted(set(done.stdout.decode().split("\0")) - {""})
    except (OSError, subprocess.CalledProcessError):
        names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))
        names = [name for name in names if not re.search(IGNORED, name)]
    return [name for name in names if (root / name).is_file()]


def check_bytes(name, data):
    try:
        text = data.decode("ascii" if name.endswith(".cuh") else "utf-8")
    except UnicodeDecodeError as error:
        yield 1, f"not {error.encoding} at byte {error.start}"
        return
    if data and not data.endswith(b"\n"):
        yield text.count("\n") + 1, "no newline at the end"
    if text.endswith("\n\n"):
        yield text.count("\n"), "blank line at the end"
    for number, line in enumerate(text.split("\n"), 1):
        if "\r" in line:
            yield number, "carriage return"
        if line != line.rstrip(" \t\r"):
            yield number, "trailing blanks"
        if "\t" in line:
            yield number, "tab"
        hidden = INVISIBLE.search(line.replace("\r", "").replace("\t", ""))
        if hidden:
            yield number, f"invisible character U+{ord(hidden.group(0)):04X}"


def check_text(name, text):
    this_file = name == "tools/dev/check_style.py"
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if MACHINE_PATH.search(line) and not this_file:
            yield number, "path of somebody's machine"
        if MARKS.search(line) and not this_file:
            yield number, "unfinished mark"
    suffix = pathlib.PurePath(name).suffix
    for number, (before, line) in enumerate(zip(["", *lines], lines), 1):
        if suffix == ".cuh" and DEVICE_VARIABLE.match(line) and not before.startswith("template"):
            yield number, "a constant that becomes a variable of the kernel: enum : u32 { kX = 1 };"
    if suffix in SOURCE and not any("SPDX-License-Identifier: MIT" in line for line in lines[:3]):
        yield 1, "no SPDX line at the top"
    if suffix in SOURCE and not SNAKE.match(pathlib.PurePath(name).name):
        yield 1, "file name is not snake_case"
    for pattern, most in LENGTHS:
        if re.search(pattern, name):
            if len(lines) - 1 > most:
                yield most, f"{len(lines) - 1} lines; at most {most}"
            break


def check_tree(root):
    """(number of files, problems as `file:line: message`)"""
    files = own_files(root)
    problems = []
    members = c_dialect.pointer_members(
        (root / name).read_text(encoding="utf-8", errors="replace")
        for name in files if name.endswith((".c", ".h")))
    for name in files:
        if pathlib.PurePath(name).suffix in BINARY:
            continue
        data = (root / name).read_bytes()
        found = []
        if not FOREIGN.search(name):
            found += check_bytes(name, data)
        text = data.decode("utf-8", errors="replace")
        found += check_text(name, text)
        found += c_dialect.check(name, text, members)
        problems += [f"{name}:{number}: {message}" for number, message in found]
    return len(files), problems


def main():
    count, problems = check_tree(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    sys.exit(1 if problems or not count else 0)


if __name__ == "__main__":
    main()
