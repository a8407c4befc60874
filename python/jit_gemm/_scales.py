# SPDX-License-Identifier: MIT
"""Scales of A, B and D: which a call's arrays are, and how they become arguments of a launch."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi, _shape
from ._abi import GroupBy, ScaleKind
from ._epilogue import DTYPE_NAMES
from ._errors import check, refuse
from ._index import INDEXED
from ._launch import Launch
from ._library import library
from ._view import View

BLOCK = 128
_ROW, _COLUMN, _PIECES = 0, 1, 2  # layouts, as numbers of the C interface; 128x4

# Of scales of a byte: types of their own, and bytes and words of four as others keep them.
_BYTES = ("ue8m0", "ue4m3", "e4m3")
_SAME_BITS = {8: ("uint8", "format B"), 32: ("s32", "uint32", "format I")}


def put_scale(launch: Launch, name: str, array: Any) -> None:
    """`name`: a_scale, b_scale or d_scale; the problem says what they are."""
    letter = name[0]
    scale: _abi.Scale = getattr(launch.facts.problem, letter).scale
    if array is None:
        if scale.kind != ScaleKind.NONE:
            refuse(name, "the problem has these scales", "give an array of them")
        return
    if scale.kind == ScaleKind.NONE:
        refuse(name, f"the problem has no scales of {letter.upper()}", f"name {name} in it")
    dtype = dtype_of(scale)
    view = launch.look(name, array, dtype, letter == "d", same_bits(scale))
    arg: _abi.Arg = getattr(launch.args, name)
    is_one = launch.facts.is_stacked(name) or _is_indexed(launch, letter)
    batch = 1 if is_one else launch.batch
    if scale.kind == ScaleKind.BLOCK:
        extent = _extent(launch, letter, scale)
        has_strides = letter != "d" and dtype == "f32"
        if not (has_strides and _put_strides(arg, view, scale, *extent, name, batch)):
            _check_packed(name, scale, view, *extent, batch)
    else:
        count = launch.n if letter == "b" else launch.a_row_count
        size = count if scale.kind == ScaleKind.VECTOR else 1
        axis = 1 if letter == "b" or size == 1 else 0
        if view.shape:
            arg.batch_stride = _shape.vector(name, view, size, axis, batch, False)
        elif batch > 1:
            arg.batch_stride = _abi.STRIDE_BROADCAST
    launch.places.append((arg, "pointer", view))


def dtype_of(scale: _abi.Scale) -> str:
    if scale.dtype:
        return DTYPE_NAMES[scale.dtype]
    return {32: "ue8m0", 16: "ue4m3"}.get(scale.block_k, "f32")


def is_row_or_column(scale: _abi.Scale) -> bool:
    return scale.layout in (_ROW, _COLUMN)


def same_bits(scale: _abi.Scale) -> tuple[str, ...]:
    """Types of arrays that are taken as these scales: bytes, and words of four."""
    if dtype_of(scale) not in _BYTES:
        return ()
    return _SAME_BITS[8] + (() if is_row_or_column(scale) else _SAME_BITS[32])


def _is_indexed(launch: Launch, letter: str) -> bool:
    """Does an index name the rows that have these scales?"""
    problem = launch.facts.problem
    return int({"a": problem.a_rows, "d": problem.d_rows}.get(letter, 0)) == INDEXED


def _extent(launch: Launch, letter: str, scale: _abi.Scale) -> tuple[int, int]:
    """Rows that have scales, and elements along the dimension that blocks run along; of groups
    with what bands of pieces, and steps along K, take more (docs/grouped.md)."""
    is_indexed = _is_indexed(launch, letter)
    of_d = int(launch.args.d_row_count) if is_indexed else launch.m
    rows = launch.n if letter == "b" else of_d if letter == "d" else launch.a_row_count
    columns = launch.d_columns if letter == "d" else launch.k
    groups, group_by = launch.facts.problem.batch.size, launch.facts.group_by
    has_bands = letter != "b" and scale.layout == _PIECES and not is_indexed
    if group_by == GroupBy.BY_OFFSETS and has_bands:
        rows = (rows // BLOCK + groups) * BLOCK
    if group_by == GroupBy.BY_K_OFFSETS and letter != "d" and columns > 0:
        dtype = dtype_of(scale)
        step = scale.block_k * (4 if dtype in _BYTES else 1)
        columns = (columns // step + groups) * step
    if letter == "d" and launch.facts.is_column_major:
        rows, columns = columns, rows  # as it lies in memory
    return rows, columns


def _put_strides(
    arg: _abi.Arg, view: View, scale: _abi.Scale, rows: int, columns: int, name: str, batch: int
) -> bool:
    """Of an array with a scale at (row, block), or of B at (block, row): its strides, if they are
    those of the layout. False: its shape is another one."""
    count, blocks = -(-rows // scale.block_mn), -(-columns // scale.block_k)
    by_columns = scale.layout == _COLUMN
    is_one = lies_otherwise = False
    for shape, along_k in (((count, blocks), 1), ((blocks, count), 0)):
        is_own = view.shape[-2:] == shape and (along_k == 1 or name == "b_scale")
        if len(view.shape) not in (2, 3) or not is_own:
            continue
        is_one = True
        plane = _shape.plane(name, view, *shape, batch)
        if by_columns == (along_k == 1):
            plane = plane.transposed()
        if plane.is_row_major():
            arg.ld = plane.row_step if plane.rows > 1 else 0
            arg.batch_stride = plane.batch_stride
            return True
        lies_otherwise |= plane.transposed().is_row_major()
    if not is_one:
        return False
    words = "row" if by_columns else "column"
    refuse(
        name,
        f"strides {view.strides} of shape {view.shape} are not those of its layout, "
        + ("column" if by_columns else "row"),
        (f"name {name}_layout={words} in the problem, or " if lies_otherwise else "")
        + "copy the array",
    )


def _check_packed(
    name: str, scale: _abi.Scale, view: View, rows: int, columns: int, batch: int
) -> None:
    """All that the kernel reads or writes is there, packed from the array's address on."""
    size = ctypes.c_size_t()
    reference = ctypes.byref(scale)
    check(library().jit_gemm_scales_bytes(reference, rows, columns, ctypes.byref(size)))
    first, end = view.first_and_end()
    count = view.bits // 8
    for extent in view.shape:
        count *= extent
    if count < size.value * batch:
        refuse(
            name,
            f"its shape is {view.shape}: the scales of these blocks are packed and take "
            f"{size.value * batch} bytes",
            "docs/scales.md has the layouts",
        )
    is_flat = len(view.shape) < 2
    if is_row_or_column(scale) and not is_flat and count != size.value * batch:
        own = (-(-rows // scale.block_mn), -(-columns // scale.block_k))
        refuse(
            name,
            f"its shape is {view.shape}: the scales of these blocks are {own} and packed, "
            f"{size.value * batch} bytes",
            "give an array of that shape, a flat one of at least as many bytes, or say other "
            f'blocks, problem="{name}=1x128"',
        )
    if view.pointer != first or end - first != count:
        refuse(name, f"its strides {view.strides} have gaps", "copy it to a packed array")


# ------------------------------------------------------------------------ what arrays mean


def words_of(
    name: str, view: View, rows: int, columns: int, batch: int, element: str, more: str
) -> str:
    """What a problem's text says of scales of so many rows, and elements along K, of a matrix of
    type `element`; of f32 with one value or one for each row: tensor or vector."""
    shape = view.shape
    if len(shape) > 1 and shape[0] == batch and batch > 1:
        shape = shape[1:]
    if view.dtype in _SAME_BITS[8]:
        refuse(
            name,
            f"its elements are {view.dtype}, of which nothing says what they are",
            f'give jit_gemm.view({name}, "ue8m0") or "ue4m3"',
        )
    if view.dtype in _BYTES:
        return _byte_words(name, view, shape, element, more)
    if name == "d_scale":
        wanted = f"({rows}, {-(-columns // BLOCK)})"
    elif all(n == 1 for n in shape):
        return f"{name}=tensor"
    elif rows in shape and all(n == 1 for n in shape if n != rows) and shape.count(rows) == 1:
        return f"{name}=vector"
    else:
        wanted = f"one value, {rows}"
    blocks = -(-columns // BLOCK)
    for block, count in (("1x128", rows), ("128x128", -(-rows // BLOCK))):
        own = (blocks, count) if name == "b_scale" else (count, blocks)
        if shape != own:
            continue
        along = view.strides[-2] if name == "b_scale" else view.strides[-1]
        layout = "" if f"{name}_layout=" in more else f" {name}_layout=column"
        return f"{name}={block}" + (layout if along != 1 and blocks > 1 else "")
    refuse(
        name,
        f"its shape is {view.shape}, and there must be {wanted}, or one for each 128 of K: "
        + " or ".join(
            str((blocks, n) if name == "b_scale" else (n, blocks))
            for n in dict.fromkeys((rows, -(-rows // BLOCK)))
        ),
        f'other blocks and layouts are said by problem="{name}=1x128"',
    )


def _byte_words(name: str, view: View, shape: tuple[int, ...], element: str, more: str) -> str:
    """MX where they are powers of two, else NVFP4."""
    kind = "mx" if view.dtype == "ue8m0" else "nv"
    if kind == "nv" and element != "e2m1":
        refuse(
            name,
            f"its elements are {view.dtype}, which are the scales of e2m1, not of {element}",
            "give scales of f32 or of ue8m0",
        )
    if f"{name}_layout=" in more:
        return f"{name}={kind}"
    if len(shape) != 1:
        refuse(
            name,
            f"its shape {view.shape} does not say how these scales lie",
            f'say it, problem="{name}_layout=row" or 128x4, 8x4, mn_k4; flat arrays are 128x4',
        )
    return f"{name}={kind} {name}_layout=128x4"
