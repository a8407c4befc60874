# SPDX-License-Identifier: MIT
"""From arrays to the arguments of one launch, all checked against the problem."""

from __future__ import annotations

import ctypes
import dataclasses
import numbers
import sys
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from . import _abi, _shape
from ._abi import GroupBy
from ._device_array import DeviceArray
from ._epilogue import BLOCK_COLUMNS, DTYPE_NAMES, Operand
from ._errors import refuse
from ._index import check_absent, look_at_sizes, put_index, rows_of
from ._operands import to_number
from ._shape import Plane
from ._staging import Staging
from ._stream import current, handle_of, is_capturing
from ._view import HOST, View, look_at

if TYPE_CHECKING:
    from ._context import Context

# Arrays that have no batch stride: they have the rows, or the part of K, of all groups.
_STACKED = {
    GroupBy.BY_OFFSETS: {"a", "c", "d", "matrix", "column_vector", "a_scale", "d_scale"},
    GroupBy.BY_ROWS: {"a", "c", "d", "matrix", "column_vector", "a_scale", "d_scale"},
    GroupBy.BY_K_OFFSETS: {"a", "b", "a_scale", "b_scale"},
}


def default_d(a: str) -> str:
    """D's type where a problem names none."""
    return {"tf32": "f32", "s8": "s32"}.get(a, a)


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a launch needs to know of a problem."""

    problem: _abi.Problem
    operands: tuple[Operand, ...]
    is_gated: bool

    def dtype(self, letter: str) -> str:
        number = getattr(self.problem, letter).dtype
        a = DTYPE_NAMES[self.problem.a.dtype]
        if number:
            return DTYPE_NAMES[number]
        return {"a": a, "b": a, "d": default_d(a)}.get(letter, "none")

    def is_mn_major(self, letter: str) -> bool:
        return bool(getattr(self.problem, letter).layout)

    @property
    def is_column_major(self) -> bool:
        return self.is_mn_major("d")

    @property
    def group_by(self) -> GroupBy:
        return GroupBy(self.problem.group_by)

    def is_stacked(self, what: str) -> bool:
        return what in _STACKED.get(self.group_by, ())


class Launch:
    """The arrays of one launch, and the arguments that they become."""

    def __init__(self, facts: Facts, context: Context, stream: Any, arrays: list[Any]) -> None:
        self.facts = facts
        self.context = context
        self.stream, self._is_current = (
            current(arrays) if stream is None else (handle_of(stream), False)
        )
        self.has_stream = stream is not None
        self.views: list[tuple[str, View, bool]] = []  # with the argument's name; written?
        self.args = _abi.Args(struct_size=ctypes.sizeof(_abi.Args))
        self.places: list[tuple[_abi.Arg | None, str, View]] = []
        self.m = self.n = self.k = 0
        self.a_row_count = 0  # of A: more or fewer than M where an index names them
        self.batch = 1
        self.is_host = False

    # ------------------------------------------------------------------------- looking

    def look(
        self, field: str, array: Any, dtype: str, is_written: bool = False, other: Any = ()
    ) -> View:
        """An array of this type, or another with its bits; it is an argument of the launch."""
        view = look_at(field, array, self.stream, self._is_current)
        called = {"tf32": "f32", "ue4m3": "e4m3"}.get(dtype, dtype)
        if view.dtype not in (dtype, called, *other):
            is_long = view.dtype == "s64" and dtype == "s32"
            remedy = "convert them: .to(torch.int32), .astype(numpy.int32)" if is_long else ""
            refuse(field, f"its elements are {view.dtype}, and the problem says {dtype}", remedy)
        if is_written and view.read_only:
            refuse(field, "it is read-only, and the launch writes it")
        self.views.append((field, view, is_written))
        return view

    def _put(self, arg: _abi.Arg, plane: Plane, what: str) -> None:
        if not plane.is_row_major():
            refuse(
                plane.field,
                f"its strides {plane.view.strides} are not those of the problem's layout",
                "give the layout with the problem, or copy the array",
            )
        arg.ld = plane.ld()
        if not self.facts.is_stacked(what):
            arg.batch_stride = plane.batch_stride
        self.places.append((arg, "pointer", plane.view))

    # -------------------------------------------------------------------------- matrices

    def put_inputs(self, a: Any, b: Any, a_rows: Any) -> None:
        """A and B, which say what the sizes are."""
        facts = self.facts
        first, second = (self.look("a", a, facts.dtype("a")), self.look("b", b, facts.dtype("b")))
        for field, view in (("a", first), ("b", second)):
            if len(view.shape) not in (2, 3):
                refuse(field, f"its shape is {view.shape}, and a matrix has two sizes, or three")
        self.m, self.k = first.shape[-2:]
        self.n = second.shape[-1]
        if second.shape[-2] != self.k:
            refuse(
                "b",
                f"its shape {second.shape} has {second.shape[-2]} rows, and A {first.shape} has "
                f"{self.k} columns",
                "B is K x N; give weights that are stored N x K as their transpose",
            )
        self._settle_batch(first, second)
        rows = self.m
        if a_rows is None:
            check_absent(self, "a_rows")
        else:
            self.m = put_index(self, "a_rows", a_rows)
            self.args.a_row_count = rows = rows_of("a", first)
        batch = self.batch
        self.a_row_count = rows
        plane = _shape.plane("a", first, rows, self.k, 1 if facts.is_stacked("a") else batch)
        self._put(self.args.a, plane.transposed() if facts.is_mn_major("a") else plane, "a")
        plane = _shape.plane("b", second, self.k, self.n, 1 if facts.is_stacked("b") else batch)
        self._put(self.args.b, plane if facts.is_mn_major("b") else plane.transposed(), "b")
        if a_rows is not None:
            self.args.a.batch_stride = 0

    def _settle_batch(self, a: View, b: View) -> None:
        """How many products there are, and whether the problem is for these sizes."""
        problem = self.facts.problem
        sizes = {view.shape[0] for view in (a, b) if len(view.shape) == 3} - {1}
        if len(sizes) > 1:
            refuse("b", f"A has {a.shape[0]} batches, and B has {b.shape[0]}")
        self.batch = sizes.pop() if sizes else 1
        if self.facts.group_by != GroupBy.NONE:
            self.batch = problem.batch.size

    def check_sizes(self) -> None:
        problem = self.facts.problem
        for name in ("m", "n", "k", "batch"):
            wanted, size = getattr(problem, name), getattr(self, name)
            if wanted.mode == 0 and size != max(wanted.size, 1):
                refuse(name, f"it is {size}, and the kernel is for {max(wanted.size, 1)}")
            if wanted.mode != 0:
                setattr(self.args, name, size if size else _abi.SIZE_EMPTY)

    @property
    def d_columns(self) -> int:
        return self.n // 2 if self.facts.is_gated else self.n

    def put_like_d(
        self, field: str, arg: _abi.Arg, view: View, what: str, is_written: bool
    ) -> None:
        """C, D or a matrix operand."""
        batch = 1 if self.facts.is_stacked(what) else self.batch
        plane = _shape.plane(field, view, self.m, self.d_columns, batch, is_written)
        self._put(arg, plane.transposed() if self.facts.is_column_major else plane, what)

    def put_result(self, out: Any, d_rows: Any) -> None:
        view = self.look("out", out, self.facts.dtype("d"), True)
        if d_rows is None:
            check_absent(self, "d_rows")
            self.put_like_d("out", self.args.d, view, "d", True)
            return
        put_index(self, "d_rows", d_rows)
        self.args.d_row_count = rows = rows_of("out", view)
        plane = _shape.plane("out", view, rows, self.d_columns, 1, True)
        self._put(self.args.d, plane, "d")

    def put_c(self, c: Any) -> None:
        if c is None:
            return
        if not self.facts.problem.c.dtype:
            refuse("c", "the problem has no C", "name its type in the problem, such as c=f32")
        view = self.look("c", c, self.facts.dtype("c"))
        self.put_like_d("c", self.args.c, view, "c", False)

    def put_pointers(
        self, matrices: Mapping[str, Any], lds: Mapping[str, Any], rows: Mapping[str, Any]
    ) -> None:
        """Matrices of groups wherever addresses say, each an int64 for each group; so are their
        leading dimensions. The sizes are the problem's: the most that a group may have."""
        problem = self.facts.problem
        self.m, self.n, self.k = problem.m.size, problem.n.size, problem.k.size
        self.batch = problem.batch.size
        self.a_row_count = self.m
        for field, array in matrices.items():
            letter = "d" if field == "out" else field
            if array is None and letter == "c":
                continue
            if letter == "c" and not problem.c.dtype:
                refuse("c", "the problem has no C", "name its type in the problem, such as c=f32")
            view = self._look_at_groups(field, array, "s64")
            self.places.append((getattr(self.args, letter), "pointer", view))
        for name, array in lds.items():
            if name not in matrices:
                refuse("lds", f"there is no matrix {name}", "one of " + ", ".join(matrices))
            view = self._look_at_groups(f"lds[{name}]", array, "s64")
            self.places.append((None, ("d" if name == "out" else name) + "_lds", view))
        for field, array in rows.items():
            if array is not None:
                refuse(field, "no index names rows of matrices by pointers", "leave it out")

    def _look_at_groups(self, field: str, array: Any, dtype: str) -> View:
        """A value for each group."""
        view = self.look(field, array, dtype)
        _shape.vector(field, view, self.batch, 1, 1, False)
        return view

    def put_factor(self, name: str, value: Any) -> None:
        """alpha or beta: a number, or an f32 array of one value."""
        if value is None:
            return
        if isinstance(value, numbers.Real):
            setattr(self.args, name, ctypes.pointer(ctypes.c_float(to_number(name, value))))
            return
        view = self.look(name, value, "f32")
        if view.shape:
            _shape.vector(name, view, 1, 1, 1, False)
        self.places.append((None, name + "_device", view))

    def put_groups(self, sizes: Any, ns: Any, ks: Any, on_host: bool) -> None:
        """An int32 for each group, or with groups by rows for each row."""
        by = self.facts.group_by
        for field, key, array in (("group_ns", "n", ns), ("group_ks", "k", ks)):
            if array is None:
                continue
            if by != GroupBy.BY_POINTERS or getattr(self.facts.problem, key).mode == 0:
                refuse(
                    field,
                    f"no group of this problem has a size of its own along {key.upper()}",
                    f"name group_by=pointers and dynamic={key} in the problem",
                )
            self.places.append((None, field, self._look_at_groups(field, array, "s32")))
        if sizes is None:
            if by not in (GroupBy.NONE, GroupBy.BY_POINTERS) and not on_host:
                refuse("group_sizes", "the problem has groups", "give an int32 array")
            return
        if by == GroupBy.NONE:
            refuse("group_sizes", "the problem has no groups", "name groups and group_by in it")
        view = look_at_sizes(self, sizes, self.m if by == GroupBy.BY_ROWS else self.batch)
        self.places.append((None, "group_sizes", view))

    # -------------------------------------------------------------------------- operands

    def put_operands(self, given: Mapping[str, Any], of_run: Container[str]) -> None:
        """What the epilogue has; `of_run` are the names that `Gemm.run` takes beside it."""
        names = [operand.name for operand in self.facts.operands]
        for name in given:
            if name not in names:
                known = "it has: " + (", ".join(names) or "none")
                remedy = f"{known}; Gemm.run takes {name}" if name in of_run else known
                refuse(name, "the epilogue has no such operand", remedy)
        rows = (_abi.Arg * max(len(names), 1))()
        for operand, arg in zip(self.facts.operands, rows):
            if operand.name not in given:
                refuse(operand.name, f"the epilogue's operand {operand} is missing")
            self._put_operand(operand, arg, given[operand.name])
        self.args.operands = rows
        self.args.operand_count = len(names)

    def _put_operand(self, operand: Operand, arg: _abi.Arg, value: Any) -> None:
        name = operand.name
        if operand.kind == "scalar" and operand.is_read and isinstance(value, numbers.Real):
            arg.value = to_number(name, value)
            return
        view = self.look(name, value, operand.dtype, not operand.is_read)
        if operand.kind == "matrix":
            self.put_like_d(name, arg, view, "matrix", not operand.is_read)
            return
        batch = 1 if self.facts.is_stacked(operand.kind) else self.batch
        if operand.kind in BLOCK_COLUMNS:
            blocks = -(-self.d_columns // BLOCK_COLUMNS[operand.kind])
            self._put(arg, _shape.plane(name, view, self.m, blocks, batch, True), operand.kind)
            return
        size, axis = {
            "scalar": (1, 1),
            "row_vector": (self.d_columns, 1),
            "pair_vector": (self.n, 1),
            "column_vector": (self.m, 0),
        }[operand.kind]
        if not view.shape and size == 1 and (batch == 1 or operand.is_read):
            stride = _abi.STRIDE_BROADCAST if batch > 1 else 0
        elif operand.kind == "scalar" and batch > 1 and view.shape == (batch,):
            stride = view.strides[0]  # a value for each batch
        else:
            stride = _shape.vector(name, view, size, axis, batch, not operand.is_read)
        if not operand.is_read and stride == 0:
            stride = 1 if operand.kind == "scalar" else 0
        arg.batch_stride = stride
        self.places.append((arg, "pointer", view))

    # --------------------------------------------------------------------------- launch

    def check_memory(self) -> None:
        """Nothing that is written overlaps another argument, but for C and matrices in place."""
        matrices = {"c"} | {op.name for op in self.facts.operands if op.kind == "matrix"}
        for field, view, is_written in self.views:
            for other, second, is_written_too in self.views:
                if not is_written or second is view or not _shape.overlap(view, second):
                    continue
                is_in_place = other in matrices and not is_written_too
                if not is_in_place or not _shape.is_same_memory(view, second):
                    refuse(
                        field,
                        f"it shares memory with {other}",
                        "only C or a matrix operand that is read may be the very memory of D, of "
                        "its type and strides",
                    )

    def check_devices(self) -> None:
        """All arrays lie in host memory, or on the context's device."""
        (field, first, _), *rest = self.views
        for other, view, _ in rest:
            if view.device != first.device:
                is_list = other == "group_sizes" and view.device == HOST
                remedy = "numbers that the host has are host_group_sizes" if is_list else ""
                message = f"it lies in {_place(view)}, and {field} in {_place(first)}"
                refuse(other, message, remedy)
        self.is_host = first.device == HOST
        if self.is_host:
            if self.has_stream and self.stream != 0:
                refuse("stream", "host arrays are copied and waited for", "leave it out")
            return
        if first.device != self.context.device.ordinal:
            refuse(field, f"it lies in {_place(first)}, and the context has another device")
        if self.context.device.is_emulated:
            for other, view, _ in self.views:
                if not isinstance(view.keep, DeviceArray):
                    refuse(other, f"it lies in {_place(view)}, and the context is emulated")

    def finish(self, launch: Any, workspace: Any, workspace_bytes: int) -> None:
        """Settles addresses and calls `launch` with the arguments."""
        is_host = self.is_host
        leaves_rest = self.facts.group_by != GroupBy.NONE or self.args.d_row_count != 0
        views = [(view, is_written) for _, view, is_written in self.views]
        staging = Staging(self.context, views, leaves_rest) if is_host else None
        if staging is not None:
            self.stream = 0
            staging.upload()
        for arg, field, view in self.places:
            address = staging.pointer(view) if staging is not None else view.pointer
            setattr(self.args if arg is None else arg, field, address)
        self._put_workspace(workspace, workspace_bytes)
        launch(self.args, self.stream)
        if staging is not None:
            staging.download()

    def _put_workspace(self, workspace: Any, size: int) -> None:
        if workspace is None:
            if size and is_capturing():
                # Memory of the graph's own, which the graph clears before the kernel.
                torch = sys.modules["torch"]
                ordinal = self.context.device.ordinal
                self._kept = torch.zeros(size, dtype=torch.uint8, device=ordinal)
                self.args.workspace = self._kept.data_ptr()
            elif size:
                self.args.workspace = self.context.workspace(self.stream, size)
            return
        view = look_at("workspace", workspace, self.stream)
        first, end = view.first_and_end()
        if view.device == HOST:
            refuse("workspace", "it lies in host memory", "give device memory, zero at first")
        self.args.workspace, self.args.workspace_bytes = first, end - first


def _place(view: View) -> str:
    return "host memory" if view.device == HOST else f"memory of device {view.device}"
