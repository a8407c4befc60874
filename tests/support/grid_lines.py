# SPDX-License-Identifier: MIT
"""Lines of a file of problems, in groups: a comment begins one."""
from strides import stride


def grid_lines(path, is_for=lambda line: True):
    """Of each group the first line and every fifth one behind it, of those that `is_for` takes.

    Neighbours differ in little. JIT_GEMM_TEST_EVERY=1 takes all lines, as `scripts/check --full` does.
    """
    every = stride(5)
    place = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            place = 0
        elif line.strip() and is_for(line):
            if place % every == 0:
                yield line
            place += 1
