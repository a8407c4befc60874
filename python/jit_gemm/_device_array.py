# SPDX-License-Identifier: MIT
"""Arrays in device memory of the library's own: for the emulator, and where nothing else
allocates."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

from . import _dlpack
from ._errors import check, refuse
from ._handle import OfOneProcess
from ._library import library
from ._view import BITS, TO_DLPACK, View, is_packed, look_at, packed

if TYPE_CHECKING:
    from ._context import Context


class DeviceArray(OfOneProcess):
    """An array in memory of a context's device, packed, its last dimension fastest.

    Give it to `gemm` as any array. `to_host` copies it back; on a GPU other libraries take it
    over DLPack, such as `torch.from_dlpack(array)`.
    """

    def __init__(self, context: Context, shape: tuple[int, ...], dtype: str) -> None:
        if dtype not in BITS:
            refuse("dtype", f"there is no type {dtype}", "one of " + ", ".join(BITS))
        self.context = context
        self.shape = tuple(shape)
        self.dtype = dtype
        self.strides = packed(self.shape)
        self.nbytes = math.prod(self.shape) * BITS[dtype] // 8
        self._handle = context.handle()
        self.is_emulated = context.device.is_emulated
        self._ordinal = context.device.ordinal
        self.pointer = 0
        address = ctypes.c_uint64()
        lib = library()
        size = max(self.nbytes, 1)
        with context.current():
            check(lib.jit_gemm_device_alloc(self._handle.pointer, size, ctypes.byref(address)))
        self.pointer = address.value
        self._free = lib.jit_gemm_device_free
        self._current = context.current()

    @classmethod
    def zeros(cls, context: Context, shape: tuple[int, ...], dtype: str) -> DeviceArray:
        """All bits zero."""
        array = cls(context, shape, dtype)
        lib = library()
        with context.current():
            check(lib.jit_gemm_device_fill(array._handle.pointer, array.pointer, 0, array.nbytes))
        return array

    @classmethod
    def from_host(cls, context: Context, array: Any) -> DeviceArray:
        """A copy of an array in host memory, whose elements must lie packed."""
        view = look_at("array", array)
        if view.device >= 0:
            refuse("array", "it lies on a device already", "give it to gemm as it is")
        first, end = view.first_and_end()
        made = cls(context, view.shape, view.dtype)
        if end - first != made.nbytes or not is_packed(view):
            refuse("array", f"its strides {view.strides} have gaps", "copy it to a packed array")
        made.upload(first, 0, end - first)
        return made

    def to_host(self, out: Any) -> Any:
        """Waits for the default stream and copies to a packed host array of as many bytes."""
        view = look_at("out", out)
        first, end = view.first_and_end()
        if view.device >= 0 or view.read_only or not is_packed(view) or end - first != self.nbytes:
            refuse(
                "out",
                f"it is no packed, writable host array of {self.nbytes} bytes",
                f"such as numpy.empty({self.shape}, ...)",
            )
        self.download(first, 0, self.nbytes)
        return out

    @property
    def mT(self) -> View:
        """Its last two dimensions exchanged, for `gemm` and `run`: weights stored N x K."""
        return self.__jit_gemm_view__().mT

    def __getitem__(self, part: slice) -> View:
        """A part of its first dimension, for `gemm` and `run`: `array[:m]` of one with room for
        more rows than a launch has."""
        return self.__jit_gemm_view__()[part]

    def upload(self, source: int, begin: int, size: int) -> None:
        """Copies host memory to bytes from `begin` on."""
        lib = library()
        with self.context.current():
            check(
                lib.jit_gemm_device_upload(self._handle.pointer, self.pointer + begin, source, size)
            )

    def download(self, target: int, begin: int, size: int) -> None:
        """Waits for the default stream and copies bytes from `begin` on to host memory."""
        lib = library()
        with self.context.current():
            check(
                lib.jit_gemm_device_download(
                    self._handle.pointer, target, self.pointer + begin, size
                )
            )

    def __jit_gemm_view__(self) -> View:
        return View(
            self.pointer,
            self.shape,
            self.strides,
            self.dtype,
            BITS[self.dtype],
            self._ordinal,
            False,
            self,
            self,
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_dlpack.EXTENSION if self.is_emulated else _dlpack.CUDA, self._ordinal)

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """For others. Waits for all that was launched, unless `stream` is -1: nobody knows here
        which stream has written it last."""
        if self.is_emulated:
            raise BufferError("memory of an emulated device: copy it with to_host()")
        if self.dtype not in TO_DLPACK:
            raise BufferError(f"DLPack has no {self.dtype}: copy it with to_host()")
        if stream != -1:
            self.context.synchronize()
        return _dlpack.give(
            self,
            self.pointer,
            self.shape,
            self.strides,
            TO_DLPACK[self.dtype],
            self.__dlpack_device__(),
        )

    def __repr__(self) -> str:
        where = "emulated device" if self.is_emulated else "device"
        return f"DeviceArray({self.shape}, {self.dtype}, {where} {self._ordinal})"

    def __del__(self) -> None:
        if getattr(self, "pointer", 0) and self._handle.is_ours():
            with self._current:
                self._free(self._handle.pointer, self.pointer)
