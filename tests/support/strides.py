# SPDX-License-Identifier: MIT
"""How much of a long list the check looks at; `scripts/check --full` looks at all.

JIT_GEMM_TEST_EVERY says every how many entries are taken. JIT_GEMM_TEST_TURN is a number that `scripts/check`
raises with each commit: of what it takes, suites of kernels run a third then, the next one in the next commit.
By hand, without it, a suite runs all three.
"""
import os
import pathlib
import sys
import zlib

SHARES = 3


def stride(usual):
    """Every how many entries are taken: JIT_GEMM_TEST_EVERY, or `usual`."""
    return int(os.environ.get("JIT_GEMM_TEST_EVERY", usual))


def share(rows, place):
    """Of rows that several have, the half that belongs to the one in this place; all where all are taken."""
    step = stride(2)
    return rows[place % step::step]


def share_of_turn(rows, name):
    """Those of `rows` whose turn it is in the list `name`, as each list begins with another third; of
    fewer than three rows one."""
    turn = os.environ.get("JIT_GEMM_TEST_TURN")
    if not turn or stride(0) == 1 or len(rows) < 2:
        return list(rows)
    step = min(SHARES, len(rows))
    return list(rows)[(int(turn) + zlib.crc32(name.encode())) % step::step]


def in_turn(rows, name=""):
    """`share_of_turn` of a list of this program; says how many these are."""
    taken = share_of_turn(rows, pathlib.Path(sys.argv[0]).stem + name)
    if len(taken) < len(rows):
        print(f"{len(taken)} of {len(rows)}, by JIT_GEMM_TEST_TURN={os.environ['JIT_GEMM_TEST_TURN']}", file=sys.stderr)
    return taken
