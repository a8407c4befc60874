#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the tree against the floor tables of ARCHITECTURE.md and of each yard.

Usage: check_floors.py ROOT

A yard is a folder of ROOT that has an ARCHITECTURE.md with a table of its own: it could be
taken out, so its rows, its includes and all that it uses stay inside it. The table is the one
below the line `<!-- floors -->`. Its columns are: floor, folder, what the folder may include
besides itself (folders or files of the tree), and what it may use besides (system headers by
name, or one of the words in WORDS). The check fails when a folder with code has no row, when a
row has no folder, at every forbidden include or call, and at a function of a yard that a header
declares and no source of its folder defines; it prints them as `file:line: message`. Also: in the folders NO_CIRCLES no two files
use each other's functions, be it through others; and nothing outside of the tests compiles a
file of theirs.
"""
import pathlib
import re
import sys

MARK = "<!-- floors -->"
SUFFIXES = {".c", ".cpp", ".h", ".cuh"}
PURE_HEADERS = {
    "assert.h", "ctype.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h",
    "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h",
    "strings.h",
}
WORDS = {
    "libc": "any header of C and POSIX",
    "pure": "the headers of C that reach neither files nor time nor environment",
    "asm": "inline PTX",
    "arch": "__CUDA_ARCH__ and its like",
    "criterion": "the test framework",
}
# What the word `pure` forbids though a pure header declares it.
IMPURE_CALLS = re.compile(
    r"\b(fopen|freopen|fdopen|tmpfile|remove|rename|getenv|secure_getenv|setenv|system|"
    r"time|clock|clock_gettime|gettimeofday|rand|srand|random|printf|fprintf|puts|perror|"
    r"abort|exit)\s*\(")
HEAP_CALLS = re.compile(r"\b(malloc|calloc|realloc|strdup|strndup|aligned_alloc|"
                        r"posix_memalign|asprintf|vasprintf)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# A declaration at the begin of a line, up to the name of the function.
DECLARED = re.compile(r"^(?!static\b|typedef\b|return\b|else\b)[A-Za-z_][\w\s*]*?\b(\w+)\([^;{}]*\)"
                      r"[^;{}()]*(?:\([^;{}]*\))?;", re.M)
DEFINED = re.compile(r"^(?!static\b)[A-Za-z_][\w\s*]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
TABLE = "ARCHITECTURE.md"
# Folders of the root whose files must all have a row.
ROOTS = ["cache", "include", "lib", "kernel_src", "emulator", "tools", "examples", "bench",
         "tests", "verify", "python"]
# Folders whose files may be read from the bottom up. One that is mended is added here.
NO_CIRCLES = ["cache", "lib/base", "lib/plan", "lib/plan/sm90a", "lib/plan/sm100a", "lib/cuda", "lib/source", "lib/compile", "lib/runtime",
              "lib/api", "verify", "bench"]
DEFINITION = re.compile(r"^(?!static\b)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
TEST_SOURCE = re.compile(r"'[^'\n]*\btests/[^'\n]*\.[ch]'")


def read_table(text):
    """Rows of the table below the mark: {folder: (allowed places, allowed words)}."""
    if MARK not in text:
        raise ValueError(f"no line {MARK}")
    rows = {}
    for line in text.split(MARK, 1)[1].lstrip().splitlines():
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        folders = re.findall(r"`([^`]+)`", cells[1]) if len(cells) == 4 else []
        if not folders:
            continue  # the heading and the rule below it
        for folder in folders:
            rows[folder.rstrip("/")] = (
                {place.rstrip("/") for place in re.findall(r"`([^`]+)`", cells[2])},
                set(re.findall(r"`([^`]+)`", cells[3])))
    if not rows:
        raise ValueError(f"no rows below {MARK}")
    return rows


def without_comments(text):
    """The text with comments blanked and string contents kept out; line ends stay."""
    def blank(match):
        piece = match.group(0)
        if piece.startswith("/"):
            return re.sub(r"[^\n]", " ", piece)
        return piece[0] + " " * (len(piece) - 2) + piece[-1]
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, blank, text, flags=re.S)


def find_circles(texts):
    """Groups of files that use each other's functions: {name: text} to lists of names."""
    texts = {name: without_comments(text) for name, text in texts.items()}
    owners = {function: name for name, text in texts.items()
              for function in DEFINITION.findall(text)}
    reached = {name: {owners[word] for word in re.findall(r"\w+", text) if word in owners} - {name}
               for name, text in texts.items()}
    for through in texts:
        for name in texts:
            if through in reached[name]:
                reached[name] |= reached[through]
    groups = {tuple(sorted(other for other in reached[name] if name in reached[other]))
              for name in texts}
    return [list(group) for group in sorted(groups) if group]


