# SPDX-License-Identifier: MIT
"""Arrays of others as pointer, shape, strides and element type.

numpy by its own interface, which also shows the types of ml_dtypes; everything else over
DLPack; what has no DLPack by the buffer protocol. Nothing here copies.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import sys
from typing import Any

from . import _dlpack
from ._errors import refuse

# Element types: name here, bits, names of numpy, ml_dtypes and torch, code of DLPack, format of
# the buffer protocol.
BITS = {"bf16": 16, "f16": 16, "f32": 32, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "s32": 32}
BITS |= {"ue8m0": 8, "ue4m3": 8, "s64": 64, "e2m1": 4}
PAIRS = "e2m1"  # two of them are a byte, and what arrays count
NO_ELEMENTS = "s64"  # addresses and strides
FROM_NAME = {
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e8m0fnu": "ue8m0",
    "float4_e2m1fn_x2": "e2m1",
    "int8": "s8",
    "int32": "s32",
    "int64": "s64",
}
TO_NAME = {ours: name for name, ours in FROM_NAME.items()} | {"tf32": "float32"}
FROM_DLPACK = {
    (_dlpack.BFLOAT, 16): "bf16",
    (_dlpack.FLOAT, 16): "f16",
    (_dlpack.FLOAT, 32): "f32",
    (_dlpack.FLOAT8_E4M3FN, 8): "e4m3",
    (_dlpack.FLOAT8_E5M2, 8): "e5m2",
    (_dlpack.FLOAT8_E8M0FNU, 8): "ue8m0",
    (_dlpack.INT, 8): "s8",
    (_dlpack.INT, 32): "s32",
    (_dlpack.INT, 64): "s64",
}
TO_DLPACK = {ours: code for code, ours in FROM_DLPACK.items()} | {"tf32": (_dlpack.FLOAT, 32)}
FROM_FORMAT = {"e": "f16", "f": "f32", "b": "s8", "i": "s32", "q": "s64"}
TO_FORMAT = {ours: letter for letter, ours in FROM_FORMAT.items()} | {"tf32": "f"}

HOST = -1


@dataclasses.dataclass(slots=True)
class View:
    """An array in memory of others. Strides count elements. `device` is an ordinal, or HOST."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str  # one of BITS, or what the array calls it
    bits: int
    device: int
    read_only: bool
    keep: Any  # keeps the memory
    source: Any  # what the caller gave

    def first_and_end(self) -> tuple[int, int]:
        """Addresses of the first byte and behind the last one."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        low = sum(min(s * (n - 1), 0) for n, s in zip(self.shape, self.strides))
        high = sum(max(s * (n - 1), 0) for n, s in zip(self.shape, self.strides))
        return self.pointer + low * self.bits // 8, self.pointer + (high + 1) * self.bits // 8

    @property
    def mT(self) -> View:
        """Its last two dimensions exchanged."""
        if len(self.shape) < 2:
            refuse("mT", f"its shape is {self.shape}: a matrix has two sizes, or three")
        *batch, rows, columns = range(len(self.shape))
        order = (*batch, columns, rows)
        shape, strides = (tuple(v[i] for i in order) for v in (self.shape, self.strides))
        return dataclasses.replace(self, shape=shape, strides=strides)

    def __getitem__(self, part: slice) -> View:
        """A part of its first dimension."""
        if not isinstance(part, slice) or part.step not in (None, 1) or not self.shape:
            refuse("index", f"it is {part!r}, of shape {self.shape}", "give a slice such as [:8]")
        begin, end, _ = part.indices(self.shape[0])
        skipped = begin * self.strides[0] * self.bits
        if skipped % 8 != 0:
            refuse("index", f"row {begin} begins inside of a byte")
        shape = (max(end - begin, 0), *self.shape[1:])
        return dataclasses.replace(self, pointer=self.pointer + skipped // 8, shape=shape)

    def with_dtype(self, field: str, dtype: str) -> View:
        """The same bits, called another type."""
        if dtype not in BITS:
            refuse(field, f"there is no type {dtype}", "one of " + ", ".join(BITS))
        if dtype == PAIRS and self.bits == 8:
            return self.in_pairs(field)
        if BITS[dtype] != self.bits:
            refuse(
                field,
                f"elements of {self.dtype} have {self.bits} bits, those of {dtype} {BITS[dtype]}",
                "give an array whose elements have as many, such as uint16 for bf16",
            )
        return dataclasses.replace(self, dtype=dtype)

    def in_pairs(self, field: str) -> View:
        """Elements of e2m1, two in each byte of this array: side by side along its packed
        dimension."""
        if self.dtype == "float4_e2m1fn":
            refuse(
                field,
                "its elements of 4 bits lie one in a byte",
                'pack two: jit_gemm.from_float(values, "e2m1")',
            )
        packed_ones = [i for i, stride in enumerate(self.strides) if stride == 1]
        axes = [i for i in packed_ones if self.shape[i] > 1] or packed_ones
        if not axes:
            refuse(
                field,
                f"strides {self.strides}: no dimension of it is packed, and two elements of "
                "e2m1 are a byte",
                "copy it to a contiguous array",
            )
        shape, strides = list(self.shape), [2 * stride for stride in self.strides]
        shape[axes[-1]] *= 2
        strides[axes[-1]] = 1
        return dataclasses.replace(
            self, shape=tuple(shape), strides=tuple(strides), dtype=PAIRS, bits=4
        )


@dataclasses.dataclass(frozen=True)
class Typed:
    """An array and the type that its bits are to be read as. Made by `view` and `tf32`."""

    array: Any
    dtype: str


def view(array: Any, dtype: str) -> Typed:
    """Reads the bits of an array as another type of the same size.

    For types that the array's library lacks: `view(x, "bf16")` of a uint16 array of numpy,
    `view(x, "e4m3")` of a uint8 one. `view(x, "e2m1")` of uint8 has twice as many elements along
    the dimension that is packed, the first in the lower half of a byte.
    """
    if dtype not in BITS:
        refuse("dtype", f"there is no type {dtype}", "one of " + ", ".join(BITS))
    return Typed(array, dtype)


def tf32(array: Any) -> Typed:
    """An f32 array that is multiplied as tf32: 10 fraction bits, rounded to nearest even."""
    return Typed(array, "tf32")


class _Buffer(ctypes.Structure):
    """Py_buffer of CPython's stable interface."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_GET_RECORDS_READ_ONLY = 0x0018 | 0x0004  # PyBUF_STRIDES | PyBUF_FORMAT
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_Buffer)]
_release_buffer.restype = None


