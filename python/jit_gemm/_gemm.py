# SPDX-License-Identifier: MIT
"""Kernels: one problem, or a family of them for a range of sizes."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from . import _abi
from ._abi import GroupBy, Origin
from ._context import Context, parse_problem
from ._epilogue import Epilogue, Operand, is_gated, named_epilogues
from ._errors import check, refuse
from ._handle import Handle, call_for_text
from ._host_sizes import put_host_sizes
from ._launch import Facts, Launch
from ._library import library
from ._scales import put_scale


@dataclasses.dataclass(frozen=True)
class Info:
    """What is known of a kernel; the fields are those of jit_gemm_info."""

    origin: str  # compiled, disk, memory or bundle
    registers: int
    spill_bytes: int
    smem_bytes: int
    threads: int
    grid_ctas: int
    compile_ms: float
    load_ms: float
    arch: str
    key: str
    entry: str
    config: str
    workspace_bytes: int
    tmem_columns: int
    sum_fraction_bits: int
    is_gated: bool
    launches: int
    recipe: str

    @classmethod
    def of(cls, raw: _abi.Info) -> Info:
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            value = getattr(raw, field.name)
            values[field.name] = value.decode() if isinstance(value, bytes) else value
        values["origin"] = Origin(raw.origin).name.lower()
        values["is_gated"] = bool(raw.is_gated)
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Band:
    """Sizes that follow each other and share a kernel. Times are the cost model's."""

    first: int
    last: int
    kernel: int
    planned: int
    first_us: float
    last_us: float
    loss: float
    loss_size: int
    config: str

    @classmethod
    def of(cls, raw: _abi.Band) -> Band:
        values = {field.name: getattr(raw, field.name) for field in dataclasses.fields(cls)}
        values["config"] = raw.config.decode()
        return cls(**values)


def _operands_of(
    context: Context, problem: _abi.Problem, d: str
) -> tuple[tuple[Operand, ...], str]:
    """The operands of a problem's epilogue, and its text."""
    name = problem.epilogue.decode()
    if not name:
        return (), ""
    own = named_epilogues().get(name)
    if own is not None:
        return own.operands_for(d), own.source
    registered = context.registered(name)
    if registered is None:
        refuse("epilogue", f"'{name}' is not registered", "give Epilogue(snippet), or register it")
    return registered.operands, registered.source


def facts_of(context: Context, problem: str, epilogue: Epilogue | str | None) -> Facts:
    """What a problem with an epilogue is, which is registered where it is an `Epilogue`."""
    struct = parse_problem(problem)
    if isinstance(epilogue, Epilogue):
        epilogue = context.register(epilogue)
    if epilogue is not None:
        if struct.epilogue:
            refuse("epilogue", f"the problem names {struct.epilogue.decode()} as well")
        if len(epilogue) >= _abi.NAME_SIZE:
            refuse("epilogue", f"'{epilogue}' is no name", "give Epilogue(text, operands)")
        struct.epilogue = epilogue.encode()
    facts = Facts(struct, (), False)
    operands, source = _operands_of(context, struct, facts.dtype("d"))
    return Facts(struct, operands, is_gated(source))


def assemble(
    facts: Facts,
    context: Context,
    a: Any,
    b: Any,
    out: Any,
    operands: Mapping[str, Any] | None = None,
    *,
    c: Any = None,
    alpha: Any = None,
    beta: Any = None,
    a_scale: Any = None,
    b_scale: Any = None,
    d_scale: Any = None,
    group_sizes: Any = None,
    host_group_sizes: Sequence[int] | None = None,
    group_ns: Any = None,
    group_ks: Any = None,
    lds: Mapping[str, Any] | None = None,
    a_rows: Any = None,
    d_rows: Any = None,
    stream: Any = None,
) -> Launch:
    """The arguments of `_Launchable.run`, all checked. Nothing is created or copied."""
    given = dict(operands or {})
    launch = Launch(facts, context, stream, [a, b, out, c, *given.values()])
    if facts.group_by == GroupBy.BY_POINTERS:
        rows = {"a_rows": a_rows, "d_rows": d_rows}
        launch.put_pointers({"a": a, "b": b, "c": c, "out": out}, lds or {}, rows)
        launch.check_sizes()
    else:
        if lds:
            refuse("lds", "only matrices by pointers have leading dimensions", "leave it out")
        launch.put_inputs(a, b, a_rows)
        launch.check_sizes()
        launch.put_result(out, d_rows)
        launch.put_c(c)
    launch.put_factor("alpha", alpha)
    launch.put_factor("beta", beta)
    for name, array in (("a_scale", a_scale), ("b_scale", b_scale), ("d_scale", d_scale)):
        put_scale(launch, name, array)
    launch.put_operands(given, assemble.__kwdefaults__ or ())
    launch.put_groups(group_sizes, group_ns, group_ks, host_group_sizes is not None)
    if host_group_sizes is not None:
        put_host_sizes(launch, host_group_sizes)
    launch.check_memory()
    launch.check_devices()
    return launch