class Checker:
    """One table. `yards`: folders below it that have tables of their own."""

    def __init__(self, root, yards, is_yard):
        self.root = root
        self.yards = yards
        self.is_yard = is_yard
        self.rows = read_table((root / TABLE).read_text(encoding="utf-8"))
        self.problems = []

    def row_of(self, path):
        """The row of the nearest folder above a path, or None."""
        while path and path != ".":
            if path in self.rows:
                return path
            path = path.rpartition("/")[0]
        return None

    def resolve(self, place, name):
        """Path in the tree of a quoted include, or None."""
        bases = ["lib", "include", "cache", "tests/support", "tests", ".", *self.yards]
        if self.is_yard:
            bases = ["."]
        for base in (place.rpartition("/")[0], *bases):
            candidate = f"{base}/{name}"
            if (self.root / candidate).is_file():
                parts = []
                for part in candidate.split("/"):
                    if part == "..":
                        parts.pop()
                    elif part != ".":
                        parts.append(part)
                return "/".join(parts)
        if (self.root / f"include/{name}.in").is_file():  # written by the build
            return f"include/{name}"
        return None

    def allowed(self, row, target):
        places = self.rows[row][0]
        if self.row_of(target) == row:
            return True
        return any(target == place or target.startswith(place + "/") for place in places)

    def check_include(self, place, row, bracket, name):
        words = self.rows[row][1]
        if bracket == "<" and name.startswith("jg/"):
            target = "kernel_src/" + name
            if not (self.root / target).is_file():
                return f"<{name}> does not exist"
        elif bracket == "<" and name.startswith(("jit_gemm/", "jg_cache")):
            target = self.resolve(place, name)
        elif bracket == "<":
            if name in words:
                return None
            if name.startswith("criterion/"):
                return None if "criterion" in words else f"<{name}> is for tests"
            foreign = name.startswith(("cuda", "nv", "xxh", "sodium", "cublas"))
            if "libc" in words and not foreign:
                return None
            if "pure" in words and name in PURE_HEADERS:
                return None
            return f"{row} may not include <{name}>"
        else:
            if place.startswith("kernel_src/"):
                return f'"{name}": device includes are root-relative, in angle brackets'
            target = self.resolve(place, name)
        if target is None:
            return f'"{name}" is not in the tree; write includes as "floor/file.h"'
        if not self.allowed(row, target):
            return f"{row} may not include {target}"
        return None

    def check_file(self, path):
        place = path.relative_to(self.root).as_posix()
        row = self.row_of(place.rpartition("/")[0])
        if row is None:
            self.problems.append(f"{place}:1: its folder has no row in {TABLE}")
            return
        words = self.rows[row][1]
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                problem = self.check_include(place, row, match.group(1), match.group(2))
                if problem:
                    self.problems.append(f"{place}:{number}: {problem}")
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            for problem in self.check_line(place, row, words, line):
                self.problems.append(f"{place}:{number}: {problem}")

    def check_line(self, place, row, words, line):
        call = IMPURE_CALLS.search(line)
        if "pure" in words and call:
            yield f"{row} is pure and may not call {call.group(1)}()"
        if place.startswith("lib/") and place != "lib/base/alloc.c":
            call = HEAP_CALLS.search(line)
            if call:
                yield f"{call.group(1)}() is called in lib/base/alloc.c only"
        if place.startswith("kernel_src/"):
            if re.search(r"\b(asm|__asm__|__asm)\b", line) and "asm" not in words:
                yield f"{row} may not contain inline PTX"
            if re.search(r"\b__CUDA_ARCH\w*", line) and "arch" not in words:
                yield f"{row} may not test __CUDA_ARCH__"

    def check_circles(self):
        for folder in NO_CIRCLES:
            files = sorted((self.root / folder).glob("*.c"))
            texts = {path.name: path.read_text(encoding="utf-8") for path in files}
            for group in find_circles(texts):
                self.problems.append(f"{folder}/{group[0]}:1: a circle of files that use each "
                                     f"other: {' '.join(group)}")

    def check_shipped(self):
        """What is installed must build without the tests."""
        for name in ROOTS:
            for path in sorted((self.root / name).rglob("meson.build")):
                place = path.relative_to(self.root).as_posix()
                for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                    if "tests" not in place.split("/") and TEST_SOURCE.search(line):
                        self.problems.append(f"{place}:{number}: compiles a file of the tests")

    def run(self):
        for folder, (places, words) in self.rows.items():
            if not (self.root / folder).is_dir():
                self.problems.append(f"{TABLE}: there is no folder {folder}")
            for place in places:
                # A header may also be written by the build, from a template beside it.
                if not any((self.root / (place + end)).exists() for end in ("", ".in")):
                    self.problems.append(f"{TABLE}: {folder}: there is no {place}")
            for word in words:
                if word not in WORDS and not word.endswith((".h", ".hpp")):
                    self.problems.append(f"{TABLE}: {folder}: unknown word {word}")
        files = self.own_sources()
        for path in files:
            self.check_file(path)
        if self.is_yard:
            self.check_declarations(files)
        else:
            self.check_circles()
            self.check_shipped()
        if not files:
            self.problems.append(f"no source files below {self.root}")
        return len(files)

    def own_sources(self):
        tops = [self.root] if self.is_yard else [self.root / name for name in ROOTS]
        taken = [self.root / yard for yard in self.yards]
        return [path for top in tops for path in sorted(top.rglob("*"))
                if path.suffix in SUFFIXES and path.is_file()
                and not any(yard in path.parents for yard in taken)]

    def check_declarations(self, files):
        """What a header declares, a source of the same folder defines."""
        texts = {path: without_comments(path.read_text(encoding="utf-8")) for path in files}
        defined = {(path.parent, match.group(1)) for path, text in texts.items()
                   if path.suffix == ".c" for match in DEFINED.finditer(text)}
        for path, text in texts.items():
            for match in DECLARED.finditer(text) if path.suffix == ".h" else ():
                if (path.parent, match.group(1)) not in defined:
                    line = text.count("\n", 0, match.start()) + 1
                    place = path.relative_to(self.root).as_posix()
                    self.problems.append(f"{place}:{line}: no source of this folder defines "
                                         f"{match.group(1)}()")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    yards = sorted(path.parent.name for path in root.glob(f"*/{TABLE}"))
    count = rows = problems = 0
    for yard in ["", *yards]:
        try:
            checker = Checker(root / yard, [] if yard else yards, bool(yard))
        except (OSError, ValueError) as error:
            sys.exit(f"{pathlib.PurePath(yard, TABLE)}: {error}")
        count += checker.run()
        rows += len(checker.rows)
        problems += len(checker.problems)
        for problem in checker.problems:
            print(pathlib.PurePath(yard, problem))
    print(f"{count} files, {rows} rows, {problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