class _HeldBuffer:
    """A buffer of an object, released with this."""

    def __init__(self, array: Any) -> None:
        self.raw = _Buffer()
        self.is_held = False
        _get_buffer(array, ctypes.byref(self.raw), _GET_RECORDS_READ_ONLY)
        self.is_held = True

    def __del__(self) -> None:
        if self.is_held:
            _release_buffer(ctypes.byref(self.raw))


def _count_elements(field: str, strides: tuple[int, ...], size: int) -> tuple[int, ...]:
    if any(stride % size for stride in strides):
        refuse(
            field,
            f"strides of {strides} bytes are no multiples of an element's {size}",
            "copy it to an array of its own",
        )
    return tuple(stride // size for stride in strides)


def packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_packed(view: View) -> bool:
    """Is its last dimension the fastest, without gaps? Of no elements it is."""
    if 0 in view.shape:
        return True
    step = 1
    for size, stride in zip(reversed(view.shape), reversed(view.strides)):
        if size > 1 and stride != step:
            return False
        step *= max(size, 1)
    return True


def _of_numpy(field: str, array: Any) -> View:
    if not array.dtype.isnative:
        refuse(field, f"elements of {array.dtype} are not in this machine's byte order")
    pointer, read_only = array.__array_interface__["data"]
    size = array.dtype.itemsize
    strides = _count_elements(field, tuple(array.strides), size)
    name = str(array.dtype.name)
    return View(
        pointer,
        tuple(array.shape),
        strides,
        FROM_NAME.get(name, name),
        size * 8,
        HOST,
        read_only,
        array,
        array,
    )


def _of_buffer(field: str, array: Any) -> View:
    try:
        held = _HeldBuffer(array)
    except (TypeError, BufferError) as error:
        raise TypeError(
            f"{field}: {type(array).__name__} is no array: it has neither DLPack nor the buffer "
            f"protocol ({error})"
        ) from None
    raw = held.raw
    letter = (raw.format or b"B").decode().lstrip("@=")
    shape = tuple(raw.shape[i] for i in range(raw.ndim))
    strides = _count_elements(field, tuple(raw.strides[i] for i in range(raw.ndim)), raw.itemsize)
    if letter == "l" and raw.itemsize == 4:
        letter = "i"
    return View(
        raw.buf or 0,
        shape,
        strides,
        FROM_FORMAT.get(letter, f"format {letter}"),
        raw.itemsize * 8,
        HOST,
        bool(raw.readonly),
        held,
        array,
    )


@functools.lru_cache(maxsize=None)
def _torch_dtype(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return FROM_NAME.get(name, name)


def _of_torch(field: str, torch: Any, tensor: Any, stream: int, is_current: bool) -> View | None:
    """By its own members, which is quicker; over DLPack to have another stream wait for it."""
    if tensor.requires_grad and torch.is_grad_enabled():
        refuse(
            field,
            "the tensor requires a gradient, which this call does not make",
            "call jit_gemm.torch.gemm, or give tensor.detach()",
        )
    place = tensor.device
    if place.type not in ("cuda", "cpu") or tensor.layout != torch.strided or tensor.is_neg():
        return None
    held = None
    if place.type == "cuda" and not is_current:
        # Not every version exports 8-bit floats, and the wait is the same.
        held = _dlpack.take(tensor.detach().as_strided((0,), (1,)).view(torch.uint8), stream)
    found = View(
        tensor.data_ptr(),
        tuple(tensor.shape),
        tensor.stride(),
        _torch_dtype(tensor.dtype),
        8 * tensor.element_size(),
        HOST if place.type == "cpu" else place.index,
        False,
        (tensor, held),
        tensor,
    )
    return found.in_pairs(field) if found.dtype == PAIRS else found


def _of_dlpack(field: str, array: Any, stream: int) -> View:
    kind, ordinal = array.__dlpack_device__()
    if kind in _dlpack.HOST_DEVICES:
        device = HOST
    elif kind in _dlpack.CUDA_DEVICES:
        device = int(ordinal)
    else:
        refuse(field, f"it lies on a device of DLPack's type {int(kind)}", "give an array of CUDA")
    held = _dlpack.take(array, stream if device != HOST else None)
    jax = sys.modules.get("jax")  # whose arrays never change, and which does not always say so
    is_fixed = held.read_only or (jax is not None and isinstance(array, jax.Array))
    tensor = held.tensor
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (
        tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else packed(shape)
    )
    code, bits = tensor.dtype.code, tensor.dtype.bits
    if tensor.dtype.lanes != 1:
        refuse(field, f"elements are vectors of {tensor.dtype.lanes}", "give an array of scalars")
    return View(
        (tensor.data or 0) + tensor.byte_offset,
        shape,
        strides,
        FROM_DLPACK.get((code, bits)) or f"type {code} of DLPack with {bits} bits",
        bits,
        device,
        is_fixed,
        held,
        array,
    )


def look_at(field: str, array: Any, stream: int = 0, is_current: bool = False) -> View:
    """An array's view. TypeError for what is no array, ArgumentError for what cannot be used.

    `stream` is the one that will use it: the producer makes it wait for the array's own.
    `is_current`: it is torch's current one, for which its tensors need no wait.
    """
    if isinstance(array, View):
        return array
    if isinstance(array, Typed):
        return look_at(field, array.array, stream, is_current).with_dtype(field, array.dtype)
    own = getattr(array, "__jit_gemm_view__", None)
    if own is not None:
        result: View = own()
        return result
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        found = _of_torch(field, torch, array, stream, is_current)
        if found is not None:
            return found
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ndarray):
        return _of_numpy(field, array)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _of_dlpack(field, array, stream)
    return _of_buffer(field, array)
