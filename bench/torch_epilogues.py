#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times fused epilogues beside the plain product, and beside the same computed by PyTorch.

Usage: torch_epilogues.py LIBJIT_GEMM.so [--sizes MxNxK,...] [--only NAME,...] [--rounds N] [--out FILE]

Of each epilogue and size: jit_gemm fused, jit_gemm's plain product, torch.matmul alone, and what a
PyTorch user writes. All are captured into graphs of back-to-back launches over several sets of
random inputs, more than L2 holds; the graphs take turns, and the medians over the rounds are
printed. Results are compared with PyTorch in f32 on the first set before anything is timed. N is
the number of B's columns: of a gated epilogue D has half of them. Needs a GPU and PyTorch.
"""
import argparse
import sys

import torch
import torch.nn.functional as F
from c_abi import Library
from torch_common import (capture, count_launches, count_sets, launch, make_matrix, take_turns,
                          write_row)

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}

# name: (snippet, operands as name:kind:dtype[:out], gated, what PyTorch users write: of the product
# and the operands in order)
CASES = {
    "relu": ("d = relu(acc);", [], None, F.relu),
    "gelu": ("d = gelu(acc);", [], None, F.gelu),
    "silu": ("d = silu(acc);", [], None, F.silu),
    "bias": ("d = acc + bias;", ["bias:row_vector:bf16"], None, lambda x, b: x + b),
    "bias_gelu": ("d = gelu(acc + bias);", ["bias:row_vector:bf16"], None,
                  lambda x, b: F.gelu(x + b)),
    "bias_gelu_tanh": ("d = gelu_tanh(acc + bias);", ["bias:row_vector:bf16"], None,
                       lambda x, b: F.gelu(x + b, approximate="tanh")),
    "bias_silu": ("d = silu(acc + bias);", ["bias:row_vector:bf16"], None,
                  lambda x, b: F.silu(x + b)),
    "residual": ("d = acc + r;", ["r:matrix:bf16"], None, lambda x, r: x + r),
    "bias_gelu_residual": ("d = gelu(acc + bias) + r;", ["bias:row_vector:bf16", "r:matrix:bf16"],
                           None, lambda x, b, r: F.gelu(x + b) + r),
    "relu_aux": ("aux = acc; d = relu(acc);", ["aux:matrix:bf16:out"], None, None),
    "swiglu": ("d = silu(acc0) * acc1;", [], "interleaved", lambda x: F.silu(x[:, ::2]) * x[:, 1::2]),
    "swiglu_halves": ("d = silu(acc0) * acc1;", [], "halves",
                      lambda x: F.silu(x[:, :x.shape[1] // 2]) * x[:, x.shape[1] // 2:]),
    "geglu_halves": ("d = gelu(acc0) * acc1;", [], "halves",
                     lambda x: F.gelu(x[:, :x.shape[1] // 2]) * x[:, x.shape[1] // 2:]),
}


def make_operand(text, m, n):
    kind, dtype = text.split(":")[1:3]
    shape = {"row_vector": (n,), "column_vector": (m,), "matrix": (m, n), "scalar": (1,)}[kind]
    return make_matrix(shape, DTYPES[dtype])


def measure(library, name, size, rounds):
    m, n, k = size
    snippet, operands, pair, torch_epilogue = CASES[name]
    library.register("my_" + name, snippet, operands)
    d_columns = n // 2 if pair else n
    words = " pair=halves" if pair == "halves" else ""
    fused = library.create(f"{m}x{n}x{k} bf16{words} epilogue=my_{name}")
    plain = library.create(f"{m}x{n}x{k} bf16")
    sets = count_sets(2 * (m * k + n * k))
    torch.manual_seed(1)
    data = []
    for _ in range(sets):
        a = make_matrix((m, k), torch.bfloat16)
        b = make_matrix((n, k), torch.bfloat16)
        given = [make_operand(text, m, d_columns) for text in operands]
        data.append((a, b, given))
    d = torch.full((m, d_columns), float("nan"), device="cuda", dtype=torch.bfloat16)
    whole = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    # Compare.
    a, b, given = data[0]
    launch(library, fused, given, a=a, b=b, d=d)
    difference = float("nan")
    if torch_epilogue is not None:
        expected = torch_epilogue(a.float() @ b.float().T, *[x.float() for x in given])
        difference = ((d.float() - expected).abs().max() / expected.abs().max()).item()
        if not difference < 0.01:
            sys.exit(f"{name} {m}x{n}x{k}: results differ by {difference}")
        del expected
    count = count_launches(sets)

    def run_plain(i):
        launch(library, plain, a=data[i % sets][0], b=data[i % sets][1], d=whole)

    def run_fused(i):
        launch(library, fused, data[i % sets][2], a=data[i % sets][0], b=data[i % sets][1], d=d)

    def run_matmul(i):
        torch.matmul(data[i % sets][0], data[i % sets][1].T, out=whole)

    def run_torch(i):
        return torch_epilogue(data[i % sets][0] @ data[i % sets][1].T, *data[i % sets][2])

    graphs = {"fused": capture(run_fused, count), "plain": capture(run_plain, count),
              "matmul": capture(run_matmul, count)}
    if torch_epilogue is not None:
        graphs["torch"] = capture(run_torch, count)
    result = take_turns(graphs, count, rounds)
    result.update(name=name, m=m, n=n, k=k, difference=difference)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("path", metavar="LIBRARY")
    parser.add_argument("--sizes", default="4096x4096x4096,4096x14336x4096,64x28672x4096")
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out")
    options = parser.parse_args()
    torch.cuda.init()
    library = Library(options.path)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; us, medians")
    print(f"{'epilogue':20} {'size':>18} {'fused':>9} {'plain':>9} {'matmul':>9} {'torch':>9} "
          f"{'/plain':>7} {'matmul/':>7} {'torch/':>7}")
    for text in options.sizes.split(","):
        size = tuple(int(word) for word in text.split("x"))
        for name in options.only.split(","):
            row = measure(library, name, size, options.rounds)
            composed = row.get("torch", float("nan"))
            print(f"{name:20} {text:>18} {row['fused']:9.2f} {row['plain']:9.2f} {row['matmul']:9.2f} "
                  f"{composed:9.2f} {row['fused'] / row['plain']:7.3f} "
                  f"{row['matmul'] / row['fused']:7.3f} {composed / row['fused']:7.3f}", flush=True)
            if options.out:
                write_row(options.out, row)


if __name__ == "__main__":
    main()
