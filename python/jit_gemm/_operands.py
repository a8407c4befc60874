# SPDX-License-Identifier: MIT
"""What a caller gives as operands of `gemm`: kinds from shapes, or said explicitly."""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any

from ._epilogue import BLOCK_COLUMNS, KINDS
from ._errors import refuse
from ._view import View


@dataclasses.dataclass(frozen=True)
class Given:
    """An operand with its kind and role. Made by the functions below."""

    value: Any
    kind: str
    role: str = "input"
    dtype: str = ""  # of what is to be allocated


def scalar(value: Any) -> Given:
    """One value for all of D, or one for each batch."""
    return Given(value, "scalar")


def row_vector(values: Any) -> Given:
    """A value for each column of D."""
    return Given(values, "row_vector")


def column_vector(values: Any) -> Given:
    """A value for each row of D."""
    return Given(values, "column_vector")


def pair_vector(values: Any) -> Given:
    """A value for each column of B, of a gated epilogue."""
    return Given(values, "pair_vector")


def matrix(values: Any) -> Given:
    """A value for each element of D, laid out as D."""
    return Given(values, "matrix")


def output(into: Any = None, dtype: str = "") -> Given:
    """A matrix that the epilogue writes beside D: into an array, or a new one of this type."""
    return Given(into, "matrix", "out", dtype)


def reduction(role: str, kind: str, into: Any = None, dtype: str = "f32") -> Given:
    """What the snippet assigns, folded: role sum, max or min.

    kind: column_vector (a value for each row of D), row_vector (for each column), scalar (for
    all of D), 1x128, 1x32 or 1x16 (for each block of a row).
    """
    if role not in ("sum", "max", "min"):
        refuse("role", f"'{role}' does not reduce", "sum, max or min")
    if kind not in KINDS:
        refuse("kind", f"there is no kind '{kind}'", "one of " + ", ".join(KINDS))
    return Given(into, kind, role, dtype)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The product's sizes, as far as shapes of operands depend on them."""

    m: int
    n: int
    d_columns: int
    batch: int
    is_batched: bool  # has D a dimension for it?

    def d_shape(self) -> tuple[int, ...]:
        shape = (self.m, self.d_columns)
        return (self.batch, *shape) if self.is_batched else shape

    def shape_of(self, kind: str) -> tuple[int, ...]:
        """The shape of a new array for an operand."""
        if kind in BLOCK_COLUMNS:
            shape: tuple[int, ...] = (self.m, -(-self.d_columns // BLOCK_COLUMNS[kind]))
        else:
            shape = {
                "scalar": (),
                "row_vector": (self.d_columns,),
                "pair_vector": (self.n,),
                "column_vector": (self.m,),
                "matrix": (self.m, self.d_columns),
            }[kind]
        return (self.batch, *shape) if self.is_batched else shape


def derive_kind(name: str, view: View, sizes: Sizes) -> str:
    """The kind of an operand by its shape; ArgumentError where it may be two."""
    shape = view.shape
    if len(shape) == 3 and shape[0] in (1, sizes.batch):
        shape = shape[1:]
    if all(size == 1 for size in shape):
        return "scalar"
    is_gated = sizes.n != sizes.d_columns
    vectors = [("row_vector", sizes.d_columns, 1), ("column_vector", sizes.m, 0)]
    if is_gated:
        vectors.append(("pair_vector", sizes.n, 1))
    if len(shape) == 1:
        kinds = [kind for kind, size, _ in vectors if shape == (size,)]
        if len(kinds) > 1:
            ways = " or ".join(f"jit_gemm.{kind}(...)" for kind in kinds)
            refuse(
                name,
                f"its shape {shape} may be a {' or a '.join(kinds)}",
                f"say which: {ways}; or give it as (1, {shape[0]}) or ({shape[0]}, 1)",
            )
    else:
        kinds = [
            kind for kind, size, axis in vectors if shape == ((1, size) if axis else (size, 1))
        ]
        if not kinds and shape == (sizes.m, sizes.d_columns):
            kinds = ["matrix"]
    if not kinds:
        refuse(
            name,
            f"its shape is {view.shape}, and D is {sizes.d_shape()}",
            f"a scalar, ({sizes.d_columns},) for each column, ({sizes.m}, 1) for each row, or D's",
        )
    return kinds[0]


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def to_number(field: str, value: Any) -> float:
    """What a number is as a float."""
    try:
        return float(value)
    except OverflowError:
        refuse(field, "the number is larger than any f32")
