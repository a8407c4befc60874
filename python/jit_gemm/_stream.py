# SPDX-License-Identifier: MIT
"""Streams of others, found without importing anybody: through sys.modules."""

from __future__ import annotations

import sys
from typing import Any


def handle_of(stream: Any) -> int:
    """The CUstream of an int, of a stream of torch or CuPy, or of `__cuda_stream__`."""
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol()
        return int(handle)
    for member in ("cuda_stream", "ptr"):
        handle = getattr(stream, member, None)
        if isinstance(handle, int):
            return handle
    raise TypeError(
        f"stream: {type(stream).__name__} is no stream: give a CUstream as an int, or a stream of "
        "torch or CuPy"
    )


def _unwrapped(array: Any) -> Any:
    """What a caller gave, without what this package has put around it."""
    for member in ("value", "array", "source"):  # of Given, Typed and View
        if type(array).__module__.startswith("jit_gemm."):
            array = getattr(array, member, array)
    return array


def current(arrays: list[Any]) -> tuple[int, bool]:
    """The current stream of whom the arrays belong to, torch's or CuPy's, else the default one.

    And whether it is torch's.
    """
    torch = sys.modules.get("torch")
    cupy = sys.modules.get("cupy")
    if torch is None and cupy is None:
        return 0, False
    for array in map(_unwrapped, arrays):
        if torch is not None and isinstance(array, torch.Tensor):
            if not array.is_cuda:
                return 0, True
            return int(torch.cuda.current_stream(array.device).cuda_stream), True
        if cupy is not None and isinstance(array, cupy.ndarray):
            return int(cupy.cuda.get_current_stream().ptr), False
    return 0, False


def is_capturing() -> bool:
    """Is torch capturing its current stream into a graph?"""
    torch = sys.modules.get("torch")
    return bool(
        torch is not None
        and torch.cuda.is_initialized()
        and torch.cuda.is_current_stream_capturing()
    )
