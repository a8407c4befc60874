# SPDX-License-Identifier: MIT
"""Kernels beside products, which arrays on a device are for: what they share."""

from __future__ import annotations

import ctypes
from typing import Any, TypeVar

from . import _abi
from ._context import Context
from ._device_array import DeviceArray
from ._errors import check, refuse
from ._gemm import Info
from ._handle import Handle
from ._library import library
from ._stream import current, handle_of
from ._view import HOST, View, look_at

_Own = TypeVar("_Own", bound="SideKernel")


class SideKernel:
    """A kernel of a context, loaded: of the functions `jit_gemm_NAME_*`, and how it was made."""

    _name = ""  # of the functions
    _remedy = ""  # for arrays in host memory

    def __init__(self, context: Context, *made_of: Any) -> None:
        self.context = context
        created = ctypes.c_void_p()
        owner = context.handle()
        check(self._function("create")(owner.pointer, *made_of, ctypes.byref(created)))
        self._handle: Handle | None = Handle(created, self._function("destroy"), owner)
        raw = _abi.Info(struct_size=ctypes.sizeof(_abi.Info))
        check(self._function("get_info")(created, ctypes.byref(raw)))
        self.info = Info.of(raw)

    def _function(self, verb: str) -> Any:
        return getattr(library(), f"jit_gemm_{self._name}_{verb}")

    def handle(self) -> Handle:
        """The handle, held during a call; ArgumentError if it is closed or of a parent."""
        handle = self._handle
        if handle is None:
            refuse(self._name, "it is closed", "create it again")
        if not handle.is_ours():
            refuse(self._name, "it was made before a fork, by the parent", "use it there")
        return handle

    def close(self) -> None:
        """Ends the use of this kernel. Work already launched goes on."""
        self._handle = None

    def __enter__(self: _Own) -> _Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look(self, arrays: dict[str, Any], stream: Any) -> tuple[dict[str, View], Any]:
        """Arrays on the context's device, those that are given, and the stream of a launch."""
        given = {field: array for field, array in arrays.items() if array is not None}
        settled, is_current = current(list(given.values()))
        if stream is not None:
            settled, is_current = handle_of(stream), False
        views = {name: look_at(name, array, settled, is_current) for name, array in given.items()}
        device = self.context.device
        for field, view in views.items():
            if view.device == HOST:
                refuse(field, "it lies in host memory", self._remedy)
            is_ours = isinstance(view.keep, DeviceArray) and view.keep.is_emulated
            if view.device != device.ordinal or is_ours != device.is_emulated:
                refuse(field, "it lies on another device than the context's")
        return views, settled

    def _launch(self, args: ctypes.Structure, stream: Any) -> None:
        handle = self.handle()
        with self.context.current():
            check(self._function("run")(handle.pointer, ctypes.byref(args), stream))
