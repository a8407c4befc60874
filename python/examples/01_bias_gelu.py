#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""D = gelu(A @ B + bias) + r in one kernel, from arrays of numpy.

Usage: 01_bias_gelu.py [DEVICE]

DEVICE: "emulator" (the default: no GPU, on the CPU), "cuda" or "cuda:1". Needs numpy.
"""

import math
import sys

import numpy

import jit_gemm

device = sys.argv[1] if len(sys.argv) > 1 else "emulator"
rng = numpy.random.default_rng()


def random(*shape):
    return rng.uniform(-1, 1, shape).astype(numpy.float16)


# Weights as layers store them, N x K: their transpose is a view, and nothing is copied.
x, weight, bias, r = random(96, 64), random(80, 64), random(80), random(96, 80)

# Kinds come from shapes: 80 values for 80 columns are a row vector, 96 x 80 are a matrix.
d = jit_gemm.gemm(x, weight.T, "d = gelu(acc + bias) + r;", device=device, bias=bias, r=r)

sums = x.astype(float) @ weight.T.astype(float) + bias
reference = 0.5 * sums * (1 + numpy.vectorize(math.erf)(sums / math.sqrt(2))) + r
error = numpy.abs(d - reference).max() / numpy.abs(reference).max()
print(f"{d.shape} {d.dtype}, relative error {error:.1e}")

# Mistakes come back at your line and column.
try:
    jit_gemm.gemm(x, weight.T, "d = gelo(acc + bias);", device=device, bias=bias)
except jit_gemm.CompileError as mistake:
    print(mistake)

if error > 1e-3:
    sys.exit("the result is wrong")
