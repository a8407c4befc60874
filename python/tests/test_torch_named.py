# SPDX-License-Identifier: MIT
"""Each of the library's own epilogues beside the same computed by PyTorch. Without a GPU they are
smaller."""

import sys
import unittest

from support import CompilerTest, in_turn, main
from torch_support import DEVICE, ON_GPU, WHERE, torch

if torch is not None:
    import jit_gemm
    import jit_gemm.torch as jt
    from torch.nn import functional

M, N, K = (1024, 768, 512) if ON_GPU else (128, 192, 64)
SCALARS = {"low": -2.0, "high": 3.0, "slope": 0.25, "scale": 1.25, "seed": 7.0, "keep": 0.75}


def gelu_tanh(x):
    return functional.gelu(x, approximate="tanh")


def leaky(x, values):
    return torch.where(x > 0, x, values["slope"] * x)


def clamp(x, values):
    return x.clamp(values["low"], values["high"])


def backward(function, x, aux):
    """x times the function's derivative at aux, by autograd."""
    aux = aux.detach().clone().requires_grad_()
    return torch.autograd.grad(function(aux).sum(), aux)[0] * x


def kept(x, values):
    return torch.where(values["is_kept"], x * values["scale"], torch.zeros_like(x))


def make_formulas():
    """Of the product in f64 and the operands: D."""
    activations = {
        "": lambda x, v: x,
        "relu": lambda x, v: functional.relu(x),
        "gelu": lambda x, v: functional.gelu(x),
        "gelu_tanh": lambda x, v: gelu_tanh(x),
        "silu": lambda x, v: functional.silu(x),
        "sigmoid": lambda x, v: torch.sigmoid(x),
        "leaky_relu": leaky,
        "clamp": clamp,
    }
    formulas = {
        "identity": activations[""],
        "bias": lambda x, v: x + v["bias"],
        "scale": lambda x, v: x * v["scale"],
        "quantise": lambda x, v: x * v["scale"],
        "residual": lambda x, v: x + v["residual"],
        "bias_residual": lambda x, v: x + v["bias"] + v["residual"],
        "bias_gradient": activations[""],
        "dropout": kept,
        "bias_dropout_residual": lambda x, v: kept(x + v["bias"], v) + v["residual"],
        "swiglu": lambda x, v: functional.silu(x[:, ::2]) * x[:, 1::2],
        "geglu": lambda x, v: functional.gelu(x[:, ::2]) * x[:, 1::2],
        "geglu_tanh": lambda x, v: gelu_tanh(x[:, ::2]) * x[:, 1::2],
    }
    for name, function in activations.items():
        if name:
            formulas[name] = function
            formulas[f"bias_{name}"] = lambda x, v, f=function: f(x + v["bias"], v)
    for name in ("relu", "gelu", "gelu_tanh"):
        function = activations[name]
        formulas[f"{name}_aux"] = formulas[name]
        formulas[f"bias_{name}_aux"] = formulas[f"bias_{name}"]
        slope = lambda x, v, f=function: backward(lambda y: f(y, v), x, v["aux"])  # noqa: E731
        formulas[f"d{name}"] = formulas[f"d{name}_bias_gradient"] = slope
    del formulas["dgelu_bias_gradient"]  # cuBLASLt has none, neither has the library
    return formulas


