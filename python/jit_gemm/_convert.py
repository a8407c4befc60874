# SPDX-License-Identifier: MIT
"""Elements on the host: to and from f32, as the kernels round them (docs/types.md).

The library's own conversions, jit_gemm/convert.h, over arrays.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from typing import Any

from ._abi import Dtype
from ._errors import check, refuse
from ._library import library
from ._view import (
    BITS,
    FROM_NAME,
    HOST,
    NO_ELEMENTS,
    PAIRS,
    TO_FORMAT,
    TO_NAME,
    View,
    is_packed,
    look_at,
    packed,
)

_TYPES = [name for name in BITS if name != NO_ELEMENTS]
_F32 = ("f32", "tf32")
# What holds the bits of a type that an array's library lacks.
_BITS_NAME = {8: "uint8", 16: "uint16"}
_BITS_FORMAT = {8: "B", 16: "H"}


def _item_bits(dtype: str) -> int:
    """Bits of what an array counts."""
    return 8 if dtype == PAIRS else BITS[dtype]


def _known(dtype: Any) -> str:
    if dtype not in _TYPES:
        refuse("dtype", f"there is no type {dtype}", "one of " + ", ".join(_TYPES))
    return str(dtype)


def _on_host(field: str, array: Any) -> View:
    found = look_at(field, array)
    if found.device != HOST:
        refuse(field, "it lies on a device", "copy it to the host")
    if not is_packed(found):
        refuse(field, f"its strides {found.strides} have gaps", "copy it to a packed array")
    if found.dtype == PAIRS:  # as bytes
        shape = (*found.shape[:-1], found.shape[-1] // 2)
        return dataclasses.replace(found, shape=shape, strides=packed(shape), bits=8)
    return found


def _narrow_shape(field: str, shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
    """The shape of an array of `dtype` with elements of this shape."""
    if dtype != PAIRS:
        return shape
    if not shape:
        return (1,)
    if len(shape) > 1 and shape[-1] % 2:
        refuse(field, f"rows of {shape[-1]} elements of e2m1 end inside a byte", "make them even")
    return (*shape[:-1], (shape[-1] + 1) // 2)


def _allocate(like: View, shape: tuple[int, ...], dtype: str) -> Any:
    """An array of the library that `like` is of: of its own type, else of unsigned integers."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    bits = _item_bits(dtype)
    name = TO_NAME.get(dtype, _BITS_NAME.get(bits, ""))
    if torch is not None and isinstance(like.source, torch.Tensor):
        own = getattr(torch, name, None) or getattr(torch, _BITS_NAME[bits])
        return torch.empty(shape, dtype=own)
    if numpy is not None and hasattr(like.source, "__array__"):
        return numpy.empty(shape, getattr(numpy, name, None) or _BITS_NAME[bits])
    memory: Any = memoryview(bytearray(math.prod(shape) * bits // 8))
    letter = TO_FORMAT.get(dtype) or _BITS_FORMAT[bits]
    return memory.cast(letter) if 0 in shape else memory.cast(letter, shape)


def _result(out: Any, like: View, shape: tuple[int, ...], dtype: str) -> tuple[Any, View]:
    """Where to write: `out`, if it is fit, else a new array."""
    array = _allocate(like, shape, dtype) if out is None else out
    target = _on_host("out", array)
    if out is None:
        return array, target
    bits = _item_bits(dtype)
    if target.shape != shape or target.bits != bits:
        refuse(
            "out",
            f"it has shape {target.shape} and {target.bits} bits an element",
            f"give one of shape {shape} and {bits} bits",
        )
    if target.dtype in FROM_NAME.values() and target.dtype not in (dtype, _same_memory(dtype)):
        refuse("out", f"its elements are {target.dtype}", f"give one of {dtype}, or of its bits")
    if target.read_only:
        refuse("out", "it is read-only", "give one that can be written")
    (begin, end), (first, last) = target.first_and_end(), like.first_and_end()
    is_in_place = begin == first and like.dtype in _F32 and target.dtype in _F32
    if begin < last and first < end and not is_in_place:
        refuse("out", "it overlaps what is read", "give memory of its own")
    return array, target


def _same_memory(dtype: str) -> str:
    return "f32" if dtype == "tf32" else dtype


def from_float(values: Any, dtype: str, out: Any = None) -> Any:
    """Elements of `dtype` of an f32 array, rounded to nearest even as kernels round them.

    values: f32, packed, in host memory: of numpy or torch, or anything with the buffer protocol.
    dtype: bf16, f16, f32, tf32, e4m3, e5m2, e2m1, s8, s32, ue8m0 or ue4m3. What is too great
        becomes an infinity in bf16 and f16, and the greatest value in the others; ue8m0 rounds
        magnitudes up.
    out: where to write, of this type or of unsigned integers as wide; None: a new array, of the
        type if the array's library has it, else of uint16 or uint8. `view(bits, dtype)` is what
        `gemm` takes then. Elements of e2m1 lie two in a byte, the first in its lower half.
    """
    dtype = _known(dtype)
    source = _on_host("values", values)
    if source.dtype not in _F32:
        refuse("values", f"its elements are {source.dtype}, not f32", "convert it to float32")
    array, target = _result(out, source, _narrow_shape("values", source.shape, dtype), dtype)
    count = math.prod(source.shape)
    lib = library()
    check(
        lib.jit_gemm_convert_from_float(Dtype[dtype.upper()], source.pointer, count, target.pointer)
    )
    return array


def to_float(array: Any, dtype: str | None = None, out: Any = None) -> Any:
    """The f32 values of an array's elements: exact, but of s32 beyond 2**24.

    array: packed, in host memory: of numpy or torch, or anything with the buffer protocol.
    dtype: what its bits are to be read as, as in `from_float`; None: the array's own type. A byte
        of e2m1 is two elements, so that the last dimension is twice as long.
    out: where to write, f32; None: a new array.
    """
    source = _on_host("array", array)
    dtype = _known(source.dtype if dtype is None else dtype)
    if source.bits != _item_bits(dtype):
        refuse(
            "array",
            f"its elements have {source.bits} bits, those of {dtype} {_item_bits(dtype)}",
            "give an array whose elements have as many, such as uint16 for bf16",
        )
    shape = source.shape or (1,)
    wide = (*shape[:-1], 2 * shape[-1]) if dtype == PAIRS else source.shape
    result, target = _result(out, source, wide, "f32")
    lib = library()
    check(
        lib.jit_gemm_convert_to_float(
            Dtype[dtype.upper()], source.pointer, math.prod(wide), target.pointer
        )
    )
    return result