class _Launchable:
    """What a kernel and a family share: a handle, the problem's facts, and how they run."""

    _run_name = "run"

    def __init__(self, context: Context, facts: Facts, *more: Any) -> None:
        self.context = context
        self.facts = facts
        self._handle: Handle | None = self._create(context, facts.problem, *more)
        self._run = getattr(library(), "jit_gemm_" + self._run_name)

    def _check(self, status: int) -> None:
        name = self.facts.problem.epilogue.decode()
        text = self.context.epilogue_text(name)
        check(status, *(text if text else ()))

    def _create(self, context: Context, struct: _abi.Problem, *more: Any) -> Handle:
        raise NotImplementedError

    def handle(self) -> Handle:
        """The handle, held during a call; ArgumentError if it is closed or of a parent."""
        handle = self._handle
        if handle is None:
            refuse("gemm", "it is closed", "create it again")
        if not handle.is_ours():
            refuse("gemm", "it was made before a fork, by the parent", "use it there")
        return handle

    def close(self) -> None:
        """Ends the use of this kernel. Work already launched goes on."""
        self._handle = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def problem(self) -> str:
        """The text form of the problem."""
        return call_for_text(library().jit_gemm_problem_print, self.facts.problem)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What `run` has to be given, in the epilogue's order."""
        return self.facts.operands

    def workspace_bytes(self) -> int:
        """Bytes of workspace of a launch of the planned size."""
        raise NotImplementedError

    def run(
        self,
        a: Any,
        b: Any,
        out: Any,
        operands: Mapping[str, Any] | None = None,
        *,
        c: Any = None,
        alpha: Any = None,
        beta: Any = None,
        a_scale: Any = None,
        b_scale: Any = None,
        d_scale: Any = None,
        group_sizes: Any = None,
        host_group_sizes: Sequence[int] | None = None,
        group_ns: Any = None,
        group_ks: Any = None,
        lds: Mapping[str, Any] | None = None,
        a_rows: Any = None,
        d_rows: Any = None,
        workspace: Any = None,
        stream: Any = None,
    ) -> None:
        """Launches the kernel: D = epilogue(alpha * A @ B + beta * C, operands) into `out`.

        Arrays: A (M, K), B (K, N), C and `out` (M, N), each with a batch before that if the
        problem has one; of a gated epilogue `out` has N / 2 columns. They must be of the
        problem's types and layouts, and on the context's device; host arrays, all of them or
        none, are copied there and back, and the call waits.
        Nothing is created: under stream capture it is legal after a call that was not, on the
        same stream, or with `workspace`.

        operands: by name, a number or an array each, also those that the epilogue writes.
        alpha, beta: numbers, or f32 arrays of one value; None: 1.
        group_sizes, group_ns, group_ks, a_rows, d_rows: int32 arrays, as in jit_gemm_args.
            With group_by=pointers A, B, C and `out` are int64 arrays of device addresses, one for
            each group, and a dynamic size is the problem's. What they name has to stay alive.
        host_group_sizes: those of `group_sizes` that Python knows; none are read on the device.
        lds: then int64 arrays of leading dimensions, by matrix: a, b, c, out.
        workspace: device memory that is zero before its first launch; None: the context has one
            for each stream.
        stream: a CUstream as an int, or a stream of torch or CuPy; None: the current one of
            whom the arrays belong to.
        """
        launch = assemble(
            self.facts,
            self.context,
            a,
            b,
            out,
            operands,
            c=c,
            alpha=alpha,
            beta=beta,
            a_scale=a_scale,
            b_scale=b_scale,
            d_scale=d_scale,
            group_sizes=group_sizes,
            host_group_sizes=host_group_sizes,
            group_ns=group_ns,
            group_ks=group_ks,
            lds=lds,
            a_rows=a_rows,
            d_rows=d_rows,
            stream=stream,
        )
        self.launch(launch, workspace)

    def launch(self, launch: Launch, workspace: Any) -> None:
        """Runs what was put together."""
        launch.finish(self.call, workspace, self.workspace_bytes())

    def call(self, args: _abi.Args, stream: int) -> None:
        """The library's call, on the kernel's device."""
        handle = self.handle()
        with self.context.current():
            check(self._run(handle.pointer, ctypes.byref(args), stream))


