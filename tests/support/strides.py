# SPDX-License-Identifier: MIT
"""How much of a long list the check looks at; `scripts/check --full` looks at all."""
import os


def stride(usual):
    """Every how many entries are taken: JIT_GEMM_TEST_EVERY, or `usual`."""
    return int(os.environ.get("JIT_GEMM_TEST_EVERY", usual))


def share(rows, place):
    """Of rows that several have, the half that belongs to the one in this place; all where all are taken."""
    step = stride(2)
    return rows[place % step::step]
