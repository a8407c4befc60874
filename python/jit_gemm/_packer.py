# SPDX-License-Identifier: MIT
"""Scales of blocks from one layout to another, on the host or on a device (docs/scales.md).

jit_gemm/scales.h over arrays: blocks and layouts are named as in a problem's text.
"""

from __future__ import annotations

import ctypes
import dataclasses
import math
import sys
from typing import Any

from . import _abi
from ._context import Context, default_context, parse_problem
from ._device_array import DeviceArray
from ._errors import check, refuse
from ._library import library
from ._scales import dtype_of, is_row_or_column, same_bits
from ._side_kernel import SideKernel
from ._stream import current, handle_of
from ._view import BITS, HOST, View, is_packed, look_at


@dataclasses.dataclass(frozen=True)
class ScalesReport:
    """What the scales of a batch are. Each counts once, in the first that fits."""

    scales: int
    nans: int
    infinities: int
    negatives: int  # with the sign bit
    zeros: int
    padding: int  # elements of the layout that belong to no block
    dirty_padding: int  # those of them that are not all zero bits
    first_row: int  # of the first that is NaN, infinite, negative or zero; -1: there is none
    first_block: int


def _read_scale(field: str, block: Any, layout: Any) -> _abi.Scale:
    """The scale of blocks that a problem's text calls so."""
    for name, word in (("block", block), (field, layout)):
        if not isinstance(word, str) or not word.isidentifier() and not word.isalnum():
            refuse(name, f"{word!r} is no word of a problem's text", "such as mx, and 128x4")
    text = f"1x1x1 e4m3 a_scale={block} a_scale_layout={layout}"
    scale: _abi.Scale = parse_problem(text).a.scale
    if dtype_of(scale) == "f32" and not is_row_or_column(scale):
        refuse(field, f"{layout} is one of scales of one byte, {block} is f32", "row or column")
    return scale


def _count_bytes(scale: _abi.Scale, mn: int, k: int) -> int:
    for name, extent in (("mn", mn), ("k", k)):
        if not 1 <= extent <= 1 << 31:  # else ctypes may cut it
            refuse(name, f"it is {extent}", "give elements, 1 to 2**31")
    size = ctypes.c_size_t()
    check(library().jit_gemm_scales_bytes(ctypes.byref(scale), mn, k, ctypes.byref(size)))
    return int(size.value)


@dataclasses.dataclass(frozen=True)
class _Side:
    """An array of one side of a conversion."""

    view: View
    batch: int
    stride: int  # elements of the scales' type from one batch to the next
    size: int  # bytes of a batch