class Gemm(_Launchable):
    """The kernel of a problem, loaded. Never changes; any thread may run it.

    problem: the text form, such as "1024x2048x512 bf16 d=f32 layout=nn epilogue=bias_gelu";
        docs of jit_gemm_problem_parse have all keys.
    epilogue: an `Epilogue`, or the name of one that is registered or the library's own.
    """

    def __init__(
        self,
        context: Context,
        problem: str,
        epilogue: Epilogue | str | None = None,
        *,
        facts: Facts | None = None,
    ) -> None:
        super().__init__(context, facts or facts_of(context, problem, epilogue))
        raw = _abi.Info(struct_size=ctypes.sizeof(_abi.Info))
        check(library().jit_gemm_get_info(self.handle().pointer, ctypes.byref(raw)))
        self.info = Info.of(raw)
        if self.info.is_gated != self.facts.is_gated:
            self.facts = dataclasses.replace(self.facts, is_gated=self.info.is_gated)

    @classmethod
    def create(cls, context: Context, problem: str, epilogue: Epilogue | str | None = None) -> Gemm:
        """Makes a problem runnable: finds the kernel or compiles it, and loads it."""
        return cls(context, problem, epilogue)

    def _create(self, context: Context, struct: _abi.Problem, *more: Any) -> Handle:
        created = ctypes.c_void_p()
        owner = context.handle()
        lib = library()
        self._check(lib.jit_gemm_create(owner.pointer, ctypes.byref(struct), ctypes.byref(created)))
        return Handle(created, lib.jit_gemm_destroy, owner)

    def workspace_bytes(self) -> int:
        return self.info.workspace_bytes


class Family(_Launchable):
    """The kernels that share the sizes of a dynamic dimension, loaded.

    problem: with a dynamic dimension, such as "n=4096 k=4096 a=bf16 dynamic=m".
    sizes: such as "m=1..8192 loss=5%".
    """

    _run_name = "family_run"

    def __init__(
        self,
        context: Context,
        problem: str,
        sizes: str,
        epilogue: Epilogue | str | None = None,
        *,
        facts: Facts | None = None,
    ) -> None:
        span = _parse_sizes(sizes)
        super().__init__(context, facts or facts_of(context, problem, epilogue), span)
        lib = library()
        pointer = self.handle().pointer
        self.bands = _read_bands(
            lambda bands, size, count: lib.jit_gemm_family_get_bands(pointer, bands, size, count)
        )
        infos = []
        for number in range(len(self.bands)):
            raw = _abi.Info(struct_size=ctypes.sizeof(_abi.Info))
            check(lib.jit_gemm_family_get_info(pointer, number, ctypes.byref(raw)))
            infos.append(Info.of(raw))
        self.infos = tuple(infos)

    def _create(self, context: Context, struct: _abi.Problem, *more: Any) -> Handle:
        created = ctypes.c_void_p()
        owner = context.handle()
        lib = library()
        with context.current():
            status = lib.jit_gemm_family_create(
                owner.pointer, ctypes.byref(struct), ctypes.byref(more[0]), ctypes.byref(created)
            )
        self._check(status)
        return Handle(created, lib.jit_gemm_family_destroy, owner)

    def workspace_bytes(self) -> int:
        return max(info.workspace_bytes for info in self.infos)


def _parse_sizes(sizes: str) -> _abi.Range:
    span, parse = _abi.Range(), library().jit_gemm_range_parse_sized
    check(parse(sizes.encode(), ctypes.sizeof(span), ctypes.byref(span)))
    return span


def _read_bands(function: Any) -> tuple[Band, ...]:
    count = ctypes.c_size_t()
    check(function(None, 0, ctypes.byref(count)))
    bands = (_abi.Band * count.value)()
    check(function(bands, count.value, ctypes.byref(count)))
    return tuple(Band.of(band) for band in bands)


def plan_bands(context: Context, problem: str, sizes: str) -> tuple[Band, ...]:
    """The least set of kernels for a range of sizes, by the cost model. Pure."""
    struct, span = parse_problem(problem), _parse_sizes(sizes)
    pointer = context.handle().pointer
    lib = library()
    return _read_bands(
        lambda bands, size, count: lib.jit_gemm_plan_bands(
            pointer, ctypes.byref(struct), ctypes.byref(span), bands, size, count
        )
    )
