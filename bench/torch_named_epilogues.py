#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares each of the library's own epilogues with the same computed by PyTorch in f32.

Usage: torch_named_epilogues.py LIBJIT_GEMM.so [--size MxNxK] [--device emulator] [--only NAME,...]

D and what else an epilogue writes, in bf16 but for sums; random inputs, whose products PyTorch adds up in f64. Prints a line
for each, and fails if an error exceeds 1 % of the greatest value, or if an epilogue of the library has no
formula here. Needs PyTorch; without a GPU, --device emulator takes tensors in host memory.
"""
import argparse
import os
import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

MOST = 0.01
SCALARS = {"low": -2.0, "high": 3.0, "slope": 0.25, "scale": 1.25, "seed": 7.0, "keep": 0.75}


def tanh(x):
    return F.gelu(x, approximate="tanh")


def slope(x, values):
    return torch.where(x > 0, x, values["slope"] * x)


def backward(function, aux, x):
    """x times the derivative at aux, by autograd."""
    aux = aux.detach().clone().requires_grad_()
    return torch.autograd.grad(function(aux).sum(), aux)[0] * x


def columns(x):
    return {"gradient": x.sum(0)}


def pair(activation):
    return lambda x, v: (activation(x[:, ::2]) * x[:, 1::2], {})


def plain(function):
    return lambda x, v: (function(x), {})


def with_bias(function):
    return lambda x, v: (function(x + v["bias"]), {})


def keeping(function):
    return lambda x, v: (function(x), {"aux": x})


def keeping_bias(function):
    return lambda x, v: (function(x + v["bias"]), {"aux": x + v["bias"]})


def gradient(function):
    return lambda x, v: (backward(function, v["aux"], x), {})


def gradient_and_columns(function):
    def both(x, v):
        d = backward(function, v["aux"], x)
        return d, columns(d)
    return both


# Of the product and the operands: D, and what else is written. Masks of dropout are looked at in `check`.
FORMULAS = {
    "identity": plain(lambda x: x),
    "relu": plain(F.relu),
    "gelu": plain(F.gelu),
    "gelu_tanh": plain(tanh),
    "silu": plain(F.silu),
    "sigmoid": plain(torch.sigmoid),
    "leaky_relu": lambda x, v: (slope(x, v), {}),
    "clamp": lambda x, v: (x.clamp(v["low"], v["high"]), {}),
    "scale": lambda x, v: (x * v["scale"], {}),
    "quantise": lambda x, v: (x * v["scale"], {}),
    "residual": lambda x, v: (x + v["residual"], {}),
    "bias": with_bias(lambda x: x),
    "bias_relu": with_bias(F.relu),
    "bias_gelu": with_bias(F.gelu),
    "bias_gelu_tanh": with_bias(tanh),
    "bias_silu": with_bias(F.silu),
    "bias_sigmoid": with_bias(torch.sigmoid),
    "bias_leaky_relu": lambda x, v: (slope(x + v["bias"], v), {}),
    "bias_clamp": lambda x, v: ((x + v["bias"]).clamp(v["low"], v["high"]), {}),
    "bias_residual": lambda x, v: (x + v["bias"] + v["residual"], {}),
    "relu_aux": keeping(F.relu),
    "gelu_aux": keeping(F.gelu),
    "gelu_tanh_aux": keeping(tanh),
    "bias_relu_aux": keeping_bias(F.relu),
    "bias_gelu_aux": keeping_bias(F.gelu),
    "bias_gelu_tanh_aux": keeping_bias(tanh),
    "drelu": gradient(F.relu),
    "dgelu": gradient(F.gelu),
    "dgelu_tanh": gradient(tanh),
    "drelu_bias_gradient": gradient_and_columns(F.relu),
    "dgelu_tanh_bias_gradient": gradient_and_columns(tanh),
    "bias_gradient": lambda x, v: (x, columns(x)),
    "swiglu": pair(F.silu),
    "geglu": pair(F.gelu),
    "geglu_tanh": pair(tanh),
    "dropout": lambda x, v: (x * v["scale"], {}),
    "bias_dropout_residual": lambda x, v: ((x + v["bias"]) * v["scale"], {}),
}


def make_operands(own, m, n, device):
    values = {}
    for name, kind, _, role in own.operands:
        if role == "input" and kind == "scalar":
            values[name] = SCALARS[name]
        elif role == "input":
            shape = (n,) if kind == "row_vector" else (m, n)
            values[name] = torch.randn(shape, device=device).to(torch.bfloat16)
    return values


def error_of(found, expected):
    return ((found.float() - expected).abs().max() / expected.abs().max()).item()


def check(gemm, own, a, b, x, where):
    """The greatest error of what is written, and the share of elements that a mask drops."""
    values = make_operands(own, x.shape[0], x.shape[1], x.device)
    d = gemm(a, b, own.name, **values, **where)
    d, more = d if isinstance(d, tuple) else (d, {})
    wide = {key: value.float() if torch.is_tensor(value) else value for key, value in values.items()}
    expected, others = FORMULAS[own.name](x, wide)
    dropped = torch.zeros_like(expected, dtype=torch.bool)
    if "keep" in values:  # which elements, the kernel says
        ones = gemm(torch.zeros_like(a), b, "d = uniform(seed) < keep ? 1.0f : acc;",
                    seed=values["seed"], keep=values["keep"], **where)
        dropped = ones == 0
        expected = torch.where(dropped, torch.zeros_like(expected), expected)
        expected = expected + wide.get("residual", torch.zeros_like(expected))
    errors = [error_of(d, expected)] + [error_of(more[name], other) for name, other in others.items()]
    return max(errors), dropped.float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("path", metavar="LIBRARY")
    parser.add_argument("--size", default="1024x768x512")
    parser.add_argument("--device", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.environ["JIT_GEMM_LIBRARY"] = os.path.abspath(options.path)
    import jit_gemm  # finds the library when it is imported
    import jit_gemm.torch

    where = {"device": options.device} if options.device else {}
    device = "cpu" if options.device else "cuda"
    m, n, k = (int(word) for word in options.size.split("x"))
    torch.manual_seed(1)
    a = torch.randn((m, k), device=device).to(torch.bfloat16)
    b = torch.randn((k, n), device=device).to(torch.bfloat16) / k ** 0.5
    x = (a.double() @ b.double()).float()
    wrong = 0
    named = {own.name: own for own in jit_gemm.named_epilogues()}
    for name in options.only.split(",") if options.only else sorted(named):
        if name not in FORMULAS:
            print(f"{name:26} has no formula here")
            wrong += 1
            continue
        error, dropped = check(jit_gemm.torch.gemm, named[name], a, b, x, where)
        is_right = error < MOST and (abs(dropped - 0.25) < 0.02 if "dropout" in name else dropped == 0)
        wrong += not is_right
        print(f"{name:26} {'ok' if is_right else 'WRONG':5} error {error:.2e}"
              + (f", {dropped:.4f} dropped" if dropped else ""), flush=True)
    print(f"# {torch.cuda.get_device_name() if device == 'cuda' else 'emulator'}, torch {torch.__version__}, "
          f"{options.size}: {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
