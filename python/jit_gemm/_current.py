# SPDX-License-Identifier: MIT
"""The CUDA context that is current on a thread, as the library expects it: that of the device.

The library makes the device's primary context current on a thread that has none, and otherwise
works with what is current. Programs of Python go from one device to another on one thread, with
torch.cuda.device or without, so here the right one is made current for the time of a call.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from ._library import Lock

_lock = Lock()
_primaries: dict[tuple[str, int], ctypes.c_void_p] = {}


def _file_of(driver: str | None) -> str:
    """The loader's name of a driver that the library has opened already."""
    driver = driver or os.environ.get("JIT_GEMM_DRIVER") or "libcuda.so.1"
    return "libjit_gemm_emulator.so" if driver == "emulator" else driver


class Current:
    """Makes a device's primary context current: `with current: ...`."""

    def __init__(self, driver: str | None, ordinal: int) -> None:
        name = _file_of(driver)
        library = ctypes.CDLL(name)
        self._get = library.cuCtxGetCurrent
        self._set = library.cuCtxSetCurrent
        self._set.argtypes = [ctypes.c_void_p]
        self._before = threading.local()
        with _lock:
            primary = _primaries.get((name, ordinal))
            if primary is None:
                # Held until the process ends, as with the CUDA runtime.
                primary = ctypes.c_void_p()
                result = library.cuDevicePrimaryCtxRetain(ctypes.byref(primary), ordinal)
                if result != 0:
                    raise OSError(f"{name}: cuDevicePrimaryCtxRetain gave {result}")
                _primaries[name, ordinal] = primary
        self._primary = primary.value

    def __enter__(self) -> None:
        before = ctypes.c_void_p()
        self._get(ctypes.byref(before))
        stack = self._before.__dict__.setdefault("stack", [])
        stack.append(before.value)
        if before.value != self._primary:
            self._set(self._primary)

    def __exit__(self, *_: Any) -> None:
        before = self._before.stack.pop()
        if before is not None and before != self._primary:
            self._set(before)
