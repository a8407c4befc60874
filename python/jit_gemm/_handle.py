# SPDX-License-Identifier: MIT
"""Handles of the library, and texts that it writes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NoReturn

from ._errors import check
from ._library import generation


class OfOneProcess:
    """What is freed with the last reference to it: a copy would free it once more."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "contexts, kernels and their memory belong to one process and cannot be pickled or "
            "copied; make them anew there"
        )


class Handle(OfOneProcess):
    """A pointer of the library's, destroyed with the last reference to this.

    A call holds a reference while it runs: closing what it belongs to, on another thread,
    does not take the pointer away. `keep` is what the library borrows.
    """

    def __init__(
        self, pointer: ctypes.c_void_p, destroy: Callable[[Any], object], *keep: Any
    ) -> None:
        self.pointer = pointer
        self.generation = generation()
        self._destroy = destroy
        self._by_reference = ctypes.byref
        self._keep = keep

    def is_ours(self, now: Callable[[], int] = generation) -> bool:
        """Was it made by this process? A child of fork leaves alone what its parent made."""
        return self.generation == now()

    def __del__(self) -> None:
        if self.is_ours():
            self._destroy(self._by_reference(self.pointer))


def call_for_text(function: Any, *arguments: Any, is_checked: bool = True) -> str:
    """Calls a function that writes a text of any length: asks for the length, then for it."""
    references = [
        ctypes.byref(argument) if isinstance(argument, ctypes.Structure) else argument
        for argument in arguments
    ]
    size = 0
    while True:
        length = ctypes.c_size_t()
        buffer = ctypes.create_string_buffer(size + 1)
        status = function(*references, buffer, size + 1, ctypes.byref(length))
        if is_checked:
            check(status)
        if length.value <= size:
            return buffer.value.decode(errors="replace")
        size = length.value
