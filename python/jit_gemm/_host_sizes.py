# SPDX-License-Identifier: MIT
"""Numbers of groups that Python knows, among the arguments of a launch."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

from ._abi import GroupBy
from ._errors import refuse
from ._launch import Launch


def put_host_sizes(launch: Launch, sizes: Any) -> None:
    """What they say is checked by the library."""
    field = "host_group_sizes"
    if launch.facts.group_by == GroupBy.NONE:
        refuse(field, "the problem has no groups", "name groups and group_by in it")
    try:
        values = [operator.index(size) for size in sizes]
    except TypeError as error:
        refuse(field, str(error), "give a sequence of ints")
    if any(not -(1 << 31) <= value < 1 << 31 for value in values):
        refuse(field, "a number has no place in 32 bits")
    launch.args.host_group_sizes = (ctypes.c_int32 * max(len(values), 1))(*values)
    launch.args.host_group_count = len(values)
