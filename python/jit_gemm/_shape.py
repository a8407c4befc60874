# SPDX-License-Identifier: MIT
"""From strides to leading dimensions, batch strides and layouts."""

from __future__ import annotations

import dataclasses

from ._abi import STRIDE_BROADCAST
from ._errors import refuse
from ._view import View

LARGEST_ALIGNMENT = 16


@dataclasses.dataclass(slots=True)
class Plane:
    """A matrix as rows and columns; `batch_stride` as in jit_gemm_arg. Counts elements."""

    field: str
    view: View
    rows: int
    columns: int
    row_step: int
    column_step: int
    batch_stride: int

    def transposed(self) -> Plane:
        return Plane(
            self.field,
            self.view,
            self.columns,
            self.rows,
            self.column_step,
            self.row_step,
            self.batch_stride,
        )

    def is_row_major(self) -> bool:
        """Do its rows lie in memory one after the other, elements of a row side by side?"""
        if self.rows == 0 or self.columns == 0:
            return True  # strides of no element are anything: numpy's are 0
        is_dense = self.columns <= 1 or self.column_step == 1
        return is_dense and (self.rows <= 1 or self.row_step >= self.columns)

    def ld(self) -> int:
        """Its leading dimension as a row-major matrix."""
        if self.rows > 1 and self.columns > 0:
            return self.row_step
        # Nothing steps from a single row to another: any stride will do that is aligned.
        per_vector = LARGEST_ALIGNMENT * 8 // self.view.bits
        return -(-max(self.columns, 1) // per_vector) * per_vector

    def alignment(self, pointer: int) -> int:
        """Bytes, up to 16, that address, rows and batches of the row-major matrix share."""
        bits = pointer | self.ld() * self.view.bits // 8 | LARGEST_ALIGNMENT
        if self.batch_stride > 0:
            bits |= self.batch_stride * self.view.bits // 8
        return bits & -bits


def _batch_stride(field: str, view: View, batch: int, is_written: bool) -> int:
    """Of an array whose first dimension is the batch, if it has one more than it needs."""
    size, stride = view.shape[0], view.strides[0]
    if size not in (1, batch):
        refuse(field, f"its shape {view.shape} has {size} batches, not {batch}")
    if batch == 1 or 0 in view.shape:
        return 0
    if size == 1 or stride == 0:
        if is_written:
            refuse(field, f"all {batch} batches would write the same memory", "give each its own")
        return STRIDE_BROADCAST
    if stride < 0:
        refuse(field, f"its batches lie backwards (stride {stride})", "copy it to an array")
    return stride


def plane(
    field: str, view: View, rows: int, columns: int, batch: int, is_written: bool = False
) -> Plane:
    """The matrix of an array of (rows, columns) or (batch, rows, columns)."""
    if len(view.shape) not in (2, 3) or view.shape[-2:] != (rows, columns):
        batched = f"({batch}, {rows}, {columns})" if batch > 1 else f"({rows}, {columns})"
        refuse(field, f"its shape is {view.shape}, and it must be {batched}")
    stride = 0
    if len(view.shape) == 3:
        stride = _batch_stride(field, view, batch, is_written)
    elif batch > 1:
        if is_written:
            refuse(field, f"there are {batch} batches, and its shape is {view.shape}")
        stride = STRIDE_BROADCAST
    return Plane(field, view, rows, columns, view.strides[-2], view.strides[-1], stride)


def vector(field: str, view: View, size: int, axis: int, batch: int, is_written: bool) -> int:
    """Checks an array of `size` values, and gives its batch stride.

    Shapes: (size,), or (1, size) or (size, 1) along `axis`, and a batch before each of them.
    """
    shape = view.shape
    flat = (1, size) if axis == 1 else (size, 1)
    if shape == (size,) or shape == flat:
        depth = len(shape)
    elif shape[1:] in ((size,), flat):
        depth = len(shape) - 1
    else:
        batched = f", or with {batch} batches before that" if batch > 1 else ""
        refuse(field, f"its shape is {shape}, and it must be ({size},) or {flat}{batched}")
    # Of the last dimensions, the one with all values.
    step = view.strides[-1] if depth == 1 or axis == 1 else view.strides[-2]
    if size > 1 and step != 1:
        refuse(field, f"its values lie {step} elements apart", "copy it to a packed vector")
    if len(shape) > depth:
        return _batch_stride(field, view, batch, is_written)
    if batch > 1 and is_written:
        refuse(field, f"there are {batch} batches, and its shape is {shape}")
    return STRIDE_BROADCAST if batch > 1 else 0


def overlap(first: View, second: View) -> bool:
    """May two arrays share an element? Columns of one matrix that lie apart do not."""
    begin, end = first.first_and_end()
    other_begin, other_end = second.first_and_end()
    if begin >= other_end or other_begin >= end:
        return False
    # Two pieces of the same rows: in each row one ends before the other begins.
    steps = {view.strides[:-1] for view in (first, second)}
    widths = [view.shape[-1] * view.bits // 8 for view in (first, second) if view.shape]
    if len(steps) == 1 and first.bits == second.bits and len(widths) == 2 and len(first.shape) > 1:
        row = min((abs(step) for step in first.strides[:-1] if step), default=0) * first.bits // 8
        if row and first.strides[-1] == second.strides[-1] == 1:
            apart = (second.pointer - first.pointer) % row
            if widths[0] <= apart and apart + widths[1] <= row:
                return False
    return True


def is_same_memory(first: View, second: View) -> bool:
    """The same elements at the same places?"""
    return (first.pointer, first.strides, first.dtype, first.shape) == (
        second.pointer,
        second.strides,
        second.dtype,
        second.shape,
    )