@unittest.skipIf(torch is None, "there is no torch")
class NamedEpilogues(CompilerTest):
    @classmethod
    def setUpClass(cls):
        if not ON_GPU:
            super().setUpClass()
        torch.manual_seed(1)
        cls.a = cls.random(M, K)
        cls.b = (cls.random(K, N) / K**0.5).to(torch.bfloat16)
        cls.x = cls.a.double() @ cls.b.double()
        cls.formulas = make_formulas()
        cls.named = jit_gemm.named_epilogues()

    @staticmethod
    def random(*shape):
        return torch.randn(shape, device=DEVICE).to(torch.bfloat16)

    def operands(self, name):
        """Values for a launch, and the same for a formula."""
        values = {}
        for operand, kind, _, role in self.named[name].operands:
            if role == "input":
                values[operand] = (
                    SCALARS[operand]
                    if kind == "scalar"
                    else self.random(N) if kind == "row_vector" else self.random(M, N)
                )
        wide = {k: v.double() if torch.is_tensor(v) else v for k, v in values.items()}
        if "keep" in values:  # which elements, another kernel says
            mask = jt.gemm(
                torch.zeros_like(self.a),
                self.b,
                "d = uniform(seed) < keep ? 1.0f : acc;",
                seed=values["seed"],
                keep=values["keep"],
                **WHERE,
            )
            wide["is_kept"] = mask > 0
        return values, wide

    def compute(self, name, values):
        d = jt.gemm(self.a, self.b, name, **values, **WHERE)
        return d if isinstance(d, tuple) else (d, {})

    def worst(self, d, want, x):
        """The greatest error over what is allowed: half a unit of bf16 or a little more, and what
        curves may lose (docs/epilogues.md) of the value and of what they are multiplied with."""
        rounding = {torch.bfloat16: 2**-8, torch.float32: 2**-16}[d.dtype]
        allowed = (1.01 * rounding + 2.6e-4) * want.abs() + 1.2e-5 * x.abs() + 3e-6
        return ((d.double() - want).abs() / allowed).max().item()

    def test_each_is_torchs(self):
        self.assertLessEqual(
            set(self.named), set(self.formulas), "some have no formula in this test"
        )
        for name in in_turn(sorted(self.named)):
            with self.subTest(name):
                values, wide = self.operands(name)
                d, others = self.compute(name, values)
                want = self.formulas[name](self.x, wide)
                slack = self.x if name.startswith("dgelu") else 0 * self.x[:, : want.shape[1]]
                if name.startswith("geglu"):
                    slack = 0.1 * self.x[:, ::2] * self.x[:, 1::2]
                elif "gelu" in name and not name.startswith("d"):
                    slack = 0.1 * self.x
                shares = {"d": self.worst(d, want, slack)}
                if "aux" in others:
                    bias = wide.get("bias", 0)
                    shares["aux"] = self.worst(others["aux"], self.x + bias, 0 * self.x)
                if "gradient" in others:
                    terms = want.abs().sum(0)
                    errors = (others["gradient"].double() - want.sum(0)).abs()
                    curve = 1e-4 if "gelu" in name else 0
                    shares["gradient"] = (errors / ((curve + 1e-6) * terms)).max().item()
                if "is_kept" in wide:
                    dropped = 1 - wide["is_kept"].double().mean().item()
                    self.assertLess(abs(dropped - 0.25), 0.02)
                text = ", ".join(f"{key} {share:.2f}" for key, share in shares.items())
                print(f"# {name}: {text} of the bound", file=sys.stderr)
                self.assertLess(max(shares.values()), 1)
                written = {o for o, _, _, role in self.named[name].operands if role != "input"}
                self.assertEqual(set(others), written)

    def test_a_neighbours_formula_is_told_apart(self):
        """The bounds are narrow enough for what they are there to see."""
        pairs = (
            ("gelu", "gelu_tanh"),
            ("bias_gelu", "bias_gelu_tanh"),
            ("silu", "gelu"),
            ("relu", "leaky_relu"),
            ("clamp", "identity"),
            ("dgelu", "dgelu_tanh"),
            ("drelu", "dgelu"),
            ("geglu", "geglu_tanh"),
        )
        for name, other in in_turn(pairs):
            with self.subTest(f"{name} by {other}"):
                values, wide = self.operands(name)
                d, _ = self.compute(name, values)
                want = self.formulas[other](self.x, {**SCALARS, **wide})
                slack = self.x if name.startswith("d") else 0.1 * self.x[:, : want.shape[1]]
                self.assertGreater(self.worst(d, want, slack), 1)


if __name__ == "__main__":
    main()
