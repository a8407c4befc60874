# SPDX-License-Identifier: MIT
"""Numbers of groups that Python knows: to plan for, and among the arguments of a launch."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any

from . import _abi
from ._abi import GroupBy
from ._errors import check, refuse
from ._launch import Launch
from ._library import library


def _read_ints(field: str, sizes: Any) -> list[int]:
    try:
        values = [operator.index(size) for size in sizes]
    except TypeError as error:
        refuse(field, str(error), "give a sequence of ints")
    if any(not -(1 << 31) <= value < 1 << 31 for value in values):
        refuse(field, "a number has no place in 32 bits")
    return values


def typical_sizes(sizes: Sequence[int]) -> str:
    """The word of a problem's text that says how many rows its groups typically have.

    sizes: rows of each group, in any order, 0 of one without any. They are planned for, and
        launches may have any others: `f"... groups=4 {typical_sizes([7, 0, 1200, 331])}"`.
    """
    values = _read_ints("sizes", sizes)
    if not values:
        refuse("sizes", "it has no entry", "give the rows of each group")
    problem = _abi.Problem(struct_size=ctypes.sizeof(_abi.Problem))
    numbers = (ctypes.c_int32 * len(values))(*values)
    check(library().jit_gemm_problem_set_typical_sizes(ctypes.byref(problem), numbers, len(values)))
    runs = [run for run in problem.typical_sizes if run.groups]
    return "typical_sizes=" + ",".join(
        f"{run.groups}x{run.least}" + (f"..{run.most}" if run.most > run.least else "")
        for run in runs
    )


def put_host_sizes(launch: Launch, sizes: Any) -> None:
    """What they say is checked by the library."""
    field = "host_group_sizes"
    if launch.facts.group_by == GroupBy.NONE:
        refuse(field, "the problem has no groups", "name groups and group_by in it")
    values = _read_ints(field, sizes)
    launch.args.host_group_sizes = (ctypes.c_int32 * max(len(values), 1))(*values)
    launch.args.host_group_count = len(values)