def _side(field: str, view: View, scale: _abi.Scale, mn: int, k: int) -> _Side:
    dtype = dtype_of(scale)
    called = {"ue4m3": "e4m3"}.get(dtype, dtype)
    if view.dtype not in (dtype, called, *same_bits(scale)):
        refuse(field, f"its elements are {view.dtype}, and those of these scales {dtype}")
    size = _count_bytes(scale, mn, k)
    item, element = view.bits // 8, BITS[dtype] // 8
    total = math.prod(view.shape) * item
    if total == 0 or total % size:
        refuse(
            field,
            f"its shape is {view.shape}, {total} bytes: the scales of a batch take {size}",
            "docs/scales.md has the layouts",
        )
    batch = total // size
    if is_packed(view):
        return _Side(view, batch, size // element, size)
    inner = dataclasses.replace(view, shape=view.shape[1:], strides=view.strides[1:])
    if view.shape[0] != batch or not is_packed(inner) or view.strides[0] * item < size:
        refuse(field, f"its strides {view.strides} have gaps", "copy it to a packed array")
    return _Side(view, batch, view.strides[0] * item // element, size)


def _shape_of(scale: _abi.Scale, mn: int, k: int, size: int, batch: int) -> tuple[int, ...]:
    rows, blocks = -(-mn // scale.block_mn), -(-k // scale.block_k)
    shape: tuple[int, ...] = (size,)
    if is_row_or_column(scale):
        by_rows = scale.layout == 0
        shape = (rows, blocks) if by_rows else (blocks, -(-rows // 4) * 4)
    return (batch, *shape) if batch > 1 else shape


def _allocate(like: View, shape: tuple[int, ...], dtype: str, context: Context | None) -> Any:
    """An array as `like`, whose words of four scales become bytes."""
    torch, cupy, numpy = (sys.modules.get(name) for name in ("torch", "cupy", "numpy"))
    source = like.source
    are_words = like.bits != BITS[dtype]
    if torch is not None and isinstance(source, torch.Tensor):
        own = torch.uint8 if are_words else source.dtype
        return torch.empty(shape, dtype=own, device=source.device)
    if cupy is not None and isinstance(source, cupy.ndarray):
        return cupy.empty(shape, cupy.uint8 if are_words else source.dtype)
    if like.device != HOST:
        assert context is not None
        return DeviceArray(context, shape, dtype)
    if numpy is not None and isinstance(source, numpy.ndarray):
        return numpy.empty(shape, numpy.uint8 if are_words else source.dtype)
    memory: Any = memoryview(bytearray(math.prod(shape) * BITS[dtype] // 8))
    return memory.cast("f" if dtype == "f32" else "B", shape)


def _check_pair(source: _Side, target: _Side) -> None:
    if target.batch != source.batch:
        refuse("out", f"it has {target.batch} batches of scales, and scales has {source.batch}")
    if target.view.device != source.view.device:
        refuse("out", "scales and out do not lie in the same memory", "give both there, or neither")
    if target.view.read_only:
        refuse("out", "it is read-only", "give one that can be written")
    (begin, end), (first, last) = source.view.first_and_end(), target.view.first_and_end()
    if begin < last and first < end:
        refuse("out", "it overlaps with scales", "give memory of its own")


class Packer(SideKernel):
    """A kernel that brings scales of blocks from one layout to another, loaded. Never changes;
    any thread may run it.

    block, layout: what the scales are, in the words of a problem's text: 1x128, 128x128,
        1x128ue8m0, 128x128ue8m0, mx or nv; row (or linear), column, 128x4, 8x4 or mn_k4.
    to_layout: how they shall lie. From a layout to itself cleans the padding.
    """

    _name, _remedy = "packer", "convert_scales converts it there"

    def __init__(self, context: Context, block: str, layout: str, to_layout: str = "128x4") -> None:
        self._from = _read_scale("layout", block, layout)
        self._to = _read_scale("to_layout", block, to_layout)
        super().__init__(context, ctypes.byref(self._from), self._to.layout)

    def run(self, scales: Any, out: Any, mn: int, k: int, *, stream: Any = None) -> None:
        """Launches the conversion of arrays on the context's device, and nothing else: legal
        under stream capture.

        scales, out: packed, one batch or several, each as many bytes as its layout takes.
            Elements of their type, or uint8; in the layouts 128x4, 8x4 and mn_k4 int32 of four.
        mn, k: rows of A or D, or columns of B, and elements along K, or columns of D.
        stream: a CUstream as an int, or a stream of torch or CuPy; None: the current one of
            whom the arrays belong to.
        """
        views, settled = self._look({"scales": scales, "out": out}, stream)
        source = _side("scales", views["scales"], self._from, mn, k)
        target = _side("out", views["out"], self._to, mn, k)
        _check_pair(source, target)
        args = _abi.PackerArgs(
            struct_size=ctypes.sizeof(_abi.PackerArgs),
            mn=mn,
            k=k,
            batch=source.batch,
            to=target.view.pointer,
            from_stride=source.stride if source.batch > 1 else 0,
            to_stride=target.stride if target.batch > 1 else 0,
        )
        setattr(args, "from", source.view.pointer)
        self._launch(args, settled)


def _packer_of(context: Context, block: str, layout: str, to_layout: str) -> Packer:
    key = (Packer, block, layout, to_layout)
    packer = context.kernels.get(key)
    if packer is None:
        packer = context.kernels.setdefault(key, Packer(context, block, layout, to_layout))
    made: Packer = packer
    return made


def convert_scales(
    scales: Any,
    block: str,
    mn: int,
    k: int,
    layout: str,
    to_layout: str = "128x4",
    *,
    out: Any = None,
    context: Context | None = None,
    stream: Any = None,
) -> Any:
    """Scales of blocks in another layout: on the host where they lie there, for weights that are
    loaded; else on their device, by a `Packer` that the context keeps.

    scales: packed, one batch or several; their type, uint8 or, in the layouts 128x4, 8x4 and
        mn_k4, int32 of four.
    block: 1x128, 128x128, 1x128ue8m0, 128x128ue8m0, mx or nv.
    mn, k: rows of A or D, or columns of B, and elements along K, or columns of D.
    layout, to_layout: row (or linear), column, 128x4, 8x4 or mn_k4; f32 has the first two only.
    out: where to write; None: a new array as `scales`, (rows, blocks) in row, (blocks, rows
        rounded up to 4) in column, else flat; of several batches with them before that. What
        belongs to no block becomes zero.
    context, stream: of arrays on a device; None: the default context, and the current stream.

    Returns `out`. For `gemm` bytes of numpy are `view(result, "ue8m0")`, or "ue4m3".
    """
    before = _read_scale("layout", block, layout)
    after = _read_scale("to_layout", block, to_layout)
    if stream is None:
        settled, is_current = current([scales, out])
    else:
        settled, is_current = handle_of(stream), False
    view = look_at("scales", scales, settled, is_current)
    source = _side("scales", view, before, mn, k)
    is_host = view.device == HOST
    if is_host and (context is not None or stream is not None):
        field = "stream" if context is None else "context"
        refuse(field, "scales in host memory are converted there", "leave it out")
    if context is None and not is_host:
        own = isinstance(view.keep, DeviceArray)
        context = view.keep.context if own else default_context(view.device)
    if out is None:
        size = _count_bytes(after, mn, k)
        shape = _shape_of(after, mn, k, size, source.batch)
        out = _allocate(view, shape, dtype_of(after), context)
    if context is not None:
        _packer_of(context, block, layout, to_layout).run(view, out, mn, k, stream=settled)
        return out
    target = _side("out", look_at("out", out), after, mn, k)
    _check_pair(source, target)
    bits = BITS[dtype_of(after)]
    lib = library()
    for i in range(source.batch):
        first = view.pointer + i * source.stride * bits // 8
        to = target.view.pointer + i * target.stride * bits // 8
        check(lib.jit_gemm_scales_convert(ctypes.byref(before), mn, k, first, after.layout, to))
    return out


def count_scales(scales: Any, block: str, mn: int, k: int, layout: str) -> ScalesReport:
    """Counts what products would suffer from in the scales of one batch, in host memory: a NaN
    makes a row or column of D NaN. Arguments as of `convert_scales`."""
    scale = _read_scale("layout", block, layout)
    view = look_at("scales", scales)
    if view.device != HOST:
        refuse("scales", "it lies on a device", "copy it to the host")
    side = _side("scales", view, scale, mn, k)
    if side.batch != 1:
        refuse("scales", f"it has {side.batch} batches", "give one at a time")
    raw = _abi.ScalesReport(struct_size=ctypes.sizeof(_abi.ScalesReport))
    reference = ctypes.byref(raw)
    check(library().jit_gemm_scales_count(ctypes.byref(scale), mn, k, view.pointer, reference))
    return ScalesReport(*(getattr(raw, field.name) for field in dataclasses.fields(ScalesReport)))
