#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds docs/cache-testing.md against the tree: each of its 69 numbers stands once, with a
test, and each test that it names is where it says.

Usage: test_cache_list.py ROOT
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
PAGE = "docs/cache-testing.md"
FOLDERS = ["tests", "bench"]
NUMBERS = 69


def find_files(name):
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob(name))]


def check_tests(cell, line):
    """Words in backquotes: a file, and then names that stand in it."""
    texts = []
    for word in re.findall(r"`([^`]+)`", cell):
        if re.fullmatch(r"\w+\.(c|py)", word):
            texts = [path.read_text(encoding="utf-8") for path in find_files(word)]
            if not texts:
                yield f"{PAGE}:{line}: there is no file {word}"
        elif not any(re.search(rf"\b{re.escape(word)}\b", text) for text in texts):
            yield f"{PAGE}:{line}: no {word} in the file before it"


def check_page(text):
    seen = []
    for line, row in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in row.split(" | ")]
        if re.match(r"\| \d+$", cells[0]):
            seen.append(int(cells[0][2:]))
            if len(cells) != 4 or "`" not in cells[2]:
                yield f"{PAGE}:{line}: number {seen[-1]} has no test"
                continue
            yield from check_tests(cells[2], line)
        elif row.startswith("| ") and len(cells) == 3 and "test_" in cells[2]:
            yield from check_tests(cells[2], line)
    if seen != list(range(1, NUMBERS + 1)):
        yield f"{PAGE}: its numbers are not 1 to {NUMBERS}, each once"


def main():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    planted = text.replace("`truncation_at_every_byte_is_damage`", "`no_such_test`", 1)
    problems = list(check_page(text))
    if len(list(check_page(planted))) <= len(problems):
        problems.append("a test that is not there was not noticed")
    if len(list(check_page(text.replace("| 41 |", "| 14 |", 1)))) <= len(problems):
        problems.append("a number that is missing was not noticed")
    print("\n".join(problems) if problems else f"{PAGE}: {NUMBERS} numbers, all tests are there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
