# SPDX-License-Identifier: MIT
"""New arrays for results, of the library that the inputs belong to."""

from __future__ import annotations

import importlib
import math
import sys
from typing import TYPE_CHECKING, Any

from ._device_array import DeviceArray
from ._errors import refuse
from ._view import BITS, HOST, PAIRS, TO_FORMAT, TO_NAME, Typed, View

if TYPE_CHECKING:
    from ._context import Context

_INSTEAD = (
    'give dtype="f32" (or another type that it has) for the result, or out=view(array, "{0}") '
    "with an array of as many bits"
)


def _check_shape(shape: tuple[int, ...]) -> None:
    """Of a memoryview that is to be made."""
    if 0 in shape:
        refuse(
            "out",
            f"Python's memoryview has no shape {shape}, which holds no element",
            "give an array of numpy or torch, or A as one",
        )


def _pairs(field: str, like: View, shape: tuple[int, ...], context: Context) -> Any:
    """Bytes, each of two elements of e2m1."""
    torch, cupy, numpy = (sys.modules.get(name) for name in ("torch", "cupy", "numpy"))
    if shape[-1] % 2:
        refuse(field, f"rows of {shape[-1]} elements of e2m1 end inside a byte", "make N even")
    bytes_of = (*shape[:-1], shape[-1] // 2)
    source = like.source
    if torch is not None and isinstance(source, torch.Tensor):
        own = getattr(torch, TO_NAME[PAIRS], torch.uint8)
        return Typed(torch.empty(bytes_of, dtype=own, device=source.device), PAIRS)
    if cupy is not None and isinstance(source, cupy.ndarray):
        return Typed(cupy.empty(bytes_of, cupy.uint8), PAIRS)
    if like.device != HOST:
        return DeviceArray(context, shape, PAIRS)
    if numpy is not None and hasattr(source, "__array__"):
        return Typed(numpy.empty(bytes_of, numpy.uint8), PAIRS)
    _check_shape(bytes_of)
    return Typed(memoryview(bytearray(math.prod(bytes_of))).cast("B", bytes_of), PAIRS)


def _of_numpy(field: str, numpy: Any, shape: tuple[int, ...], dtype: str) -> Any:
    name = TO_NAME[dtype]
    if hasattr(numpy, name):
        return numpy.empty(shape, getattr(numpy, name))
    try:
        extended = importlib.import_module("ml_dtypes")
    except ImportError:
        refuse(
            field,
            f"numpy has no {dtype}, and the package ml_dtypes, which has it, is not there",
            "install ml_dtypes, or " + _INSTEAD.format(dtype),
        )
    return numpy.empty(shape, getattr(extended, name))


def _of_buffer(field: str, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype not in TO_FORMAT:
        refuse(field, f"the buffer protocol has no {dtype}", _INSTEAD.format(dtype))
    _check_shape(shape)
    size = math.prod(shape) * BITS[dtype] // 8
    cast: Any = memoryview(bytearray(size)).cast  # of formats that are known here only
    try:
        return cast(TO_FORMAT[dtype], shape)
    except ValueError:
        refuse(field, f"memoryview of this Python has no {dtype}", _INSTEAD.format(dtype))


def allocate(field: str, like: View, shape: tuple[int, ...], dtype: str, context: Context) -> Any:
    """An array for results beside `like`: packed, its elements undefined."""
    torch, cupy, numpy = (sys.modules.get(name) for name in ("torch", "cupy", "numpy"))
    source = like.source
    if dtype == PAIRS:
        return _pairs(field, like, shape, context)
    if torch is not None and isinstance(source, torch.Tensor):
        return torch.empty(shape, dtype=getattr(torch, TO_NAME[dtype]), device=source.device)
    if cupy is not None and isinstance(source, cupy.ndarray):
        if not hasattr(cupy, TO_NAME[dtype]):
            refuse(field, f"CuPy has no {dtype}", _INSTEAD.format(dtype))
        return cupy.empty(shape, getattr(cupy, TO_NAME[dtype]))
    if like.device != HOST:
        return DeviceArray(context, shape, dtype)
    if numpy is not None and hasattr(source, "__array__"):
        return _of_numpy(field, numpy, shape, dtype)
    return _of_buffer(field, shape, dtype)
