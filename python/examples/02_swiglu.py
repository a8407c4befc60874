#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A gated layer, silu(gate) * up, and beside it the sums of squares that a norm needs.

Usage: 02_swiglu.py [DEVICE]

One kernel multiplies by gate and up, which are stacked as checkpoints have them, and writes half as
many columns. Needs numpy.
"""

import sys

import numpy

import jit_gemm

device = sys.argv[1] if len(sys.argv) > 1 else "emulator"
rng = numpy.random.default_rng()
rows, hidden, inner = 64, 48, 96
x = rng.uniform(-1, 1, (rows, hidden)).astype(numpy.float16)
gate_and_up = rng.uniform(-1, 1, (2 * inner, hidden)).astype(numpy.float16)

with jit_gemm.Context(device) as context:
    d, more = jit_gemm.gemm(
        x,
        gate_and_up.T,
        "d = silu(acc0) * acc1; squares = d * d;",
        context=context,
        problem="pair=halves",
        squares=jit_gemm.reduction("sum", "column_vector"),
    )
    print(context.device.name, *(kernel.info.config for kernel in context.kernels.values()))

sums = x.astype(float) @ gate_and_up.T.astype(float)
gate, up = sums[:, :inner], sums[:, inner:]
reference = gate / (1 + numpy.exp(-gate)) * up
error = numpy.abs(d - reference).max() / numpy.abs(reference).max()
squares = (reference**2).sum(1)
squares_error = numpy.abs(more["squares"] - squares).max() / squares.max()
print(f"{d.shape}, relative errors {error:.1e} and {squares_error:.1e}")
if error > 1e-3 or squares_error > 1e-3:
    sys.exit("the result is wrong")
