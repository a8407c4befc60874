#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a server does before it serves: build its kernels, and then forbid compiling.

Usage: 03_serving.py

Needs neither a GPU nor numpy: arrays are memoryviews, kernels run on the emulator.
"""

import pathlib
import sys
import tempfile

import jit_gemm


def matrix(rows, columns, value):
    """f32, multiplied as tf32."""
    made = memoryview(bytearray(rows * columns * 4)).cast("B").cast("f", (rows, columns))
    for i in range(rows):
        for j in range(columns):
            made[i, j] = value(i, j)
    return jit_gemm.tf32(made)


def serve(context):
    """x times two, plus one where it is above three."""
    x = matrix(16, 8, lambda i, j: i - j)
    twice = matrix(8, 8, lambda i, j: 2.0 * (i == j))
    return jit_gemm.gemm(x, twice, "d = acc > 6.0f ? acc + 1.0f : acc;", context=context)


with tempfile.TemporaryDirectory() as folder:
    cache, manifest = pathlib.Path(folder) / "cache", pathlib.Path(folder) / "manifest.txt"

    # A dry run says what will be asked for; programs may also write a manifest by hand.
    with jit_gemm.Context("emulator", cache_dir=pathlib.Path(folder) / "dry") as context:
        serve(context)
        context.write_manifest(manifest)
        arch = context.arch

    # On a machine that compiles, which needs no GPU. `ptx` is what the emulator takes.
    done = jit_gemm.prewarm(manifest, arch, ptx=True, cache_dir=cache)
    print(f"{done.compiled} of {done.total} compiled")

    # On the machine that serves: what is missing would be an error, and nothing is compiled.
    with jit_gemm.Context("emulator", cache_dir=cache, compile="forbidden") as context:
        d = serve(context)
        print(f"compiles: {context.stats()['compiles']}, d[5, 1] = {d[5, 1]}")
        if d[5, 1] != 9.0 or d[5, 3] != 4.0:
            sys.exit("the result is wrong")
