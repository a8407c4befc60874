#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of faults in docs/scales-testing.md names tests that there are: files, programs, tests of Criterion, rules of
mutations and planted faults.

Usage: test_named_tests.py SOURCE_ROOT

Prints TAP, a line for each row of the table; then what has no such name has to be found.
"""
import pathlib
import re
import sys

# Of a row's last cell: what is in backquotes, and what is in quotes.
WORD = re.compile(r"`([^`]+)`")
QUOTED = re.compile(r'"([^"]+)"')
OPTION = re.compile(r"^(--)?\w[\w-]*(=\S+)?$")  # of a kernel or the command: tile=128x192, --back-to-back


def read(paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


class Names:
    def __init__(self, root):
        self.root = root
        folders = [root / "tests", root / "emulator" / "tests"]
        self.criterion = set(re.findall(r"^\w*Test\((\w+),\s*(\w+)",
                                        read(path for folder in folders for path in folder.rglob("*.c")), re.M))
        self.programs = read(path for folder in folders for path in folder.rglob("meson.build"))
        self.faults = read((root / "tests" / "emulated").glob("*.py"))
        self.findings = read([root / "emulator" / "check" / "report.c"])

    def has_test(self, word):
        suite, _, name = word.rpartition("/")
        return any(test == name and suite in ("", its_suite) for its_suite, test in self.criterion)

    def has(self, word):
        is_option = OPTION.match(word) is not None and ("=" in word or word.startswith("--"))
        return (is_option or (self.root / word).is_file() or self.has_test(word)
                or any(word == suite for suite, _ in self.criterion) or f"'{word}'" in self.programs
                or f'"{word}"' in self.findings or (word.endswith(":") and f'"{word} ' in self.faults))

    def missing(self, cell):
        """What a cell names and there is not."""
        words = [word for word in WORD.findall(cell) if not word.endswith("_*.c")]
        return [word for word in words if not self.has(word)] + [
            f'"{quote}"' for quote in QUOTED.findall(cell) if quote not in self.faults]


def main():
    root = pathlib.Path(sys.argv[1])
    names = Names(root)
    text = (root / "docs" / "scales-testing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", text, re.M)
    lines = [(f"row {number}: {fault}", names.missing(tests)) for number, fault, tests in rows]
    lines.append(("24 rows", [] if [int(row[0]) for row in rows] == list(range(1, 25)) else ["some"]))
    wrong = 'refused: `tests/plan/test_none.c`, `scales/of_nothing`, `mx0:`; `emu_nothing`: "no such fault"'
    lines.append(("names that there are not are found", [] if len(names.missing(wrong)) == 5 else ["not all"]))
    print(f"1..{len(lines)}")
    for number, (title, missing) in enumerate(lines, 1):
        print(f"{'not ok' if missing else 'ok'} {number} - {title}"
              + (f" # missing: {', '.join(missing)}" if missing else ""))
    sys.exit(1 if any(missing for _, missing in lines) else 0)


main()
