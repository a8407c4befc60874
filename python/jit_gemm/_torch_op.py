# SPDX-License-Identifier: MIT
"""The operator `jit_gemm::gemm` of torch, and what it gives for fake tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, library

from . import _call
from ._epilogue import Operand, is_gated, named_epilogues
from ._errors import refuse
from ._launch import default_d
from ._operands import Given, Sizes
from ._view import FROM_NAME, NO_ELEMENTS, tf32 as as_tf32

_THEIRS: dict[str, torch.dtype] = {
    ours: getattr(torch, name)
    for name, ours in FROM_NAME.items()
    if hasattr(torch, name) and ours != NO_ELEMENTS
}
_OURS = {theirs: ours for ours, theirs in _THEIRS.items()}
# What each of the library's own epilogues writes besides D, by its name and D's type, as texts:
# torch.compile traces a look into a dict, and no call of the library.
WRITTEN: dict[tuple[str, str], tuple[str, ...]] = {
    (name, d): tuple(str(operand) for operand in own.operands_for(d) if not operand.is_read)
    for name, own in named_epilogues().items()
    for d in _THEIRS
}


def ours(dtype: torch.dtype) -> str:
    if dtype not in _OURS:
        refuse("dtype", f"no kernel takes {dtype}", "one of " + ", ".join(map(str, _OURS)))
    return _OURS[dtype]


def d_type(a: Tensor, dtype: str, tf32: bool) -> str:
    return dtype or default_d("tf32" if tf32 else ours(a.dtype))


def written(epilogue: str, outputs: Sequence[str], d: str) -> Sequence[str]:
    """What the epilogue writes besides D, in the order of the results."""
    return WRITTEN.get((epilogue, d), outputs)


# torch has no lists of texts: names are joined with commas.
_SCHEMA = (
    "(Tensor a, Tensor b, str epilogue, Tensor[] tensors, str forms, float[] numbers, "
    "str number_names, str outputs, str dtype, str problem, str device, bool tf32) -> Tensor[]"
)


def words(text: str) -> list[str]:
    return text.split(",") if text else []


@library.custom_op("jit_gemm::gemm", mutates_args=(), schema=_SCHEMA)
def gemm_op(
    a: Tensor,
    b: Tensor,
    epilogue: str,
    tensors: list[Tensor],
    forms: str,
    numbers: list[float],
    number_names: str,
    outputs: str,
    dtype: str,
    problem: str,
    device: str,
    tf32: bool,
) -> list[Tensor]:
    """The operator: D, then what the epilogue writes besides.

    forms: for each of `tensors` its name, and `:KIND` where that is said. outputs: operands that a
    snippet writes, as `aux:matrix:bf16:out`.
    """
    operands: dict[str, Any] = dict(zip(words(number_names), numbers))
    for form, tensor in zip(words(forms), tensors):
        name, _, kind = form.partition(":")
        operands[name] = Given(tensor.detach(), kind) if kind else tensor.detach()
    d = d_type(a, dtype, tf32)
    besides = written(epilogue, words(outputs), d)
    for operand in map(Operand.parse, besides):
        operands[operand.name] = Given(None, operand.kind, operand.role, operand.dtype)
    first, second = a.detach(), b.detach()
    made = _call.gemm(
        as_tf32(first) if tf32 else first,
        as_tf32(second) if tf32 else second,
        epilogue or None,
        dtype=d,
        problem=problem,
        device=device or None,
        operands=operands,
    )
    if not besides:
        return [made]
    result, more = made
    return [result, *(more[text.partition(":")[0]] for text in besides)]


@gemm_op.register_fake
def _fake(
    a: Tensor,
    b: Tensor,
    epilogue: str,
    tensors: list[Tensor],
    forms: str,
    numbers: list[float],
    number_names: str,
    outputs: str,
    dtype: str,
    problem: str,
    device: str,
    tf32: bool,
) -> list[Tensor]:
    torch._check(a.shape[-1] == b.shape[-2])
    own = named_epilogues().get(epilogue)
    gated = own.is_gated if own else is_gated(epilogue)
    m, n = a.shape[-2], b.shape[-1]
    is_batched = max(a.dim(), b.dim()) == 3
    batch = (a if a.dim() == 3 else b).shape[0] if is_batched else 1
    sizes = Sizes(m, n, n // 2 if gated else n, batch, is_batched)
    d = d_type(a, dtype, tf32)
    results = [a.new_empty(sizes.d_shape(), dtype=_THEIRS[d])]
    for operand in map(Operand.parse, written(epilogue, words(outputs), d)):
        shape = sizes.shape_of(operand.kind)
        results.append(a.new_empty(shape, dtype=_THEIRS[operand.dtype]))
    return results
