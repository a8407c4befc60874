# SPDX-License-Identifier: MIT
"""DLPack: taking capsules of others, and giving memory of ours."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

INT, UINT, FLOAT, BFLOAT = 0, 1, 2, 4
FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT8_E8M0FNU = 10, 12, 14
CPU, CUDA, CUDA_HOST, EXTENSION, CUDA_MANAGED = 1, 2, 3, 12, 13
HOST_DEVICES = (CPU, CUDA_HOST)
CUDA_DEVICES = (CUDA, CUDA_MANAGED)
MAX_VERSION = (1, 0)
_READ_ONLY = 1


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("ordinal", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer.restype = ctypes.c_void_p


class Held:
    """A capsule of a producer. It is not consumed: it gives the tensor back when it goes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule
        self.read_only = False
        if _is_valid(capsule, b"dltensor_versioned"):
            address = _get_pointer(capsule, b"dltensor_versioned")
            versioned = ManagedVersioned.from_address(address)
            if versioned.major != MAX_VERSION[0]:
                raise BufferError(f"DLPack {versioned.major}.{versioned.minor} is not known here")
            self.read_only = bool(versioned.flags & _READ_ONLY)
            self.tensor = versioned.tensor
        elif _is_valid(capsule, b"dltensor"):
            self.tensor = Managed.from_address(_get_pointer(capsule, b"dltensor")).tensor
        else:
            raise BufferError("__dlpack__ gave no capsule of DLPack")


def take(array: Any, stream: int | None) -> Held:
    """The array's tensor. `stream`: the CUDA stream that will use it; None for the host."""
    words: dict[str, Any] = {}
    if stream is not None:
        words["stream"] = stream if stream != 0 else 1  # 1: the legacy default stream
    try:
        return Held(array.__dlpack__(max_version=MAX_VERSION, **words))
    except TypeError:  # a producer from before DLPack 1.0
        return Held(array.__dlpack__(**words))


# -------------------------------------------------------------------------------- giving

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_new_capsule.restype = ctypes.py_object
_given: dict[int, tuple[Any, ...]] = {}
_numbers = itertools.count(1)


def _forget(managed: Any) -> None:
    _given.pop(managed.contents.context, None)


_delete = _Deleter(_forget)


_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# The capsule is about to go: it may be looked at, but must not be counted as an object.
_is_valid_raw = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_get_pointer_raw = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _forget_capsule(capsule: int) -> None:
    if _is_valid_raw(capsule, b"dltensor"):  # nobody has taken it
        managed = Managed.from_address(_get_pointer_raw(capsule, b"dltensor"))
        _given.pop(managed.context, None)


_destroy_capsule = _Destructor(_forget_capsule)


def give(
    keep: Any,
    pointer: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: tuple[int, int],
    device: tuple[int, int],
) -> Any:
    """A capsule for memory that `keep` holds, until who takes it is through with it."""
    number = next(_numbers)
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*strides)
    managed = Managed(
        Tensor(
            pointer,
            Device(*device),
            len(shape),
            DataType(dtype[0], dtype[1], 1),
            ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64)),
            ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64)),
            0,
        ),
        number,
        _delete,
    )
    _given[number] = (keep, sizes, steps, managed)
    return _new_capsule(
        ctypes.addressof(managed), b"dltensor", ctypes.cast(_destroy_capsule, ctypes.c_void_p)
    )
