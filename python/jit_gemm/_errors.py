# SPDX-License-Identifier: MIT
"""Exceptions: a class for each kind of status, with the diagnostics of the library."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import NoReturn

from . import _abi
from ._abi import DiagnosticOrigin, Severity, Status
from ._library import library


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong. Lines and columns count from 1, columns in bytes; 0: unknown."""

    severity: Severity
    origin: DiagnosticOrigin
    line: int
    column: int
    where: str  # field, operand or file name
    text: str
    hint: str  # what to do about it; may be empty

    def __str__(self) -> str:
        place = self.where
        if self.line:
            place += f":{self.line}" + (f":{self.column}" if self.column else "")
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}: {self.severity.name.lower()}: {self.text}{hint}"


class Error(Exception):
    """A call failed.

    `status` says how, `diagnostics` what is wrong and where, `log` is the compiler's whole log.
    Where a snippet is at fault, `caret` shows its line with a mark below the place; the
    message ends with it.
    """

    status: Status = Status.INTERNAL

    def __init__(
        self,
        message: str,
        status: Status | None = None,
        diagnostics: tuple[Diagnostic, ...] = (),
        log: str = "",
        caret: str = "",
    ) -> None:
        super().__init__(message + (f"\n{caret}" if caret else ""))
        if status is not None:
            self.status = status
        self.diagnostics = diagnostics
        self.log = log
        self.caret = caret


class ArgumentError(Error, ValueError):
    """An argument is wrong; the text names it and the remedy."""

    status = Status.ARGUMENT


class UnsupportedError(Error):
    """Legal, but this version has no kernel for it."""

    status = Status.UNSUPPORTED


class NoMemoryError(Error, MemoryError):
    """There is not enough host or device memory."""

    status = Status.NO_MEMORY


class DeviceError(Error):
    """No driver, no device, or one that reported an error or refused a kernel or a launch."""

    status = Status.DEVICE


class NoCompilerError(Error):
    """NVRTC is absent or too old, and the kernel is not cached."""

    status = Status.NO_COMPILER


class CompileError(Error):
    """A snippet or a compiled function is refused; `diagnostics` has lines and columns."""

    status = Status.COMPILE


class NotCachedError(Error):
    """The context may not compile, and the kernel is not cached: the text names the remedy."""

    status = Status.NOT_CACHED


class CaptureError(Error):
    """The call may block and its stream is being captured into a graph."""

    status = Status.CAPTURE


class CancelledError(Error):
    """Somebody asked to stop."""

    status = Status.CANCELLED


class FileError(Error, OSError):
    """A file that the caller named could not be read or written."""

    status = Status.IO


class BudgetError(Error):
    """The kernel needs more of the device than the problem allows."""

    status = Status.BUDGET


_CLASSES: dict[Status, type[Error]] = {
    Status.ARGUMENT: ArgumentError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.NO_MEMORY: NoMemoryError,
    Status.NO_DRIVER: DeviceError,
    Status.NO_COMPILER: NoCompilerError,
    Status.DEVICE: DeviceError,
    Status.COMPILE: CompileError,
    Status.LINK: CompileError,
    Status.LOAD: DeviceError,
    Status.LAUNCH: DeviceError,
    Status.NOT_CACHED: NotCachedError,
    Status.CAPTURE: CaptureError,
    Status.CANCELLED: CancelledError,
    Status.IO: FileError,
    Status.BUDGET: BudgetError,
}


def refuse(field: str, text: str, remedy: str = "") -> NoReturn:
    """Raises what is wrong with an argument of this package, in the form of the library's."""
    item = Diagnostic(Severity.ERROR, DiagnosticOrigin.FIELD, 0, 0, field, text, remedy)
    message = f"{field}: {text}" + (f"; {remedy}" if remedy else "")
    raise ArgumentError(message, Status.ARGUMENT, (item,))


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def _take_diagnostics() -> tuple[tuple[Diagnostic, ...], str]:
    lib = library()
    taken = ctypes.c_void_p()
    if lib.jit_gemm_diagnostics_take(ctypes.byref(taken)) != Status.OK:
        return (), ""
    try:
        items = []
        for index in range(lib.jit_gemm_diagnostics_count(taken)):
            raw = _abi.Diagnostic(struct_size=ctypes.sizeof(_abi.Diagnostic))
            if lib.jit_gemm_diagnostics_get(taken, index, ctypes.byref(raw)) != Status.OK:
                continue
            items.append(
                Diagnostic(
                    Severity(raw.severity),
                    DiagnosticOrigin(raw.origin),
                    raw.line,
                    raw.column,
                    _text(raw.where),
                    _text(raw.text),
                    _text(raw.hint),
                )
            )
        return tuple(items), _text(lib.jit_gemm_diagnostics_log(taken))
    finally:
        lib.jit_gemm_diagnostics_destroy(ctypes.byref(taken))


def _show_caret(items: tuple[Diagnostic, ...], source: str, first_line: int) -> str:
    """The snippet's line of the first diagnostic that has one, and a caret below the place."""
    lines = source.split("\n")
    for item in items:
        number = item.line - first_line
        if item.origin != DiagnosticOrigin.SNIPPET or not item.line or number >= len(lines):
            continue
        raw = lines[number].rstrip("\r").encode()
        before = raw[: max(item.column - 1, 0)].decode(errors="replace")
        # Tabs stay tabs, so that the caret stands below its place whatever a tab's width is.
        blanks = "".join("\t" if letter == "\t" else " " for letter in before)
        return f"  {raw.decode(errors='replace')}\n  {blanks}^"
    return ""


def check(status: int, source: str | None = None, first_line: int = 1) -> None:
    """Raises the thread's last error unless the status is OK. `source`: the snippet, if any."""
    if status == Status.OK:
        return
    message = _text(library().jit_gemm_last_error())
    items, log = _take_diagnostics()
    try:
        known = Status(status)
    except ValueError:
        known = Status.INTERNAL
    caret = _show_caret(items, source, first_line) if source else ""
    raise _CLASSES.get(known, Error)(message, known, items, log, caret)
