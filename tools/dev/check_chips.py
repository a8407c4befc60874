#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing outside the rooms of the chips asks which chip it is.

Usage: check_chips.py ROOT

A chip's rooms are kernel_src/jg/<chip>, lib/plan/<chip>, its row in lib/plan/arch.c, and the
wrappers of its instructions in kernel_src/jg/ptx. Everywhere else below lib, kernel_src, tools,
verify and cache a name of a chip, as a whole string or in an identifier, a path into a room, or a test that means
the same (`cta_group > 0`, `mma_m > 0`) is an error, printed as `file:line: message`. Comments
are free, and so are chips named within a longer text, such as a hint, and the command's
defaults where there is no device (`#define DEFAULT_ARCH "sm_90a"`).
"""
import pathlib
import re
import sys

ROOTS = ["lib", "kernel_src", "tools", "verify", "cache"]
SUFFIXES = {".c", ".h", ".cuh"}
ROOMS = re.compile(r"^(lib/plan/sm\d+[af]?/|lib/plan/arch\.c$|kernel_src/jg/(sm\d+[af]?|ptx)/)")
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DEFAULT = re.compile(r'^#define \w+_ARCH "sm_\d+[af]?"$', re.M)
# (pattern in code without strings, what is wrong with it)
CODE = [
    (r"(?<!%)(?<!% )\b(?:\w*cta_?group|mma_[mn]|k_group|acc_?stages|tmem_columns)"
     r"\s*(?:>|>=|!=|==)\s*0\b",
     "means a chip: let the chip say what it has"),
    (r"(?<![a-z0-9])sm_?\d{2,3}[af]?(?![a-z0-9])", "names a chip"),
    (r"(?<![a-z])(?:hopper|blackwell)(?![a-z])", "names a chip"),
    (r"\bcc_m(?:aj|in)or\s*(?:[<>]=?|[!=]=)", "asks for a chip: see jg_arch_runs_on"),
]
# (pattern of a whole string)
STRINGS = [
    (r"sm_\d+[af]?", "names a chip"),
    (r"(?:jg|plan)/sm\d+[af]?/.*", "is a path into a chip's room"),
]


def split(text):
    """Code with comments and strings blanked, and [(line, string)]; line ends stay."""
    strings = []

    def blank(match):
        piece = match.group(0)
        if piece.startswith('"'):
            strings.append((text.count("\n", 0, match.start()) + 1, piece[1:-1]))
        return re.sub(r"[^\n]", " ", piece)

    return COMMENT_OR_STRING.sub(blank, text), strings


def check_text(text):
    """(line, message) of each violation."""
    code, strings = split(DEFAULT.sub("", text))
    for number, line in enumerate(code.splitlines(), 1):
        for pattern, message in CODE:
            match = re.search(pattern, line, re.I)
            if match:
                yield number, f"'{match.group(0)}' {message}"
    for number, string in strings:
        for pattern, message in STRINGS:
            if re.fullmatch(pattern, string):
                yield number, f'"{string}" {message}'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    count = 0
    problems = []
    for name in ROOTS:
        for path in sorted((root / name).rglob("*")):
            place = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or ROOMS.match(place):
                continue
            count += 1
            for number, message in sorted(check_text(path.read_text(encoding="utf-8"))):
                problems.append(f"{place}:{number}: {message}")
    for problem in problems:
        print(problem)
    print(f"{count} files outside the chips' rooms, {len(problems)} problems")
    sys.exit(1 if problems or count == 0 else 0)


if __name__ == "__main__":
    main()
