#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `jit-gemm` shows of each wrong snippet of tests/snippets/wrong.txt that its own scan refuses. Prints TAP.

Usage: test_cli_wrong_snippets.py JIT_GEMM SOURCE_ROOT
"""
import re
import sys

from cli_harness import ARCH, ROOT, Folder, expect, named_tests, run_tests, tool

OPERANDS = {"bias": "row_vector:bf16", "c": "column_vector:f32", "r": "matrix:bf16", "s": "scalar:f32",
            "aux": "matrix:f32:out", "aux2": "matrix:bf16:out"}
LETTERS = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}
ESCAPE = re.compile(r"\\(?:x(..)|\{(\d+)\*([^}]*)\}|(.))")


def read_text(field):
    def replace(match):
        byte, count, part, letter = match.groups()
        value = bytes([int(byte, 16)]) if byte else part.encode() * int(count) if count else LETTERS[letter]
        return value.decode("latin-1")
    return ESCAPE.sub(replace, field).encode("latin-1")


def rows():
    """(number, line, column, operands, text, words) of rows whose text a file of a reader can have."""
    found = []
    lines = (ROOT / "tests" / "snippets" / "wrong.txt").read_text().split("\n")
    for number, line in enumerate(lines, 1):
        fields = line.split(" :: ")
        if fields[0] != "checker":
            continue
        _, place, names, text, words, _ = fields
        text = read_text(text)
        if names == ".":
            operands = [f"{name}:{kind}" for name, kind in OPERANDS.items()
                        if re.search(rb"\b" + name.encode() + rb"\b", text)]
        else:
            operands = [] if names == "-" else names.split()
        if b"\0" not in text and len(text) < 70000:
            found.append((number, *map(int, place.split(":")), operands, text, words))
    expect(len(found) > 300, f"{len(found)} rows")
    return found


def test_each_has_its_place_a_caret_and_a_hint():
    with Folder() as folder:
        path = folder.path / "snippet.txt"
        for number, line, column, operands, text, words in rows():
            path.write_bytes(text)
            options = [word for operand in operands for word in ("--operand", operand)]
            done = tool("epilogue", "check", "--no-cache", "--epilogue-file", path, *options)
            expect(done.returncode == 1, f"row {number}", done)
            shown = done.stderr.split("\n")
            expect(shown[0].startswith(f"{line}:{column}: error: ") and words in shown[0], f"row {number}", done)
            expect("hint: " in done.stderr, f"row {number}", done)
            source = (text.split(b"\n") + [b""])[line - 1]
            byte = source[column - 1:column]
            if source.strip() == b"":
                continue
            expect(shown[2].strip() == "^", f"row {number}: a caret", done)
            at = shown[2].index("^")
            if 0x20 < ord(byte or b"\0") < 0x7f:
                expect(shown[1][at:at + 1] == byte.decode(), f"row {number}: the caret's place", done)


def test_in_a_manifest_each_has_the_name_and_the_line():
    with Folder() as folder:
        path = folder.path / "manifest.txt"
        for number, line, column, operands, text, words in rows():
            declared = b"".join(b"operand " + operand.replace(":", " ").encode() + b"\n" for operand in operands)
            head = b"jit_gemm manifest 1\n# of row %d\nepilogue wrong\n" % number + declared
            path.write_bytes(head + b"source %d 1 wrong.epi\n" % len(text) + text +
                             b"\nend\nproblem 256x256x256 bf16 epilogue=wrong\n")
            done = tool("verify-manifest", path, *ARCH)
            before = head.count(b"\n") + 1
            where = f"(epilogue 'wrong', manifest line {before + line})"
            expect(done.returncode != 0 and words in done.stderr, f"row {number}", done)
            expect(f"{line}:{column}: error: " in done.stderr and where in done.stderr, f"row {number}: {where}", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
