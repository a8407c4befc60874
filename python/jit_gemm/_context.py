# SPDX-License-Identifier: MIT
"""Contexts: settings, the disk cache, and the kernels loaded so far."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import _abi
from ._abi import Nvtx, Policy, Severity
from ._current import Current
from ._epilogue import Epilogue
from ._errors import check, refuse
from ._handle import Handle, call_for_text
from ._library import Lock, generation, library

_LOG_LEVELS = {
    Severity.ERROR: logging.ERROR,
    Severity.WARNING: logging.WARNING,
    Severity.INFO: logging.INFO,
    Severity.DEBUG: logging.DEBUG,
}
_PER_THREAD = 2  # CU_STREAM_PER_THREAD: one number for a stream of each thread
_POLICIES = {"allow": Policy.ALLOW, "warn": Policy.WARN, "forbidden": Policy.FORBID}
Log = Callable[[Severity, str], None]


def _log_to_python(severity: Severity, text: str) -> None:
    logging.getLogger("jit_gemm").log(_LOG_LEVELS[severity], "%s", text)


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """Plain facts about a device."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    driver_version: int  # 1000 * major + 10 * minor
    memory_bytes: int
    is_emulated: bool
    ordinal: int


def encode_path(path: str | os.PathLike[str] | None) -> bytes | None:
    return None if path is None else os.fsencode(path)


def _read_device(device: int | str | None, options: _abi.ContextOptions) -> None:
    """Fills in which device: an ordinal, `cuda`, `cuda:1`, `emulator`, `none`."""
    if device is None:
        return
    word, _, number = str(device).partition(":")
    if isinstance(device, int):
        word, number = "cuda", str(device)
    if word == "emulator" and not number:
        options.driver = b"emulator"
    elif word == "none" and not number:
        options.no_device = 1
    elif word == "cuda" and (not number or number.isdecimal()):
        if number:
            options.device, options.exact_device = int(number), 1
    else:
        refuse(
            "device",
            f"'{device}' is no device",
            'an ordinal, "cuda", "cuda:1", "emulator" (kernels run on the CPU) or "none"',
        )


