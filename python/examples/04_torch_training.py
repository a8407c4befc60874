#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains two layers with torch: fused forwards, fused backwards, torch.compile.

Usage: 04_torch_training.py

On a GPU where torch sees one, else on the emulator, which takes a while. Needs torch.
"""

import sys

import torch

import jit_gemm.torch

device = "cuda" if torch.cuda.is_available() else "cpu"
where = "" if device == "cuda" else "emulator"
torch.manual_seed(1)


class Mlp(torch.nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(width, inner)
        self.down = torch.nn.Linear(inner, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        up, down = self.up, self.down
        return jit_gemm.torch.mlp(
            x, up.weight, up.bias, down.weight, down.bias, "gelu_tanh", device=where
        )


model = Mlp(32, 64).to(device, torch.bfloat16)
optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
x = torch.randn(48, 32, device=device, dtype=torch.bfloat16)
target = x.flip(1).sin()
losses = []
for _ in range(8):
    loss = torch.nn.functional.mse_loss(model(x).float(), target.float())
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
print("loss:", ", ".join(f"{loss:.3f}" for loss in losses))


@torch.compile(fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")
def gated(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return jit_gemm.torch.gemm(x, weight.T, "swiglu", device=where) + 1


print("compiled:", tuple(gated(x, torch.randn(80, 32, device=device, dtype=x.dtype)).shape))
if not losses[-1] < losses[0]:
    sys.exit("the loss did not fall")
