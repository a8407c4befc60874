# SPDX-License-Identifier: MIT
"""Indices that name rows of A and D (docs/grouped.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _shape
from ._abi import GroupBy
from ._errors import refuse

if TYPE_CHECKING:
    from ._launch import Launch
    from ._view import View

INDEXED = 1  # how rows of A or D lie, as the C interface numbers it
_SHARED = (GroupBy.BY_OFFSETS, GroupBy.BY_ROWS)  # one index for the rows of all groups


def rows_of(field: str, view: View) -> int:
    """Rows of an A or D whose rows an index names; there may be any number of them."""
    if len(view.shape) != 2:
        refuse(field, f"its shape is {view.shape}: with an index of its rows it has two sizes")
    return view.shape[0]


def check_absent(launch: Launch, field: str) -> None:
    """No index is given: does the problem do without?"""
    if getattr(launch.facts.problem, field) == INDEXED:
        letter = field[0].upper()
        must = f"an int32 array that names a row of {letter} for each row of the product"
        refuse(field, f"the problem says {field}=indexed", f"give {must}")


def look_at_sizes(launch: Launch, sizes: Any, count: int) -> View:
    """An int32 array of so many numbers."""
    field = "group_sizes"
    view = launch.look(field, sizes, "s32")
    ends = (GroupBy.BY_OFFSETS, GroupBy.BY_K_OFFSETS)
    if view.shape == (count + 1,) and launch.facts.group_by in ends:
        must = "give where each one ends, without the 0 at which the first begins"
        refuse(field, f"its shape is {view.shape}, and there are {count} groups", must)
    _shape.vector(field, view, count, 1, 1, False)
    return view


def put_index(launch: Launch, field: str, array: Any) -> int:
    """How many rows a product has, by its index: of a batch, and of groups by counts, each has
    a part of the index, one after the other."""
    problem = launch.facts.problem
    if getattr(problem, field) != INDEXED:
        letter = field[0].upper()
        remedy = f"leave it out, or name {field}=indexed in the problem"
        refuse(field, f"the rows of this problem's {letter} lie in order", remedy)
    view = launch.look(field, array, "s32")
    if len(view.shape) != 1 or (view.shape[0] > 1 and view.strides[0] != 1):
        refuse(field, f"its shape is {view.shape}, and it must be a packed vector")
    parts = 1 if launch.facts.group_by in _SHARED else launch.batch
    rows = view.shape[0] // parts
    wanted = problem.m.size if problem.m.mode == 0 else rows if field == "a_rows" else launch.m
    if view.shape[0] != wanted * parts:
        each = "" if parts == 1 else f", {wanted} of each of {parts}"
        must = f"it must have {wanted * parts} entries, one for each row of the product{each}"
        refuse(field, f"{must}, and has {view.shape[0]}")
    launch.places.append((getattr(launch.args, field), "pointer", view))
    return rows