class Context:
    """Settings, the disk cache, and the kernels loaded so far. Any thread may use it.

    device: an ordinal or "cuda:1"; None or "cuda": the first that there are kernels for;
        "emulator": no GPU, kernels run on the CPU; "none": only plans and prewarms.
    arch: such as "sm_90a"; None: the device's.
    compile: "allow", "warn", or "forbidden": a kernel that is not cached is NotCachedError.
    cache_dir, cache, cache_limit, cache_roots, cache_keys, cache_least_serial: the disk cache,
        as in jit_gemm_context_options; without `cache` there is none. Keys are 32 bytes each.
    compile_limit: most seconds of one compile; None: two minutes.
    driver, nvrtc: paths of these libraries; None: the usual places, among them pip's packages.
    plan_for: the device that configs are chosen for, such as "h100"; None: the context's own.
    nvtx: whether creates, compiles, loads and runs are NVTX ranges, which profilers show; None: as
        JIT_GEMM_NVTX says.
    log: called with severity and text, from any thread, and must not call this package; None:
        lines go to `logging.getLogger("jit_gemm")`. `log_level`: the least serious ones.
    """

    def __init__(
        self,
        device: int | str | None = None,
        *,
        arch: str | None = None,
        compile: str = "allow",
        cache: bool = True,
        cache_dir: str | os.PathLike[str] | None = None,
        cache_limit: int | None = None,
        cache_roots: Sequence[str | os.PathLike[str]] = (),
        cache_keys: Sequence[bytes] = (),
        cache_least_serial: int = 0,
        capsule_dir: str | os.PathLike[str] | None = None,
        compile_limit: float | None = None,
        driver: str | os.PathLike[str] | None = None,
        nvrtc: str | os.PathLike[str] | None = None,
        plan_for: str | None = None,
        nvtx: bool | None = None,
        log: Log | None = None,
        log_level: Severity = Severity.WARNING,
    ) -> None:
        lib = library()
        if compile not in _POLICIES:
            refuse("compile", f"'{compile}' is no policy", "one of " + ", ".join(_POLICIES))
        if any(len(key) != _abi.KEY_BYTES for key in cache_keys):
            refuse("cache_keys", f"a public key has {_abi.KEY_BYTES} bytes")
        options = _abi.ContextOptions(struct_size=ctypes.sizeof(_abi.ContextOptions))
        _read_device(device, options)
        if driver is not None:
            options.driver = encode_path(driver)
        options.arch = arch.encode() if arch else None
        options.nvrtc = encode_path(nvrtc)
        options.cache_dir = encode_path(cache_dir)
        options.no_cache = not cache
        options.policy = _POLICIES[compile]
        options.cache_limit = cache_limit or 0
        options.capsule_dir = encode_path(capsule_dir)
        options.cache_keys = b"".join(cache_keys) or None
        options.cache_key_count = len(cache_keys)
        options.cache_least_serial = cache_least_serial
        options.plan_for = plan_for.encode() if plan_for else None
        if nvtx is not None:
            options.nvtx = Nvtx.ON if nvtx else Nvtx.OFF
        if compile_limit is not None:
            options.compile_limit_ms = max(1, min(int(compile_limit * 1000), _abi.NO_LIMIT_MS))
        roots = (ctypes.c_char_p * max(len(cache_roots), 1))(*map(os.fsencode, cache_roots))
        options.cache_root_count = len(cache_roots)
        if cache_roots:
            options.cache_roots = roots
        receive = log or _log_to_python

        def forward(_user: Any, severity: int, text: bytes) -> None:
            receive(Severity(severity), text.decode(errors="replace"))

        options.log = _abi.LogFunction(forward)
        options.log_level = log_level
        created = ctypes.c_void_p()
        check(lib.jit_gemm_context_create(ctypes.byref(options), ctypes.byref(created)))
        # The callback lives as long as the library may call it.
        self._handle: Handle | None = Handle(created, lib.jit_gemm_context_destroy, options.log)
        self._lock = Lock()
        self._registered: dict[str, Epilogue] = {}
        self._workspaces: dict[tuple[int, int], Any] = {}
        # What gemm has made: kernels by problem and epilogue, launches by what it was given.
        self.kernels: dict[Any, Any] = {}
        self.recorded: dict[Any, Any] = {}
        self._info: DeviceInfo | None = None
        self._driver = None if options.driver is None else os.fsdecode(options.driver)
        self._current: Current | None = None

    # ------------------------------------------------------------------------- lifetime

    def handle(self) -> Handle:
        """The handle, held during a call; ArgumentError if it is closed or of a parent."""
        handle = self._handle
        if handle is None:
            refuse("context", "it is closed", "make another one")
        if handle.generation != generation():
            refuse(
                "context",
                "it was made before a fork, by the parent",
                "make one after the fork; a child of fork has no device without exec",
            )
        return handle

    def close(self) -> None:
        """Ends the use of this context. Kernels that were created from it stay valid."""
        with self._lock:
            self._handle = None
            self._workspaces.clear()
            self.kernels.clear()
            self.recorded.clear()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cancel(self) -> None:
        """Cancels the compiles under way, on all threads: they end with CancelledError."""
        check(library().jit_gemm_cancel(self.handle().pointer))

    # ---------------------------------------------------------------------------- facts

    @property
    def arch(self) -> str:
        """Such as `sm_90a`."""
        text: bytes = library().jit_gemm_context_arch(self.handle().pointer)
        return text.decode()

    @property
    def device(self) -> DeviceInfo:
        """What the context's device is."""
        if self._info is None:
            raw = _abi.DeviceInfo(struct_size=ctypes.sizeof(_abi.DeviceInfo))
            lib = library()
            check(lib.jit_gemm_device_get_info(self.handle().pointer, ctypes.byref(raw)))
            self._info = DeviceInfo(
                raw.name.decode(errors="replace"),
                (raw.cc_major, raw.cc_minor),
                raw.sm_count,
                raw.driver_version,
                raw.memory_bytes,
                bool(raw.is_emulated),
                raw.ordinal,
            )
        return self._info

    def stats(self) -> dict[str, float]:
        """The counters: creates, memory_hits, disk_hits, compiles, and so on."""
        raw = _abi.Stats(struct_size=ctypes.sizeof(_abi.Stats))
        check(library().jit_gemm_context_stats(self.handle().pointer, ctypes.byref(raw)))
        return {name: getattr(raw, name) for name, *_ in raw._fields_[1:]}

    def describe(self) -> str:
        """Driver, device, compiler, cache and their trust, one line each."""
        handle = self.handle()  # a status that is not OK is told by the text
        return call_for_text(library().jit_gemm_context_describe, handle.pointer, is_checked=False)

    def current(self) -> Current:
        """Makes the device the thread's current one: `with context.current(): ...`."""
        if self._current is None:
            self._current = Current(self._driver, self.device.ordinal)
        return self._current

    def findings(self) -> int:
        """Waits for all launches, and counts what an emulated device found wrong so far."""
        count = ctypes.c_uint64()
        lib = library()
        handle = self.handle()
        with self.current():
            check(lib.jit_gemm_device_findings(handle.pointer, ctypes.byref(count)))
        return count.value

    def synchronize(self) -> None:
        """Waits for everything that was launched on the device."""
        handle = self.handle()
        with self.current():
            check(library().jit_gemm_device_synchronize(handle.pointer))

    def write_manifest(self, path: str | os.PathLike[str]) -> None:
        """Writes every problem that was asked of this context, for `prewarm`."""
        lib = library()
        check(lib.jit_gemm_context_write_manifest(self.handle().pointer, os.fsencode(path)))

    def load_manifest(self, path: str | os.PathLike[str], create_all: bool = False) -> None:
        """Registers a manifest's epilogues, and with `create_all` makes and loads its kernels."""
        handle = self.handle()
        lib = library()
        with self.current() if create_all else contextlib.nullcontext():
            status = lib.jit_gemm_context_load_manifest(
                handle.pointer, os.fsencode(path), create_all
            )
        check(status)

    @property
    def planned_device(self) -> str:
        """The device that configs are chosen for, as words that `plan_for` takes elsewhere."""
        return call_for_text(library().jit_gemm_context_planned_device, self.handle().pointer)

    def add_cache_root(self, path: str | os.PathLike[str]) -> None:
        """Adds a folder or a bundle of kernels that is only read."""
        lib = library()
        check(lib.jit_gemm_context_add_cache_root(self.handle().pointer, os.fsencode(path)))

    # ------------------------------------------------------------------------ epilogues

    def register(self, epilogue: Epilogue) -> str:
        """Registers an epilogue under its name, which it returns. Twice is fine."""
        if self._registered.get(epilogue.name) is epilogue:
            return epilogue.name
        struct, borrowed = epilogue.as_struct()
        lib = library()
        status = lib.jit_gemm_epilogue_register(self.handle().pointer, ctypes.byref(struct))
        del borrowed
        check(status, epilogue.source, epilogue.first_line)
        self._registered[epilogue.name] = epilogue
        return epilogue.name

    def check_epilogue(self, epilogue: Epilogue) -> str:
        """Checks an epilogue without registering it: "scanned", or "compiled" as well."""
        struct, borrowed = epilogue.as_struct()
        depth = ctypes.c_int()
        handle = self.handle()
        status = library().jit_gemm_epilogue_check(
            handle.pointer, ctypes.byref(struct), ctypes.byref(depth)
        )
        del borrowed
        check(status, epilogue.source, epilogue.first_line)
        return _abi.EpilogueDepth(depth.value).name.lower()

    def registered(self, name: str) -> Epilogue | None:
        """An epilogue that was registered here; None: there is none of that name."""
        return self._registered.get(name)

    def epilogue_text(self, name: str) -> tuple[str, int] | None:
        """Text and first line of an epilogue that was registered here, for errors."""
        epilogue = self._registered.get(name)
        return (epilogue.source, epilogue.first_line) if epilogue else None

    # ------------------------------------------------------------------------- problems

    def plan(self, problem: str) -> str:
        """The chosen config, why, and each rejected candidate with its reason."""
        struct = parse_problem(problem)
        return call_for_text(library().jit_gemm_plan, self.handle().pointer, struct)

    def check(self, problem: str) -> None:
        """Raises where a problem is not legal for the context's architecture. Pure."""
        struct = parse_problem(problem)
        check(library().jit_gemm_check(self.handle().pointer, ctypes.byref(struct)))

    # --------------------------------------------------------------------------- memory

    def workspace(self, stream: int, size: int) -> int:
        """Address of memory for launches of this stream, zero before its first launch.

        Launches of one stream follow each other and share it. One that is too small stays:
        kernels that are queued, or captured, may use it. The stream of each thread is one for
        each, though all have the same number.
        """
        from ._device_array import DeviceArray

        thread = threading.get_ident() if stream == _PER_THREAD else 0
        with self._lock:
            held = self._workspaces.setdefault((stream, thread), [])
            if not held or held[-1].nbytes < size:
                # Twice what it was, so that all together are less than twice the last one.
                least = max(size, 2 * held[-1].nbytes if held else 0, 1 << 16)
                held.append(DeviceArray.zeros(self, (least,), "s8"))
            address: int = held[-1].pointer
            return address


def parse_problem(text: str) -> _abi.Problem:
    """Reads the text form of a problem, its defaults filled in."""
    if not isinstance(text, str):
        raise TypeError(f"problem: a text such as '4096x4096x4096 bf16', not {type(text).__name__}")
    struct = _abi.Problem()
    check(
        library().jit_gemm_problem_parse_sized(
            text.encode(), ctypes.sizeof(struct), ctypes.byref(struct)
        )
    )
    return struct


_defaults: dict[tuple[int, Any, Any], Context] = {}
_defaults_lock = Lock()


def default_context(device: int | str | None = None, arch: str | None = None) -> Context:
    """The context that `gemm` takes for a device: one for each, made at the first use."""
    for field, word in (("device", device), ("arch", arch)):
        if word is not None and not isinstance(word, (int, str)):
            raise TypeError(f"{field}: an ordinal or a name, not {type(word).__name__}")
    key = (generation(), device, arch)
    with _defaults_lock:
        context = _defaults.get(key)
        if context is None or context._handle is None:
            context = _defaults[key] = Context(device, arch=arch)
        return context
