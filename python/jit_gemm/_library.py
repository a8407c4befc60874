# SPDX-License-Identifier: MIT
"""Finds and opens the shared library.

Opened at the first use, not at import: `import jit_gemm` needs neither a GPU nor the library.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
import weakref

from . import _abi

# The folder of a wheel that has the library, the emulator and what both need.
BUNDLED = pathlib.Path(__file__).resolve().parent / "lib"
FILE_NAME = "libjit_gemm.so"
# The first version of the library that has all that _abi.py names.
LEAST_VERSION = 100

_opened: ctypes.CDLL | None = None
# Grows in each child of a fork: what a parent made must not be used there.
_generation = 0


class Lock:
    """Free in a child of a fork, where the parent's thread that held it is not."""

    _all: weakref.WeakSet[Lock] = weakref.WeakSet()

    def __init__(self) -> None:
        self._lock = self._held = threading.Lock()
        Lock._all.add(self)

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        self._held = lock  # to be released by who forks meanwhile, too

    def __exit__(self, *_: object) -> None:
        self._held.release()

    @classmethod
    def renew_all(cls) -> None:
        for lock in cls._all:
            lock._lock = threading.Lock()


def _begin_child() -> None:
    global _generation
    _generation += 1
    Lock.renew_all()


_lock = Lock()
os.register_at_fork(after_in_child=_begin_child)


def generation() -> int:
    """How many forks lie between the process that imported this package and this one."""
    return _generation


def _bundled_libraries() -> tuple[list[pathlib.Path], pathlib.Path | None]:
    """What the bundled library needs, and the library; none outside of a wheel."""
    needed, library = [], None
    for path in sorted(BUNDLED.glob("lib*.so*")):
        if path.name.startswith(FILE_NAME):
            library = path
        elif not path.name.startswith("libjit_gemm"):
            needed.append(path)
    return needed, library


def _candidates() -> list[str]:
    named = os.environ.get("JIT_GEMM_LIBRARY")
    if named:
        # The library finds the emulator beside itself, by an absolute path only.
        return [os.path.abspath(named) if os.sep in named else named]
    _, library = _bundled_libraries()
    return [str(library)] if library else ["libjit_gemm.so.0", FILE_NAME]


def _open() -> ctypes.CDLL:
    reasons = []
    for candidate in _candidates():
        try:
            if candidate.startswith(str(BUNDLED)):
                # The loader takes a library of that name that the process has already.
                for needed in _bundled_libraries()[0]:
                    ctypes.CDLL(str(needed))
            library = ctypes.CDLL(candidate)
        except OSError as error:
            reasons.append(str(error))
            continue
        version = getattr(library, "jit_gemm_version", None)
        if version is None or version() < LEAST_VERSION:
            reasons.append(
                f"{candidate}: not a library of jit_gemm, or one older than this package"
            )
            continue
        _abi.bind(library)
        return library
    raise ImportError(
        "the library of jit_gemm cannot be opened: " + "; ".join(reasons) + ". Install the wheel, "
        "put the folder of libjit_gemm.so into LD_LIBRARY_PATH, or name the file in "
        "JIT_GEMM_LIBRARY"
    )


def library() -> ctypes.CDLL:
    """The opened library; ImportError where there is none."""
    global _opened
    if _opened is None:
        with _lock:
            if _opened is None:
                _opened = _open()
    return _opened


def version() -> str:
    """The library's version, such as `0.1.0`."""
    text: bytes = library().jit_gemm_version_string()
    return text.decode()
