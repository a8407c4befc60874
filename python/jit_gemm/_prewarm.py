# SPDX-License-Identifier: MIT
"""Filling the disk cache before it is needed."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from . import _abi
from ._context import Context, encode_path
from ._errors import check, refuse
from ._library import library


@dataclasses.dataclass(frozen=True)
class PrewarmResult:
    """What a prewarm did: kernels in all, found, compiled and kept, failed, in the bundle.

    Of an estimate: how many kernels are missing, and what they would take.
    """

    total: int
    cached: int
    compiled: int
    failed: int
    bundle_kernels: int
    bundle_bytes: int
    jobs: int
    missing: int
    estimated_seconds: float
    estimated_bytes: int


Progress = Callable[[int, int, str], object]


def prewarm(
    manifest: str | os.PathLike[str] | bytes,
    arch: str | Iterable[str] | None = None,
    *,
    jobs: int = 0,
    bundle: str | os.PathLike[str] | None = None,
    require_cached: bool = False,
    ptx: bool = False,
    progress: Progress | None = None,
    deadline: float | None = None,
    only_estimate: bool = False,
    context: Context | None = None,
    **settings: Any,
) -> PrewarmResult:
    """Builds every kernel of a manifest into the disk cache. Needs no GPU.

    manifest: path of a manifest, or its text as bytes.
    arch: for which architectures; None: those that the manifest names, or the context's.
    require_cached: compiles nothing; a kernel that is not there is NotCachedError.
    ptx: makes what the emulator takes.
    progress: called with done, total and problem; anything it returns but None and 0 stops.
    deadline: most seconds; what is under way then ends with CancelledError.
    only_estimate: builds nothing, and says what there would be to do.
    context: whose cache is filled; None: a new one without a device, with `settings` of
        `Context`, such as cache_dir.
    """
    text = manifest if isinstance(manifest, bytes) else pathlib.Path(manifest).read_bytes()
    archs = [arch] if isinstance(arch, str) else list(arch or [])
    if context is None:
        context = Context("none", arch=archs[0] if archs else None, **settings)
    elif settings:
        refuse("settings", f"{', '.join(settings)} are of a new context", "leave out context")
    raised: list[BaseException] = []

    def forward(_user: Any, done: int, total: int, problem: bytes) -> int:
        try:
            return bool(progress(done, total, problem.decode(errors="replace"))) if progress else 0
        except BaseException as error:  # it goes on behind the call
            raised.append(error)
            return 1

    names = (ctypes.c_char_p * max(len(archs), 1))(*[name.encode() for name in archs])
    options = _abi.PrewarmOptions(struct_size=ctypes.sizeof(_abi.PrewarmOptions))
    options.archs = names if archs else None
    options.arch_count = len(archs)
    options.jobs = jobs
    options.progress = _abi.ProgressFunction(forward)
    options.ptx = ptx
    options.require_cached = require_cached
    options.bundle = encode_path(bundle)
    options.deadline_ms = 0 if deadline is None else max(1, int(deadline * 1000))
    options.only_estimate = only_estimate
    raw = _abi.PrewarmResult(struct_size=ctypes.sizeof(_abi.PrewarmResult))
    handle = context.handle()
    status = library().jit_gemm_prewarm(
        handle.pointer, text, len(text), ctypes.byref(options), ctypes.byref(raw)
    )
    if raised:
        raise raised[0]
    check(status)
    return PrewarmResult(
        **{field.name: getattr(raw, field.name) for field in dataclasses.fields(PrewarmResult)}
    )
