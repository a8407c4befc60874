# SPDX-License-Identifier: MIT
"""Gradients of the operator, for the library's own epilogues that have a backward form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._torch_op import WRITTEN, gemm_op, ours, words

# Epilogues whose derivative needs the sums: the form that keeps them, and how torch calls it.
_ACTIVATIONS = {"relu": "relu", "gelu": "none", "gelu_tanh": "tanh"}
_LINEAR = ("identity", "bias", "residual", "bias_residual", "scale")
_DROPOUTS = ("dropout", "bias_dropout_residual")
# A gradient through dropout: the same numbers again, of the product's seed, row and column. The
# product beside it has one element of K that is zero.
_UNDROP = "d = uniform(seed) < keep ? grad * scale : 0.0f * acc;"


def _split(epilogue: str) -> tuple[bool, str, bool]:
    """Has it a bias, its activation or what it is, and does it keep the sums?"""
    has_bias = epilogue.startswith("bias")
    rest = epilogue.removeprefix("bias").removeprefix("_") or "identity"
    keeps = rest.endswith("_aux")
    return has_bias, rest.removesuffix("_aux"), keeps


def has_gradient(epilogue: str) -> bool:
    """Does an epilogue of this name have a backward form here?"""
    if epilogue in _LINEAR or epilogue in _DROPOUTS:
        return True
    _, rest, _ = _split(epilogue)
    return (epilogue, "f32") in WRITTEN and rest in _ACTIVATIONS


def keeping_form(epilogue: str) -> str:
    """The form of an epilogue that keeps the sums, where its derivative needs them."""
    _, name, keeps = _split(epilogue)
    return epilogue + "_aux" if name in _ACTIVATIONS and not keeps else epilogue


def _setup(ctx: Any, inputs: Any, output: list[Tensor]) -> None:
    a, b, epilogue, tensors, forms, numbers, number_names = inputs[:7]
    ctx.epilogue, ctx.forms = epilogue, words(forms)
    ctx.numbers = dict(zip(words(number_names), numbers))
    ctx.settings = inputs[9:]
    keeps = _split(epilogue)[2]
    ctx.save_for_backward(a, b, *tensors, *(output[1:2] if keeps else []))


def _product(a: Tensor, b: Tensor, dtype: torch.dtype, settings: Any) -> Tensor:
    _, device, tf32 = settings
    made: list[Tensor] = torch.ops.jit_gemm.gemm(
        a, b, "", [], "", [], "", "", ours(dtype), "", device, tf32
    )
    return made[0]


def _backward(ctx: Any, grads: list[Tensor | None]) -> Any:
    if not has_gradient(ctx.epilogue or "identity"):
        raise RuntimeError(
            f"jit_gemm: the epilogue '{ctx.epilogue}' has no backward form here; those that have "
            "one are in docs/python.md"
        )
    a, b, *rest = ctx.saved_tensors
    has_bias, name, keeps = _split(ctx.epilogue)
    tensors = rest[: len(ctx.forms)]
    # Of the arguments behind: for torch an empty list of numbers is one of tensors.
    no_more: tuple[Any, ...] = (None, None if ctx.numbers else [], *(None,) * 6)
    d_grad = grads[0]
    pre = d_grad
    if keeps and d_grad is not None:
        aux = rest[-1]
        if name == "relu":
            pre = torch.where(aux > 0, d_grad, torch.zeros_like(d_grad))
        else:
            approximate = _ACTIVATIONS[name]
            pre = torch.ops.aten.gelu_backward(d_grad, aux, approximate=approximate)
    if keeps and grads[1] is not None:
        pre = grads[1] if pre is None else pre + grads[1]
    if name == "scale" and pre is not None:
        pre = pre * dict(ctx.numbers, **_named(ctx, tensors))["scale"]
    if ctx.epilogue in _DROPOUTS and pre is not None:
        pre = _undrop(ctx, pre, tensors)
    if pre is None:
        return (None, None, None, [None] * len(tensors), *no_more)
    # What is multiplied has the inputs' type; gradients may be one value that is expanded.
    sums = pre.to(a.dtype).contiguous()
    needs = ctx.needs_input_grad
    a_grad = _input_grad(sums, b.mT, a, ctx.settings) if needs[0] else None
    b_grad = _weight_grad(a, sums, b, ctx.settings) if needs[1] else None
    others: list[Tensor | None] = []
    for form, tensor in zip(ctx.forms, tensors):
        operand = form.partition(":")[0]
        if operand == "bias":
            others.append(_reduced(pre.float(), tensor))
        elif operand == "residual":
            others.append(_reduced(d_grad, tensor) if d_grad is not None else None)
        else:
            others.append(None)
    return (a_grad, b_grad, None, others, *no_more)


def _named(ctx: Any, tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    return {form.partition(":")[0]: tensor for form, tensor in zip(ctx.forms, tensors)}


def _undrop(ctx: Any, grad: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """The gradient of what dropout was given."""
    _, device, _ = ctx.settings
    grad = grad.contiguous()
    zeros = [grad.new_zeros(shape) for shape in ((*grad.shape[:-1], 8), (8, grad.shape[-1]))]
    named = _named(ctx, tensors)
    forms, given = ["grad:matrix"], [grad]
    for name in ("seed", "keep", "scale"):
        if name in named:
            forms.append(f"{name}:scalar")
            given.append(named[name])
    names = [name for name in ("seed", "keep", "scale") if name in ctx.numbers]
    made: list[Tensor] = torch.ops.jit_gemm.gemm(
        *zeros,
        _UNDROP,
        given,
        ",".join(forms),
        [ctx.numbers[name] for name in names],
        ",".join(names),
        "",
        ours(grad.dtype),
        "",
        device,
        False,
    )
    return made[0]


def _reduced(grad: Tensor, like: Tensor) -> Tensor:
    """Summed over what was broadcast, to the shape and type of an operand."""
    if grad.dim() > like.dim() and like.dim() == 1:
        grad = grad.flatten(0, -2).sum(0)
    return grad.sum_to_size(like.shape).to(like.dtype)


def _input_grad(sums: Tensor, b_transposed: Tensor, a: Tensor, settings: Any) -> Tensor:
    made = _product(sums, b_transposed, a.dtype, settings)
    return made.sum_to_size(a.shape) if made.shape != a.shape else made


def _weight_grad(a: Tensor, sums: Tensor, b: Tensor, settings: Any) -> Tensor:
    if b.dim() == 2 and sums.dim() == 3:
        rows = a.expand(sums.shape[0], *a.shape[-2:]).reshape(-1, a.shape[-1])
        return _product(rows.mT, sums.reshape(-1, sums.shape[-1]), b.dtype, settings)
    made = _product(a.mT, sums, b.dtype, settings)
    return made.sum_to_size(b.shape) if made.shape != b.shape else made


gemm_op.register_autograd(_backward, setup_context=_setup)
