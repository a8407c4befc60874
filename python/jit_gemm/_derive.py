# SPDX-License-Identifier: MIT
"""From the arrays of one call to sizes, operands and the text of a problem."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from . import _shape
from ._abi import STRIDE_BROADCAST
from ._allocate import allocate
from ._context import Context
from ._epilogue import Epilogue, NamedEpilogue, Operand, is_gated, named_epilogues
from ._errors import refuse
from ._launch import default_d
from ._operands import Given, Sizes, derive_kind, is_number
from ._scales import words_of
from ._shape import Plane
from ._view import BITS, PAIRS, View

_make_epilogue = functools.lru_cache(maxsize=4096)(Epilogue)


class Derivation:
    """What one call of `gemm` is about."""

    def __init__(
        self,
        a: View,
        b: View,
        c: View | None,
        dtype: str | None,
        look: Callable[[str, Any], View],
    ) -> None:
        """`look` is look_at with the launch's stream, for what is allocated here."""
        self.a, self.b, self.c_view = a, b, c
        self.look = look
        for name, view in (("a", self.a), ("b", self.b)):
            if view.dtype == "f32":
                refuse(
                    name,
                    "its elements are f32, which tensor cores do not multiply",
                    f"give jit_gemm.tf32({name}), which keeps 10 bits of each, or convert it",
                )
            if view.dtype not in BITS:
                refuse(
                    name,
                    f"its elements are {view.dtype}, which no kernel takes",
                    "convert it, or call its bits another type with jit_gemm.view",
                )
            if len(view.shape) not in (2, 3):
                refuse(
                    name,
                    f"its shape is {view.shape}, and a matrix has two sizes, or three "
                    "with a batch",
                )
        self.dtype = dtype
        self.has_d_scale = False
        self.out = a  # until it is known
        self.declared: Epilogue | None = None
        self.epilogue_name = ""
        self.matrices: dict[str, View] = {}
        self.vectors: list[tuple[str, View]] = []

    # -------------------------------------------------------------------------------- D

    def read_d(self, out: View | None, epilogue: str | Epilogue | None, context: Context) -> str:
        """Sizes and D; its type."""
        a, b = self.a, self.b
        if a.shape[-1] != b.shape[-2]:
            refuse(
                "b",
                f"its shape {b.shape} has {b.shape[-2]} rows, and A {a.shape} has {a.shape[-1]} "
                "columns",
                "B is K x N; give weights that are stored N x K as their transpose",
            )
        batches = {view.shape[0] for view in (a, b) if len(view.shape) == 3} - {1}
        if len(batches) > 1:
            refuse("b", f"A has {a.shape[0]} batches, and B has {b.shape[0]}")
        if isinstance(epilogue, Epilogue):
            gated = epilogue.is_gated
        else:
            word = (epilogue or "").strip()
            own = named_epilogues().get(word) or context.registered(word)
            gated = own.is_gated if own else is_gated(word)
        n = b.shape[-1]
        if gated and n % 2 != 0:
            refuse("b", f"it has {n} columns, and a gated epilogue takes two for one of D")
        self.sizes = Sizes(
            a.shape[-2],
            n,
            n // 2 if gated else n,
            batches.pop() if batches else 1,
            max(len(a.shape), len(b.shape)) == 3,
        )
        if not self.is_empty() and a.shape[-1] == 0:
            refuse("a", f"its shape {a.shape} has no columns: there is nothing to add up")
        d = self.dtype or default_d(a.dtype)
        if out is None and self.dtype is None and d == PAIRS and not self.has_d_scale:
            refuse(
                "dtype",
                "A's elements are e2m1, and those of D would need scales",
                'give dtype="bf16", or d_scale',
            )
        if d not in BITS:
            refuse("dtype", f"there is no type {d}", "one of " + ", ".join(BITS))
        if out is None:
            out = self.look("out", allocate("dtype", a, self.sizes.d_shape(), d, context))
        elif out.dtype not in BITS:
            refuse(
                "out",
                f"its elements are {out.dtype}, which no kernel writes",
                "give an array of another type, or dtype= for a new one",
            )
        self.out = out
        return out.dtype

    def is_empty(self) -> bool:
        return 0 in (self.sizes.m, self.sizes.n, self.sizes.batch)

    # ------------------------------------------------------------------------- operands

    def read_operands(
        self,
        epilogue: str | Epilogue | None,
        given: dict[str, Any],
        d: str,
        context: Context,
    ) -> tuple[dict[str, Any], dict[str, View]]:
        """Values for the launch, and what the epilogue writes besides D."""
        own: NamedEpilogue | None = None
        known: tuple[Operand, ...] | None = None
        if isinstance(epilogue, Epilogue):
            self.declared, known = epilogue, epilogue.operands
            self.epilogue_name = epilogue.name
        elif epilogue is not None and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", epilogue):
            epilogue = epilogue.strip()
            own = named_epilogues().get(epilogue)
            registered = context.registered(epilogue)
            if own is None and registered is None:
                near = get_close_matches(epilogue, named_epilogues(), 1)
                refuse(
                    "epilogue",
                    f"'{epilogue}' is none of the library's own, and not registered",
                    (f"did you mean {near[0]}? " if near else "")
                    + "`jit-gemm epilogue list` has them; or give a snippet",
                )
            known = own.operands_for(d) if own else registered.operands if registered else ()
            self.epilogue_name = epilogue
        elif epilogue is None:
            known = ()
        if known is None:
            assert isinstance(epilogue, str)
            known = tuple(self._declare(name, value, d) for name, value in given.items())
            self.declared = _make_epilogue(epilogue, known)
            self.epilogue_name = self.declared.name
        return self._give(known, given, context)

    def _declare(self, name: str, value: Any, d: str) -> Operand:
        kind, role, dtype = "", "input", ""
        if isinstance(value, Given):
            kind, role, dtype, value = value.kind, value.role, value.dtype, value.value
        if value is None and not kind:
            raise TypeError(f"{name}: None is no array; leave it out, and the snippet's use of it")
        if value is None:
            return Operand(name, kind, dtype or d, role)
        if is_number(value):
            if kind not in ("", "scalar"):
                refuse(name, f"it is a number, and no {kind}")
            return Operand(name, "scalar", "f32", role)
        return Operand(name, kind or derive_kind(name, value, self.sizes), value.dtype, role)

    def _give(
        self, known: tuple[Operand, ...], given: dict[str, Any], context: Context
    ) -> tuple[dict[str, Any], dict[str, View]]:
        values: dict[str, Any] = {}
        results: dict[str, View] = {}
        for operand in known:
            name = operand.name
            value = given.get(name)
            if isinstance(value, Given):
                if (value.kind, value.role) != (operand.kind, operand.role):
                    refuse(
                        name,
                        f"it is given as {value.kind} ({value.role}), and the epilogue "
                        f"has {operand}",
                    )
                value = value.value
            if value is None and not operand.is_read:
                shape = self.sizes.shape_of(operand.kind)
                value = self.look(name, allocate(name, self.a, shape, operand.dtype, context))
            if not operand.is_read:
                if not isinstance(value, View):
                    raise TypeError(f"{name}: the epilogue writes it, and it is no array")
                results[name] = value
            if isinstance(value, View):
                if operand.kind == "matrix":
                    self.matrices[name] = value
                elif not operand.is_reduction:
                    self.vectors.append((operand.kind, value))
            if value is not None:
                values[name] = value
        values |= {
            name: value
            for name, value in given.items()
            if name not in values and name not in {operand.name for operand in known}
        }
        return values, results

    # -------------------------------------------------------------------------- problem

    def problem_text(self, scales: dict[str, View | None], more: str, sizes: str | None) -> str:
        """The text form of the problem that these arrays are."""
        if re.search(r"\bgroups\s*=", more):
            remedy = "make a Gemm of the whole problem, whose run takes group_sizes"
            refuse("problem", "it has groups, and gemm derives none", remedy)
        s = self.sizes
        k = self.a.shape[-1]
        words = {"m": s.m, "n": s.n, "k": k}
        text = []
        dynamic = re.search(r"\b([mnk]|batch)=", sizes) if sizes else None
        if dynamic:
            words[dynamic[1]] = 1  # not read: the range has the sizes
            text.append(f"dynamic={dynamic[1]}")
        if s.batch != 1:
            text.append(f"batch={s.batch}")
        a = _shape.plane("a", self.a, s.m, k, s.batch)
        b = _shape.plane("b", self.b, k, s.n, s.batch).transposed()
        a_layout, a_align = _layout(a)
        b_layout, b_align = _layout(b)
        text.append(f"a={self.a.dtype} b={self.b.dtype} d={self.out.dtype}")
        if self.c_view is not None:
            text.append(f"c={self.c_view.dtype}")
        text.append("layout=" + "nt"[a_layout] + "tn"[b_layout])
        d = _shape.plane("out", self.out, s.m, s.d_columns, s.batch, True)
        d_layout, d_align = _layout(d)
        if d_layout:
            text.append("d_layout=column")
        extents = {"a_scale": (s.m, k), "b_scale": (s.n, k), "d_scale": (s.m, s.d_columns)}
        for name, scale in scales.items():
            if scale is None or f"{name}=" in more:
                continue
            element = {"a": self.a, "b": self.b, "d": self.out}[name[0]].dtype
            rows, columns = extents[name]
            if d_layout and name[0] == "d":
                rows, columns = columns, rows  # as it lies in memory
            said = words_of(name, scale, rows, columns, s.batch, element, more)
            text.append(said)
            if said.endswith(("=tensor", "=vector")):
                along = "row_vector" if name == "b_scale" else "column_vector"
                self.vectors.append((along, scale))
        input_align = min(a_align, b_align)
        output_align = min(d_align, self._other_alignment(bool(d_layout)))
        if input_align < _shape.LARGEST_ALIGNMENT and "input_align=" not in more:
            text.append(f"input_align={input_align}")
        if output_align < _shape.LARGEST_ALIGNMENT and "output_align=" not in more:
            text.append(f"output_align={output_align}")
        head = " ".join(f"{name}={value}" for name, value in words.items())
        return " ".join([head, *text, more]).strip()

    def _other_alignment(self, is_column_major: bool) -> int:
        """What C, operands and scales allow of D's alignment."""
        s = self.sizes
        best = _shape.LARGEST_ALIGNMENT
        matrices = list(self.matrices.items())
        if self.c_view is not None:
            matrices.append(("c", self.c_view))
        for name, view in matrices:
            matrix = _shape.plane(name, view, s.m, s.d_columns, s.batch)
            best = min(
                best, (matrix.transposed() if is_column_major else matrix).alignment(view.pointer)
            )
        along = "column_vector" if is_column_major else "row_vector"
        for kind, view in self.vectors:
            size = view.bits // 8
            steps = [stride for n, stride in zip(view.shape[:-1], view.strides) if n > 1]
            if kind == along and (view.pointer % (2 * size) or any(n % 2 for n in steps)):
                best = min(best, size)
        return best


def _layout(matrix: Plane) -> tuple[int, int]:
    """0 if its columns run fastest, 1 if its rows do, and its alignment; the better aligned."""
    ways = []
    for number, way in enumerate((matrix, matrix.transposed())):
        if way.is_row_major():
            ways.append((-way.alignment(way.view.pointer), number))
    if not ways or matrix.batch_stride < STRIDE_BROADCAST:
        refuse(
            matrix.field,
            f"strides {matrix.view.strides} of shape {matrix.view.shape}: neither rows nor columns "
            "lie packed in memory",
            "copy it to a contiguous array",
        )
    alignment, number = min(ways)
    return number, -alignment
