# SPDX-License-Identifier: MIT
"""How much of a long list the check looks at; `scripts/check --full` looks at all.

JIT_GEMM_TEST_EVERY says every how many entries are taken. JIT_GEMM_TEST_TURN is a number that `scripts/check`
raises with each commit: of what it takes, suites of kernels run a third then, the next one in the next commit;
those of one chip all and those of the other a sixth, which change places. By hand, without it, a suite runs all.
"""
import os
import pathlib
import sys
import zlib

SHARES = 3
CHIPS = ["sm_90a", "sm_100a"]
SHARES_OF_OTHER_CHIP = 6


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


def has_turn(chip):
    """Does this commit run all that there is of this chip?"""
    turn = os.environ.get("JIT_GEMM_TEST_TURN")
    return not turn or stride(0) == 1 or int(turn) % len(CHIPS) == CHIPS.index(chip)


def of_chip(rows, chip):
    """All rows of the chip whose turn it is, a sixth of the other one's."""
    if has_turn(chip):
        return list(rows)
    first = int(os.environ["JIT_GEMM_TEST_TURN"]) // len(CHIPS) % SHARES_OF_OTHER_CHIP
    return list(rows)[first::SHARES_OF_OTHER_CHIP]


def in_turn(rows, name=""):
    """`share_of_turn` of a list of this program; says how many these are."""
    taken = share_of_turn(rows, pathlib.Path(sys.argv[0]).stem + name)
    if len(taken) < len(rows):
        print(f"{len(taken)} of {len(rows)}, by JIT_GEMM_TEST_TURN={os.environ['JIT_GEMM_TEST_TURN']}", file=sys.stderr)
    return taken
