#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types, kinds and `--operand`: the tool has no lists of its own. Prints TAP.

Usage: test_cli_operands.py JIT_GEMM SOURCE_ROOT

Nothing here needs a GPU or a compiler.
"""
import re
import sys

from cli_harness import ARCH, SMALL, expect, expect_exit, named_tests, run_tests, tool


def test_help_lists_the_types_and_kinds_of_the_library():
    shown = tool("plan", "--help").stdout

    for words, option in [("512x512x512 a=?", []), ("512x512x512 bf16 d=?", []),
                          ("512x512x512 bf16", ["--operand", "x:?:f32"]),
                          ("512x512x512 bf16", ["--operand", "x:matrix:?"])]:
        done = tool("plan", *words.split(), *ARCH, "--epilogue", "d = acc;", *option)
        found = re.search(r"(types|kinds): \w+( \w+)+", done.stderr)
        expect(found is not None, f"{words} {option}: a list", done)
        expect(found.group(0) in shown, f"{found.group(0)} is in the help", done)


def test_wrong_operands_are_named():
    rows = [
        ("bias", "NAME:KIND:TYPE"),
        ("bias:vector:f32", "no kind 'vector'"),
        ("bias:row_vector:f64", "no type 'f64'"),
        ("bias:row_vector:tf32", "no type 'tf32', in 'bias:row_vector:tf32'"),
        (":row_vector:f32", "give a name of 1 to 63 letters"),
        ("s:matrix:f32:out:", "has too many words"),
        ("s:scalar:f32:", "there is no role ''"),
        ("s:scalar:f32:sum:max", "has too many words"),
        ("s:matrix:f32:in", "there is no role 'in'"),
    ]
    for operand, message in rows:
        done = tool("plan", *SMALL, *ARCH, "--epilogue", "d = acc;", "--operand", operand)
        expect_exit(done, 2)
        expect(message in done.stderr and operand in done.stderr, f"{operand}: {message}", done)
    done = tool("plan", *SMALL, *ARCH, "--epilogue", "d = s = acc;", "--operand", "s:matrix:f32:sum")
    expect_exit(done, 2)
    expect("role: a sum has fewer values than D" in done.stderr, "a sum of a matrix", done)
    done = tool("plan", *SMALL, *ARCH, "--operand", "bias:row_vector:f32")
    expect("--operand needs an --epilogue" in done.stderr, "no epilogue", done)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
