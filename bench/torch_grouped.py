#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products with groups (mixtures of experts) beside PyTorch's grouped product and our own dense one.

Usage: torch_grouped.py LIBJIT_GEMM.so [--forms offsets,k_offsets] [--shapes NAME,...] [--rows N,...]
       [--spread uniform,zipf] [--config TEXT] [--rounds N] [--out FILE]

Of each shape (groups x N x K), rows a group on average, and spread of them: jit_gemm with
group_by=offsets, torch._grouped_mm, and jit_gemm's dense product of as many rows and one B, which
has the same work and reads less; with k_offsets the gradients of the weights (groups x N x K, sums
over rows), and the dense one writes less. bf16. All are captured into graphs of back-to-back
launches over several sets of random inputs, more than L2 holds; the graphs take turns, and the
medians over the rounds are printed. Results are compared with PyTorch in f32 before anything is timed. Needs a GPU
and PyTorch.
"""
import argparse
import itertools
import sys

import torch
from c_abi import Library
from torch_common import (capture, count_launches, count_sets, launch, make_matrix, take_turns,
                          write_row)

# groups, N, K
SHAPES = {
    "deepseek_up": (256, 4096, 7168),
    "deepseek_down": (256, 7168, 2048),
    "mixtral_up": (8, 28672, 4096),
    "mixtral_down": (8, 4096, 14336),
    "qwen_up": (128, 1536, 4096),
    "qwen_down": (128, 2048, 768),
}


def draw_sizes(groups, rows, spread):
    """Rows of each group, `rows` on average."""
    if spread == "uniform":
        return [rows] * groups
    weights = [1 / (i + 1) for i in range(groups)]
    total = rows * groups
    sizes = [int(total * weight / sum(weights)) for weight in weights]
    sizes[0] += total - sum(sizes)
    order = torch.randperm(groups, generator=torch.Generator().manual_seed(1)).tolist()
    return [sizes[i] for i in order]


def parts(sizes):
    """(group, first row, row behind the last) of those that are not empty."""
    begin = 0
    for group, size in enumerate(sizes):
        if size > 0:
            yield group, begin, begin + size
        begin += size


def expect_near(expected, got, name):
    difference = (got.float() - expected).abs().max() / expected.abs().max()
    if not difference < 0.01:
        sys.exit(f"{name} differs by {difference.item()}")


class Rows:
    """D[rows of a group] = A[rows] * B[group]: the way forward."""

    def __init__(self, library, shape, sizes, config):
        groups, n, k = shape
        self.m = sum(sizes)
        self.sizes, self.shape, self.gemms = sizes, shape, library
        self.grouped = library.create(f"m={self.m} n={n} k={k} a=bf16 groups={groups} "
                                      f"group_by=offsets{config}")
        self.dense = library.create(f"m={self.m} n={n} k={k} a=bf16")
        self.inputs = 2 * (self.m * k + groups * n * k)
        self.d = torch.full((self.m, n), float("nan"), device="cuda", dtype=torch.bfloat16)

    def make(self):
        groups, n, k = self.shape
        return (make_matrix((self.m, k), torch.bfloat16),
                torch.cat([make_matrix((1, n, k), torch.bfloat16) for _ in range(groups)]))

    def check(self, a, b, name):
        for group, begin, end in parts(self.sizes):
            expect_near(a[begin:end].float() @ b[group].float().T, self.d[begin:end],
                        f"{name}: group {group}")

    def run_dense(self, a, b):
        launch(self.gemms, self.dense, a=a, b=b[0], d=self.d)

    @staticmethod
    def run_torch(a, b, offsets):
        torch._grouped_mm(a, b.transpose(1, 2), offs=offsets)


class Depths:
    """D[group] = A[rows of the group]^T * B[rows]: the gradient of the weights."""

    def __init__(self, library, shape, sizes, config):
        groups, n, k = shape
        self.rows = sum(sizes)
        self.sizes, self.shape, self.gemms = sizes, shape, library
        problem = f"m={n} n={k} k={self.rows} a=bf16 layout=tn"
        self.grouped = library.create(f"{problem} groups={groups} group_by=k_offsets{config}")
        self.dense = library.create(problem)
        self.inputs = 2 * self.rows * (n + k)
        self.d = torch.full((groups, n, k), float("nan"), device="cuda", dtype=torch.bfloat16)

    def make(self):
        _, n, k = self.shape
        return (make_matrix((self.rows, n), torch.bfloat16),
                make_matrix((self.rows, k), torch.bfloat16))

    def check(self, a, b, name):
        for group, begin, end in parts(self.sizes):
            expect_near(a[begin:end].float().T @ b[begin:end].float(), self.d[group],
                        f"{name}: group {group}")

    def run_dense(self, a, b):
        launch(self.gemms, self.dense, a=a, b=b, d=self.d)

    @staticmethod
    def run_torch(a, b, offsets):
        torch._grouped_mm(a.T, b, offs=offsets)


FORMS = {"offsets": Rows, "k_offsets": Depths}


def measure(library, form, name, rows, spread, config, rounds):
    groups, n, k = SHAPES[name]
    sizes = draw_sizes(groups, rows, spread)
    case = FORMS[form](library, SHAPES[name], sizes, f" config={config}" if config else "")
    sets = min(count_sets(case.inputs), 3)
    torch.manual_seed(1)
    offsets = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
    data = [case.make() for _ in range(sets)]

    def ours(i):
        a, b = data[i % sets]
        launch(library, case.grouped, a=a, b=b, d=case.d, group_sizes=offsets)

    ours(0)
    case.check(*data[0], f"{name} {rows} {spread}")
    count = count_launches(sets)
    graphs = {"grouped": capture(ours, count),
              "dense": capture(lambda i: case.run_dense(*data[i % sets]), count)}
    try:
        case.run_torch(*data[0], offsets)
        graphs["torch"] = capture(lambda i: case.run_torch(*data[i % sets], offsets), count)
    except RuntimeError as error:  # it asks more of sizes
        print(f"torch: {str(error).splitlines()[0]}")
    times = {"torch": float("nan"), **take_turns(graphs, count, rounds)}
    flops = 2 * sum(sizes) * n * k
    weights = sum(size > 0 for size in sizes) * n * k * 2
    return {"form": form, "shape": name, "groups": groups, "n": n, "k": k, "rows": rows,
            "spread": spread, "config": config, "us": times,
            "tflops": flops / times["grouped"] * 1e-6,
            "weights_tb_s": weights / times["grouped"] * 1e-6,
            "over_torch": times["torch"] / times["grouped"],
            "of_dense": times["dense"] / times["grouped"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("jit_gemm", metavar="LIBJIT_GEMM.so")
    parser.add_argument("--forms", default="offsets")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--rows", default="8,512")
    parser.add_argument("--spread", default="uniform,zipf")
    parser.add_argument("--config", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    options = parser.parse_args()
    library = Library(options.jit_gemm)
    cases = itertools.product(options.forms.split(","), options.shapes.split(","),
                              map(int, options.rows.split(",")), options.spread.split(","))
    for form, name, rows, spread in cases:
        row = measure(library, form, name, rows, spread, options.config, options.rounds)
        print(f"{form} {name} {rows} rows {spread}: {row['us']['grouped']:.1f} us, "
              f"{row['tflops']:.0f} TFLOP/s, weights {row['weights_tb_s']:.2f} TB/s, "
              f"torch {row['us']['torch']:.1f} ({row['over_torch']:.2f}), dense "
              f"{row['us']['dense']:.1f} ({row['of_dense']:.2f})", flush=True)
        if options.out:
            write_row(options.out, row)
        torch.cuda.empty_cache()


main()
