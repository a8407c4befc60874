# SPDX-License-Identifier: MIT
"""jit_gemm as an operator of torch: traced by torch.compile, with fake tensors, and with gradients
for the library's own epilogues that have a backward form.

    import jit_gemm.torch
    y = jit_gemm.torch.gemm(x, weight.T, "bias_gelu_tanh", bias=bias)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._errors import refuse
from ._operands import Given
from ._torch_gradients import has_gradient, keeping_form
from ._torch_op import WRITTEN, d_type, gemm_op, ours, written


def gemm(
    a: Tensor,
    b: Tensor,
    epilogue: str | None = None,
    *,
    dtype: torch.dtype | None = None,
    problem: str = "",
    device: str = "",
    tf32: bool = False,
    **operands: Any,
) -> Any:
    """D = epilogue(A @ B, operands), as `jit_gemm.gemm`, traced and differentiated by torch.

    a, b: (M, K) and (K, N), or with a batch before that, of one device.
    epilogue: a snippet, or the name of one of the library's own. Gradients flow through identity,
        bias, residual, bias_residual, scale, dropout, bias_dropout_residual, and relu, gelu and
        gelu_tanh with and without bias_ and _aux; others are refused where one is asked for.
    dtype: D's type; None: A's.
    problem: more words of a problem's text.
    device: "emulator" for tensors in host memory.
    tf32: multiplies float32 as tf32.
    operands: tensors or numbers by name; `jit_gemm.row_vector` and its like where shapes are
        ambiguous; of a snippet also `output` and `reduction`, which are made.

    Returns D; where the epilogue writes more, D and a dict of that.
    """
    name = (epilogue or "").strip()
    tensors, forms, numbers, number_names, outputs = [], [], [], [], []
    d = d_type(a, ours(dtype) if dtype is not None else "", tf32)
    for key, value in operands.items():
        kind = ""
        if isinstance(value, Given):
            if value.role != "input":
                if value.value is not None:
                    refuse(key, "the operator makes what is written", "leave out the tensor")
                outputs.append(f"{key}:{value.kind}:{value.dtype or d}:{value.role}")
                continue
            kind, value = value.kind, value.value
        if isinstance(value, (int, float)):
            numbers.append(float(value))
            number_names.append(key)
        elif isinstance(value, Tensor):
            tensors.append(value)
            forms.append(f"{key}:{kind}" if kind else key)
        else:
            raise TypeError(f"{key}: a tensor or a number, not {type(value).__name__}")
    wants_gradient = torch.is_grad_enabled() and any(
        tensor.requires_grad for tensor in (a, b, *tensors)
    )
    keeps_silently = False
    if wants_gradient:
        if not has_gradient(name or "identity"):
            refuse(
                "epilogue",
                f"'{name}' has no backward form, and a gradient is wanted",
                "take one of those of docs/python.md, or torch.no_grad()",
            )
        for form, tensor in zip(forms, tensors):
            key = form.partition(":")[0]
            if tensor.requires_grad and key not in ("bias", "residual"):
                refuse(key, "its gradient is not made, and it wants one", "give it detached")
        keeping = keeping_form(name)
        keeps_silently, name = keeping != name, keeping
    results = gemm_op(
        a,
        b,
        name,
        tensors,
        ",".join(forms),
        numbers,
        ",".join(number_names),
        ",".join(outputs),
        d,
        problem,
        device,
        tf32,
    )
    besides = written(name, outputs, d)
    if not besides or keeps_silently:
        return results[0]
    return results[0], {text.partition(":")[0]: made for text, made in zip(besides, results[1:])}


class _Mlp(torch.autograd.Function):
    """Two layers whose backward pass takes the fused backward forms."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        x, w1, b1, w2, b2, activation, device = inputs
        h, more = gemm(x, w1.mT, f"bias_{activation}_aux", bias=b1, device=device)
        ctx.save_for_backward(x, w1, w2, h, more["aux"])
        ctx.activation, ctx.device = activation, device
        result: Tensor = gemm(h, w2.mT, "bias", bias=b2, device=device)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, w1, w2, h, aux = ctx.saved_tensors
        grad = grads[0].contiguous()
        # The gradient of the sums of the first layer and, summed up beside it, that of its bias.
        sums, more = gemm(grad, w2, f"d{ctx.activation}_bias_gradient", aux=aux, device=ctx.device)
        w2_grad = gemm(grad.mT, h, device=ctx.device)
        w1_grad = gemm(sums.mT, x, device=ctx.device)
        x_grad = gemm(sums, w1, device=ctx.device) if ctx.needs_input_grad[0] else None
        b1_grad, b2_grad = more["gradient"].to(x.dtype), grad.float().sum(0).to(x.dtype)
        return x_grad, w1_grad, b1_grad, w2_grad, b2_grad, None, None


def mlp(
    x: Tensor,
    w1: Tensor,
    b1: Tensor,
    w2: Tensor,
    b2: Tensor,
    activation: str = "gelu_tanh",
    device: str = "",
) -> Tensor:
    """w2 @ activation(w1 @ x + b1) + b2 for each row of x, weights as torch.nn.Linear has them.

    activation: gelu_tanh or relu. In the backward pass one kernel computes the gradient of the
    first layer's sums, through the activation, and that of its bias (`dgelu_tanh_bias_gradient`,
    `drelu_bias_gradient`).
    """
    if (f"d{activation}_bias_gradient", "f32") not in WRITTEN:
        refuse("activation", f"'{activation}' has no fused backward form", "gelu_tanh or relu")
    rows = x.reshape(-1, x.shape[-1])
    result: Tensor = _Mlp.apply(rows, w1, b1, w2, b2, activation, device)
    return result.reshape(*x.shape[:-1], w2.shape[0])


__all__ = ["gemm", "has_gradient", "mlp"]
