# SPDX-License-Identifier: MIT
"""Rows that are added up, several to one: what experts say of a token (docs/grouped.md).

jit_gemm/combine.h over arrays.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi
from ._context import Context
from ._epilogue import DTYPE_NAMES
from ._errors import refuse
from ._side_kernel import SideKernel
from ._view import View, is_packed

_NUMBERS = {name: number for number, name in DTYPE_NAMES.items()}


def _number_of(field: str, dtype: Any) -> int:
    if dtype not in _NUMBERS:
        refuse(field, f"there is no type {dtype!r}", "bf16, f16 or f32")
    return _NUMBERS[dtype]


def _row_distance(field: str, view: View) -> int:
    """Elements from a row of a matrix to the next one."""
    if len(view.shape) != 2 or (view.shape[1] > 1 and view.strides[1] != 1):
        refuse(field, f"its shape is {view.shape}, its strides {view.strides}: give packed rows")
    return view.strides[0] if view.shape[0] > 1 else view.shape[1]


class Combiner(SideKernel):
    """A kernel that adds up rows, loaded: row t of D is
    c[t] + weights[t, 0] * rows[index[t, 0]] + weights[t, 1] * rows[index[t, 1]] + ...,
    in f32 and in this order. Never changes; any thread may run it.

    rows, d: the types of the rows, and of D and C: bf16, f16 or f32.
    chosen: how many rows make one, 1 to 64.
    """

    _name, _remedy = "combiner", "DeviceArray.from_host brings it to the device"

    def __init__(self, context: Context, rows: str, d: str, chosen: int) -> None:
        if not 1 <= chosen <= 64:
            refuse("chosen", f"it is {chosen}", "give 1 to 64")
        self.chosen = chosen
        self._types = {"rows": rows, "out": d, "c": d, "index": "s32", "weights": "f32"}
        super().__init__(context, _number_of("rows", rows), _number_of("d", d), chosen)

    def run(
        self,
        rows: Any,
        out: Any,
        *,
        index: Any = None,
        weights: Any = None,
        c: Any = None,
        stream: Any = None,
    ) -> None:
        """Launches the sums of arrays on the context's device, and nothing else: legal under
        stream capture.

        rows: (rows, columns). out: D, (tokens, columns).
        index: int32, (tokens, chosen), which rows; what is none of them is left out. None: part j
            of token t is row t * chosen + j.
        weights: f32, likewise. None: 1.
        c: as D, added first; it may be D.
        stream: as in `Gemm.run`.
        """
        given = {"rows": rows, "out": out, "index": index, "weights": weights, "c": c}
        views, settled = self._look(given, stream)
        for field, view in views.items():
            if view.dtype != self._types[field]:
                refuse(field, f"its elements are {view.dtype}, and must be {self._types[field]}")
        matrices = [name for name in ("rows", "out", "c") if name in views]
        lds = {name: _row_distance(name, views[name]) for name in matrices}
        tokens, columns = views["out"].shape
        count, width = views["rows"].shape
        if width != columns:
            refuse("rows", f"its shape is {(count, width)}, and D has {columns} columns")
        parts = tokens * self.chosen
        if index is None and count < parts:
            refuse("rows", f"there are {count}, and {tokens} tokens without an index have {parts}")
        each = (tokens, self.chosen)
        for field, shape in (("c", (tokens, columns)), ("index", each), ("weights", each)):
            if field in views and views[field].shape != shape:
                refuse(field, f"its shape is {views[field].shape}, and it must be {shape}")
            if field in views and field != "c" and not is_packed(views[field]):
                refuse(field, f"its strides {views[field].strides} have gaps", "copy it, packed")
        if views["out"].read_only:
            refuse("out", "it is read-only", "give one that can be written")
        places = {"d" if name == "out" else name: view.pointer for name, view in views.items()}
        args = _abi.CombinerArgs(
            struct_size=ctypes.sizeof(_abi.CombinerArgs),
            tokens=tokens,
            columns=columns,
            row_count=count,
            rows_ld=lds["rows"],
            c_ld=lds.get("c", 0),
            d_ld=lds["out"],
            **places,
        )
        self._launch(args, settled)
