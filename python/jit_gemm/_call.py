# SPDX-License-Identifier: MIT
"""`gemm`: from arrays to a problem, its kernel, and a launch."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any

from ._context import Context, default_context
from ._derive import Derivation
from ._device_array import DeviceArray
from ._epilogue import Epilogue
from ._errors import refuse
from ._gemm import Family, Gemm, assemble, facts_of
from ._operands import Given, to_number
from ._recorded import FIXED_COUNT, Recorded, signature
from ._stream import current, handle_of
from ._view import HOST, View, look_at


def gemm(
    a: Any,
    b: Any,
    epilogue: str | Epilogue | None = None,
    *,
    out: Any = None,
    dtype: str | None = None,
    c: Any = None,
    alpha: Any = None,
    beta: Any = None,
    a_scale: Any = None,
    b_scale: Any = None,
    d_scale: Any = None,
    device: int | str | None = None,
    context: Context | None = None,
    problem: str = "",
    sizes: str | None = None,
    workspace: Any = None,
    stream: Any = None,
    operands: Mapping[str, Any] | None = None,
    **named: Any,
) -> Any:
    """D = epilogue(alpha * A @ B + beta * C, operands), in one kernel.

    The kernel of such arrays is compiled at the first call, or found in the disk cache, and kept
    by the context: a later call with arrays of the same shapes, strides, types and alignments
    creates nothing.

    a, b: (M, K) and (K, N), or with a batch before that. Any array with DLPack or the buffer
        protocol; layouts come from strides, and nothing is transposed or copied. f32 is multiplied
        as tf32, and only where that is said: `tf32(a)`.
    epilogue: a snippet such as "d = gelu(acc + bias) + r;", the name of one of the library's own
        such as "bias_gelu", or an `Epilogue`.
    out: where D goes; None: a new array, row-major, of `dtype`, beside `a`.
    dtype: D's type, such as "f32"; None: that of `out`, or of A (of tf32 f32, of s8 s32).
    c, alpha, beta: as in the formula; numbers, or f32 arrays of one value on the device.
    a_scale, b_scale: f32 arrays: one value, one for each row of A or column of B, or for each
        128 of K as well: (M, K / 128) or (M / 128, K / 128) of A, the transpose of such of B, in
        either order of strides. Flat arrays of ue8m0 are scales of MX, and beside e2m1 those of
        e4m3 of NVFP4, swizzled (128x4). Others as `problem` says.
    d_scale: where scales of D's blocks go, which the kernel computes: an array as for A.
    device: where host arrays are multiplied: "emulator", "cuda" or an ordinal. They are copied
        there and back. Arrays on a device are multiplied where they lie.
    context: whose settings, cache and kernels are used; None: `default_context(device)`.
    problem: more words of a problem's text, such as "pair=halves workspace=64m config=...".
    sizes: such as "m=1..8192": kernels for that range instead of one for each M.
    workspace, stream: see `Gemm.run`.
    operands, **named: by name, numbers or arrays. Their kinds come from shapes: one value, (N,)
        for each column of D, (M,) or (M, 1) for each row, (M, N). Where that is ambiguous, and
        for what the epilogue writes: `row_vector`, `column_vector`, `output`, `reduction`.

    Returns D; where the epilogue writes more, D and a dict of that.
    """
    given = {**(operands or {}), **named}
    fixed = (a, b, c, alpha, beta, a_scale, b_scale, d_scale, out)
    if stream is None:
        settled, is_current = current([a, b, out, *given.values()])
    else:
        settled, is_current = handle_of(stream), False
    values = [_resolve(field, value, settled, is_current) for field, value in zip(_FIXED, fixed)]
    for field, first in (("a", values[0]), ("b", values[1])):
        if first is None:
            raise TypeError(f"{field}: None is no array")
    forms = []
    for field, value in given.items():
        form = None
        if isinstance(value, Given):
            form, value = (value.kind, value.role, value.dtype), value.value
        forms.append((field, form))
        values.append(_resolve(field, value, settled, is_current))
    context = _pick_context(context, device, a, values[0])
    key = (epilogue, dtype, problem, sizes, tuple(forms), tuple(map(signature, values)))
    try:
        recorded = context.recorded.get(key) if workspace is None else None
    except TypeError:  # one of them has no hash
        _check_words(epilogue, dtype, problem, sizes)
        raise
    if recorded is not None and recorded.run(context, values, settled, is_current):
        return recorded.results(values)
    made, record = _run(
        values,
        forms,
        epilogue,
        dtype,
        context,
        problem,
        sizes,
        workspace,
        settled if stream is not None or values[0].device != HOST else None,
        lambda field, array: look_at(field, array, settled, is_current),
    )
    if record is not None and workspace is None:
        if len(context.recorded) >= _MOST_RECORDED:
            context.recorded.clear()
        context.recorded[key] = record
    return made


_MOST_RECORDED = 4096
_FIXED = ("a", "b", "c", "alpha", "beta", "a_scale", "b_scale", "d_scale", "out")
assert len(_FIXED) == FIXED_COUNT


def _resolve(field: str, value: Any, stream: int, is_current: bool) -> Any:
    """A number, a view, or None."""
    if value is None:
        return None
    if isinstance(value, (float, int, numbers.Real)) and field not in ("a", "b", "c", "out"):
        if field in ("a_scale", "b_scale", "d_scale"):
            refuse(field, "it is a number", "multiply alpha by it, or give an f32 array of it")
        return to_number(field, value)
    return look_at(field, value, stream, is_current)


def _check_words(epilogue: Any, dtype: Any, problem: Any, sizes: Any) -> None:
    """Are those texts that are looked up or searched?"""
    if epilogue is not None and not isinstance(epilogue, (str, Epilogue)):
        kind = type(epilogue).__name__
        raise TypeError(f"epilogue: a snippet, a name or an Epilogue, not {kind}")
    if not isinstance(problem, str):
        raise TypeError(f"problem: words such as 'pair=halves', not {type(problem).__name__}")
    if sizes is not None and not isinstance(sizes, str):
        raise TypeError(f"sizes: a text such as 'm=1..8192', not {type(sizes).__name__}")
    if dtype is not None and not isinstance(dtype, str):
        raise TypeError(f"dtype: a name such as 'f32', not {type(dtype).__name__} {dtype}")


def _run(
    values: list[Any],
    forms: list[Any],
    epilogue: str | Epilogue | None,
    dtype: str | None,
    context: Context,
    problem: str,
    sizes: str | None,
    workspace: Any,
    stream: int | None,
    look: Callable[[str, Any], View],
) -> tuple[Any, Recorded | None]:
    """Derives the problem, finds or makes its kernel and launches it. The record is for others."""
    _check_words(epilogue, dtype, problem, sizes)
    a, b, c, alpha, beta, a_scale, b_scale, d_scale, out = values[:FIXED_COUNT]
    given = {
        name: value if form is None else Given(value, *form)
        for (name, form), value in zip(forms, values[FIXED_COUNT:])
    }
    call = Derivation(a, b, c, dtype, look)
    call.has_d_scale = d_scale is not None
    d = call.read_d(out, epilogue, context)
    if dtype is not None and dtype != d:
        refuse("dtype", f"it is {dtype}, and out is {d}")
    used, results = call.read_operands(epilogue, given, d, context)
    scales = {"a_scale": a_scale, "b_scale": b_scale, "d_scale": d_scale}
    text = call.problem_text(scales, problem, sizes)
    made = call.out.source
    if results:
        made = (made, {name: view.source for name, view in results.items()})
    if call.is_empty():
        if results:
            refuse(
                "a",
                f"with shapes {a.shape} and {b.shape} nothing runs that would write "
                + ", ".join(results),
            )
        return made, None
    key = (text, call.epilogue_name, sizes)
    kernel = context.kernels.get(key)
    name = call.declared if call.declared is not None else call.epilogue_name or None
    facts = kernel.facts if kernel else facts_of(context, text, name)
    # All is checked before anything is compiled.
    launch = assemble(
        facts,
        context,
        a,
        b,
        call.out,
        used,
        c=c,
        alpha=alpha,
        beta=beta,
        **scales,
        stream=stream,
    )
    if kernel is None:
        new = (
            Family(context, text, sizes, name, facts=facts)
            if sizes
            else Gemm(context, text, name, facts=facts)
        )
        kernel = context.kernels.setdefault(key, new)
    kernel.launch(launch, workspace)
    if launch.is_host:  # staged anew each time
        return made, None
    names = [*_FIXED, *(name for name, _ in forms)]
    return made, Recorded(kernel, launch, names, values, call.out, results)


def _pick_context(context: Context | None, device: int | str | None, a: Any, view: View) -> Context:
    if context is not None:
        if device is not None:
            refuse("device", "a context is given as well, and has one", "leave out one of them")
        return context
    if isinstance(a, DeviceArray):
        return a.context
    if device is not None:
        return default_context(device)
    if view.device == HOST:
        refuse(
            "device",
            "a lies in host memory, and nothing says where to multiply it",
            'give device="emulator" (on the CPU, slowly), device="cuda", or arrays on a GPU',
        )
    return default_context(view.device)
