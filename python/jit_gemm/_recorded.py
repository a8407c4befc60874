# SPDX-License-Identifier: MIT
"""A launch of `gemm` made again: the same shapes and settings, other addresses and numbers.

What depends on addresses is looked at each time: that nothing which is written overlaps. All else
was checked when the launch was recorded, and is what the key says: shapes, strides, types,
alignments, names, settings.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _abi, _shape
from ._allocate import allocate
from ._stream import is_capturing
from ._view import View, look_at

if TYPE_CHECKING:
    from ._context import Context
    from ._launch import Launch

_put_address = struct.Struct("=Q").pack_into
_FACTORS = ("alpha", "beta")
# Arguments of `gemm` before the operands: a, b, c, alpha, beta, scales of A, B and D, out.
FIXED_COUNT = 9


def signature(value: Any) -> Any:
    """What of an argument a recorded launch depends on."""
    if not isinstance(value, View):
        return type(value)
    return (
        value.shape,
        value.strides,
        value.dtype,
        value.device,
        value.pointer & 15,
        value.read_only,
    )


class Recorded:
    """The bytes of a launch's arguments, and where addresses and numbers go.

    names, values: what `gemm` was given, views, numbers and None; of the names the first nine are
    its own, the others operands. `out` and `results` are what it returned; those that it made are
    made anew.
    """

    def __init__(
        self,
        kernel: Any,
        launch: Launch,
        names: Sequence[str],
        values: Sequence[Any],
        out: View,
        results: dict[str, View],
    ) -> None:
        self._kernel = kernel
        views = [value if isinstance(value, View) else None for value in values]
        self._new: list[tuple[int | None, str, tuple[int, ...], str]] = []
        places = {id(view): index for index, view in enumerate(views) if view is not None}
        for name, view in (("out", out), *results.items()):
            if id(view) not in places:
                places[id(view)] = len(views)
                views.append(view)
                self._new.append((len(views) - 1, name, view.shape, view.dtype))
        self._given = len(values)
        self._out = places[id(out)]
        self._results = {name: places[id(view)] for name, view in results.items()}
        self._lay_out(launch, names, values, places)
        # Bytes from an array's address to its first and behind its last one.
        spans = [(places[id(v)], v.pointer, *v.first_and_end(), w) for _, v, w in launch.views]
        self._spans = [(i, first - at, end - at) for i, at, first, end, _ in spans]
        self._written = [(i, first - at, end - at) for i, at, first, end, w in spans if w]
        self._in_place = {
            (i, j)
            for i, *_ in self._written
            for j, *_ in self._spans
            if i != j and _shape.is_same_memory(views[i], views[j])  # type: ignore[arg-type]
        }
        self._workspace_bytes = kernel.workspace_bytes()

    def _lay_out(
        self, launch: Launch, names: Sequence[str], values: Sequence[Any], places: dict[int, int]
    ) -> None:
        """The struct, behind it the operands, and behind those alpha and beta."""
        args, row_size = launch.args, ctypes.sizeof(_abi.Arg)
        self._rows = ctypes.sizeof(_abi.Args)
        count = args.operand_count
        rows = ctypes.string_at(args.operands, count * row_size) if count else b""
        raw = bytes(args) + rows + bytes(8)
        first_row = ctypes.addressof(args.operands.contents) if count else 0
        self._addresses = []
        for arg, field, view in launch.places:
            begin, owner = 0, _abi.Args if arg is None else _abi.Arg
            if arg is not None:
                inside = ctypes.addressof(arg) - ctypes.addressof(args)
                row = ctypes.addressof(arg) - first_row
                begin = inside if 0 <= inside < self._rows else self._rows + row
            self._addresses.append((begin + getattr(owner, field).offset, places[id(view)]))
        self._numbers = []
        self._factors = []
        order = [operand.name for operand in launch.facts.operands]
        for index, (name, value) in enumerate(zip(names, values)):
            if not isinstance(value, float):
                continue
            if index < FIXED_COUNT:
                place = self._rows + len(rows) + 4 * _FACTORS.index(name)
                self._factors.append((getattr(_abi.Args, name).offset, place))
            else:
                row = self._rows + order.index(name) * row_size
                place = row + _abi.Arg.value.offset
            self._numbers.append((place, index))
        self._template = raw
        self._buffer = ctypes.c_char * len(raw)

    def _overlaps(self, views: Sequence[Any]) -> bool:
        """May an array that is written share memory with another?"""
        for index, low, high in self._written:
            at = views[index].pointer
            begin, end = at + low, at + high
            for other, first, last in self._spans:
                pointer = views[other].pointer
                if other == index or pointer + last <= begin or end <= pointer + first:
                    continue
                if pointer != at or (index, other) not in self._in_place:
                    return True
        return False

    def run(self, context: Context, values: list[Any], stream: int, is_current: bool) -> bool:
        """Launches. False: only a whole check can say whether it is right. Appends new arrays."""
        if self._workspace_bytes and is_capturing():
            return False
        for _, name, shape, dtype in self._new:
            array = allocate(name, values[0], shape, dtype, context)
            values.append(look_at(name, array, stream, is_current))
        if self._overlaps(values):
            del values[self._given :]
            return False
        raw = bytearray(self._template)
        base = ctypes.addressof(self._buffer.from_buffer(raw))
        for offset, index in self._addresses:
            _put_address(raw, offset, values[index].pointer)
        for offset, index in self._numbers:
            ctypes.c_float.from_buffer(raw, offset).value = values[index]
        for offset, place in self._factors:
            _put_address(raw, offset, base + place)
        _put_address(raw, _abi.Args.operands.offset, base + self._rows)
        if self._workspace_bytes:
            workspace = context.workspace(stream, self._workspace_bytes)
            _put_address(raw, _abi.Args.workspace.offset, workspace)
        self._kernel.call(_abi.Args.from_buffer(raw), stream)
        return True

    def results(self, values: Sequence[Any]) -> Any:
        """What `gemm` returns."""
        out = values[self._out].source
        if not self._results:
            return out
        return out, {name: values[index].source for name, index in self._results.items()}
