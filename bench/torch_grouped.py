#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products with groups (mixtures of experts) beside PyTorch's grouped product and our own dense one.

Usage: torch_grouped.py LIBJIT_GEMM.so [--shapes NAME,...] [--rows N,...] [--spread uniform,zipf]
       [--config TEXT] [--rounds N] [--out FILE]

Of each shape (groups x N x K), rows a group on average, and spread of them: jit_gemm with
group_by=offsets, torch._grouped_mm, and jit_gemm's dense product of as many rows and one B, which
has the same work and reads less. bf16. All are captured into graphs of back-to-back launches over
several sets of random inputs, more than L2 holds; the graphs take turns, and the medians over the
rounds are printed. Results are compared with PyTorch in f32 before anything is timed. Needs a GPU
and PyTorch.
"""
import argparse
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


def expect_near(a, b, d, sizes, name):
    begin = 0
    for group, size in enumerate(sizes):
        expected = a[begin:begin + size].float() @ b[group].float().T
        if size > 0:
            difference = (d[begin:begin + size].float() - expected).abs().max() / expected.abs().max()
            if not difference < 0.01:
                sys.exit(f"{name}: group {group} differs by {difference.item()}")
        begin += size


def measure(library, name, rows, spread, config, rounds):
    groups, n, k = SHAPES[name]
    sizes = draw_sizes(groups, rows, spread)
    m = sum(sizes)
    words = f" config={config}" if config else ""
    grouped = library.create(f"m={m} n={n} k={k} a=bf16 groups={groups} group_by=offsets{words}")
    dense = library.create(f"m={m} n={n} k={k} a=bf16")
    sets = min(count_sets(2 * (m * k + groups * n * k)), 3)
    torch.manual_seed(1)
    offsets = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
    data = [(make_matrix((m, k), torch.bfloat16),
             torch.cat([make_matrix((1, n, k), torch.bfloat16) for _ in range(groups)]))
            for _ in range(sets)]
    d = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    a, b = data[0]
    launch(library, grouped, a=a, b=b, d=d, group_sizes=offsets)
    expect_near(a, b, d, sizes, f"{name} {rows} {spread}")
    count = count_launches(sets)

    def ours(i):
        launch(library, grouped, a=data[i % sets][0], b=data[i % sets][1], d=d, group_sizes=offsets)

    def ours_dense(i):
        launch(library, dense, a=data[i % sets][0], b=data[i % sets][1][0], d=d)

    def theirs(i):
        torch._grouped_mm(data[i % sets][0], data[i % sets][1].transpose(1, 2), offs=offsets)

    graphs = {"grouped": capture(ours, count), "dense": capture(ours_dense, count),
              "torch": capture(theirs, count)}
    times = take_turns(graphs, count, rounds)
    flops = 2 * m * n * k
    weights = sum(size > 0 for size in sizes) * n * k * 2
    return {"shape": name, "groups": groups, "n": n, "k": k, "rows": rows, "spread": spread,
            "config": config, "us": times, "tflops": flops / times["grouped"] * 1e-6,
            "weights_tb_s": weights / times["grouped"] * 1e-6,
            "over_torch": times["torch"] / times["grouped"],
            "of_dense": times["dense"] / times["grouped"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--rows", default="8,512")
    parser.add_argument("--spread", default="uniform,zipf")
    parser.add_argument("--config", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out")
    options = parser.parse_args()
    library = Library(options.library)
    for name in options.shapes.split(","):
        for rows in map(int, options.rows.split(",")):
            for spread in options.spread.split(","):
                row = measure(library, name, rows, spread, options.config, options.rounds)
                print(f"{name} {rows} rows {spread}: {row['us']['grouped']:.1f} us, "
                      f"{row['tflops']:.0f} TFLOP/s, weights {row['weights_tb_s']:.2f} TB/s, "
                      f"torch {row['us']['torch']:.1f} ({row['over_torch']:.2f}), dense "
                      f"{row['us']['dense']:.1f} ({row['of_dense']:.2f})", flush=True)
                if options.out:
                    write_row(options.out, row)
                torch.cuda.empty_cache()


main()
