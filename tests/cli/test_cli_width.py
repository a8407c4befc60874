#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables of long problems fit the terminal: every command that compiles, and those on its cache. TAP.

Usage: test_cli_width.py JIT_GEMM SOURCE_ROOT EMULATOR

test_cli_terminal.py has the commands that need no compiler, test_cli_bench.py and test_cli_tune.py theirs.
"""
import pathlib
import re
import sys

from cli_harness import (ARCH, Folder, emulator_by_name, expect, expect_width, named_tests, need_compiler, on_terminal,
                         run_tests)

EMULATOR = pathlib.Path(sys.argv[3]).resolve()
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
PROBLEM = ["m=72", "n=80", "k=96", "batch=2", "a=e4m3", "c=f16", "d=bf16", "a_scale=vector", "b_scale=vector", "dynamic=m",
           "workspace=64m", "accumulate=fast"]
EPILOGUE = ["--epilogue", "d = gelu(acc + bias_of_the_first_layer) + residual_of_the_block; sums_of_the_rows = d;",
            "--operand", "bias_of_the_first_layer:row_vector:bf16", "--operand", "residual_of_the_block:matrix:bf16",
            "--operand", "sums_of_the_rows:column_vector:f32:sum"]
WHOLE = [*PROBLEM, *EPILOGUE, *ARCH]


def test_tables_of_a_long_problem_fit():
    need_compiler()
    emulator = ["--device", "emulator"]
    with Folder() as folder:
        folder.path.joinpath("list.txt").write_text("jit_gemm manifest 1\narch sm_90a\nproblem " + " ".join(PROBLEM) + "\n",
                                                    encoding="ascii")
        commands = [["run", *WHOLE, *emulator, "--verify"], ["inspect", *WHOLE], ["plan", *WHOLE, "--all"],
                    ["plan", *WHOLE, "--sweep", "m=1..8192"], ["build", *WHOLE, "-o", folder.path / "k.cubin"],
                    ["trace", *WHOLE, *emulator, "-o", folder.path / "t.svg"], ["prewarm", folder.path / "list.txt"],
                    ["verify-manifest", folder.path / "list.txt"], ["cache", "ls"], ["cache", "ls", "--all"],
                    ["cache", "stat"], ["cache", "verify"], ["cache", "explain", *WHOLE, *emulator],
                    ["cache", "explain", *PROBLEM, *ARCH], ["bench", *PROBLEM, *ARCH, *emulator, "--modelled"],
                    ["epilogue", "check", *EPILOGUE, *ARCH]]
        for words in commands:
            text = ESCAPE.sub("", on_terminal(*words, columns=100, JIT_GEMM_CACHE_DIR=folder.cache,
                                              **emulator_by_name(EMULATOR, "seed=1")))
            expect(text.strip() and "error" not in text.split("\n")[0], f"{words}: {text}")
            expect_width(text)


if __name__ == "__main__":
    sys.exit(run_tests(named_tests(globals())))
