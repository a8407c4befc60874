# SPDX-License-Identifier: MIT
"""Scales of A, B and D among the arguments of a launch."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi, _shape
from ._abi import ScaleKind
from ._epilogue import DTYPE_NAMES
from ._errors import check, refuse
from ._launch import Launch
from ._library import library
from ._view import View


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
    dtype = DTYPE_NAMES[scale.dtype] if scale.dtype else _block_dtype(scale)
    view = launch.look(name, array, dtype, letter == "d")
    arg: _abi.Arg = getattr(launch.args, name)
    batch = 1 if launch.facts.is_stacked(name) else launch.batch
    if scale.kind == ScaleKind.BLOCK:
        _check_blocks(launch, name, scale, view, batch)
    else:
        count = launch.m if letter == "a" else launch.n
        size = count if scale.kind == ScaleKind.VECTOR else 1
        axis = 1 if letter == "b" or size == 1 else 0
        if view.shape:
            arg.batch_stride = _shape.vector(name, view, size, axis, batch, False)
        elif batch > 1:
            arg.batch_stride = _abi.STRIDE_BROADCAST
    launch.places.append((arg, "pointer", view))


def _block_dtype(scale: _abi.Scale) -> str:
    return {32: "ue8m0", 16: "ue4m3"}.get(scale.block_k, "f32")


def _check_blocks(launch: Launch, name: str, scale: _abi.Scale, view: View, batch: int) -> None:
    """All that the kernel reads or writes is there, packed from the array's address on."""
    rows = launch.n if name[0] == "b" else launch.m
    columns = launch.d_columns if name[0] == "d" else launch.k
    if name[0] == "d" and launch.facts.is_column_major:
        rows, columns = columns, rows  # as it lies in memory
    size = ctypes.c_size_t()
    reference = ctypes.byref(scale)
    check(library().jit_gemm_scales_bytes(reference, rows, columns, ctypes.byref(size)))
    first, end = view.first_and_end()
    count = view.bits // 8
    for extent in view.shape:
        count *= extent
    if view.pointer != first or end - first != count or count < size.value * batch:
        refuse(
            name,
            f"its shape is {view.shape}: the scales of these blocks are packed and take "
            f"{size.value * batch} bytes",
            "docs/scales.md has the layouts",
        )
