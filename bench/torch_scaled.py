#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products of e4m3 with scales of blocks, beside one scale a tensor, and beside PyTorch.

Usage: torch_scaled.py LIBJIT_GEMM.so [--shapes MxNxK,...] [--scales A,B] [--config CONFIG]... [--rounds N]
       [--out FILE]

--scales are the blocks of A and of B: 1x128 or 128x128, 1x128,128x128 if nothing is said. D is of
bf16. Of each shape, in turns: jit_gemm with blocks, the scales of 1x128 in layout column and those
of 128x128 in layout row, as torch._scaled_mm takes them; jit_gemm with all in layout row; jit_gemm
with a scale of each tensor; torch._scaled_mm with the same blocks, and with a scale of each tensor; and
jit_gemm with blocks in each CONFIG, as config1 and so on.
Launches are captured into graphs over several sets of random inputs, more than L2 holds; medians
over the rounds. D is compared with PyTorch's product of the scaled matrices in f32 before anything
is timed: the norm of the difference over the norm of the product (`error`), and the largest
difference over the largest value (`worst`). Where torch._scaled_mm has no such kernel, or a wrong
result, a line that begins with # says why.

tensor/, rows/ and torch/ are times over that of jit_gemm with blocks: above 1, blocks are faster.
ttensor/ is PyTorch's time over jit_gemm's, both with a scale of each tensor. Needs a GPU with 8-bit
floats and PyTorch.
"""
import argparse
import sys

import torch
from c_abi import Library
from torch_common import (capture, count_launches, count_sets, launch, make_matrix, take_turns,
                          write_row)

BLOCK = 128
SHAPES = "4096x7168x2048,4096x4096x7168,8192x8192x8192,64x4096x7168,4096x4096x4096"
LIMIT = 0.01  # of an error: bf16 and the order of sums make 0.002
OURS = ("blocks", "rows", "tensor")
NAMES = (*OURS, "torch", "ttensor")


def divide_up(size, block):
    return -(-size // block)


def make_scales(rows, k, block_rows):
    """Positive, from 2^-6 to 1: one for each block of a matrix of rows x k."""
    shape = (divide_up(rows, block_rows), divide_up(k, BLOCK))
    return torch.exp2(torch.rand(shape, device="cuda").mul_(-6))


def lay_out(scales, by_columns):
    """The memory of scales, row by row or, rounded up to 4, column by column."""
    if not by_columns:
        return scales.contiguous()
    rows, blocks = scales.shape
    memory = torch.zeros((blocks, divide_up(rows, 4) * 4), device=scales.device)
    memory[:, :rows] = scales.T
    return memory


def spread(scales, block_rows, rows, k):
    """The scale of each element."""
    return scales.repeat_interleave(block_rows, 0)[:rows].repeat_interleave(BLOCK, 1)[:, :k]


class Matrix:
    """A, or B as its columns, of rows x k, with scales of both kinds."""

    def __init__(self, rows, k, block_rows):
        self.block_rows = block_rows
        self.values = make_matrix((rows, k), torch.float8_e4m3fn)
        self.scales = make_scales(rows, k, block_rows)
        self.best = lay_out(self.scales, block_rows == 1)
        self.by_rows = lay_out(self.scales, False)
        self.tensor = torch.rand((1,), device="cuda").add_(1).mul_(0.5)

    def torch_scales(self):
        """As torch._scaled_mm takes those of A, and those of B after .t()."""
        rows = self.values.shape[0]
        return self.best[:, :rows].T if self.block_rows == 1 else self.best

    def scaled(self, has_blocks):
        factor = spread(self.scales, self.block_rows, *self.values.shape) if has_blocks else self.tensor
        return self.values.float() * factor


def multiply_in_torch(a, b, d, has_blocks):
    a_scales = a.torch_scales() if has_blocks else a.tensor
    b_scales = b.torch_scales().t() if has_blocks else b.tensor
    torch._scaled_mm(a.values, b.values.t(), scale_a=a_scales, scale_b=b_scales,
                     out_dtype=torch.bfloat16, out=d)


def compare(d, expected):
    """The error and the worst difference; ValueError if the error is no rounding."""
    difference = d.float() - expected
    error = (difference.norm() / expected.norm()).item()
    worst = (difference.abs().max() / expected.abs().max()).item()
    if not error < LIMIT:
        raise ValueError(f"D differs, error {error:.3g}, worst {worst:.3g}")
    return error, worst


def prepare(library, size, blocks, configs):
    """What launches a kernel on matrices A and B, by name."""
    text = "{}x{}x{} e4m3 d=bf16".format(*size)
    layouts = "".join(f" {letter}_scale_layout=column" for letter, block in zip("ab", blocks)
                      if block == "1x128")
    kinds = f" a_scale={blocks[0]} b_scale={blocks[1]}"
    ours = {"blocks": (library.create(text + kinds + layouts), "best"),
            "rows": (library.create(text + kinds), "by_rows"),
            "tensor": (library.create(text + " a_scale=tensor b_scale=tensor"), "tensor")}
    for name, config in configs.items():
        ours[name] = (library.create(text + kinds + layouts + " config=" + config), "best")

    def bind(gemm, field):
        return lambda a, b, d: launch(library, gemm, a=a.values, b=b.values, d=d,
                                      a_scale=getattr(a, field), b_scale=getattr(b, field))

    launches = {name: bind(*pair) for name, pair in ours.items()}
    launches["torch"] = lambda a, b, d: multiply_in_torch(a, b, d, True)
    launches["ttensor"] = lambda a, b, d: multiply_in_torch(a, b, d, False)
    return launches


def check_all(launches, label, matrices, d):
    """Compares D of all; takes out what PyTorch does not have, and returns the worst of ours."""
    a, b = matrices
    worst = [0.0, 0.0]
    plain = ("tensor", "ttensor")
    for has_blocks, names in ((True, [name for name in launches if name not in plain]), (False, plain)):
        expected = a.scaled(has_blocks) @ b.scaled(has_blocks).T
        for name in names:
            d.fill_(float("nan"))
            try:
                launches[name](a, b, d)
                found = compare(d, expected)
            except (RuntimeError, ValueError, TypeError, AttributeError) as failure:
                reason = str(failure).strip().splitlines()[0][:200]
                if name not in ("torch", "ttensor"):
                    sys.exit(f"{label}, {name}: {reason}; nothing was timed")
                print(f"# {label}, {name}: {reason}", flush=True)
                del launches[name]
                continue
            if name not in ("torch", "ttensor"):
                worst = [max(pair) for pair in zip(worst, found)]
        del expected
    return worst


def measure(library, size, blocks, configs, rounds):
    m, n, k = size
    block_rows = [int(block.split("x")[0]) for block in blocks]
    label = f"{m}x{n}x{k} {','.join(blocks)}"
    launches = prepare(library, size, blocks, configs)
    sets = count_sets(m * k + n * k)
    torch.manual_seed(1)
    data = [(Matrix(m, k, block_rows[0]), Matrix(n, k, block_rows[1])) for _ in range(sets)]
    d = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    error, worst = check_all(launches, label, data[0], d)
    count = count_launches(sets)
    graphs = {name: capture(lambda i, queue=queue: queue(*data[i % sets], d), count)
              for name, queue in launches.items()}
    row = take_turns(graphs, count, rounds)
    row.update(m=m, n=n, k=k, scales=",".join(blocks), error=error, worst=worst)
    if configs:
        row.update(configs=configs)
    return row


def print_row(text, row):
    times = {name: row.get(name, float("nan")) for name in NAMES}
    ratios = (times["tensor"] / times["blocks"], times["rows"] / times["blocks"],
              times["torch"] / times["blocks"], times["ttensor"] / times["tensor"])
    print(f"{text:>16} " + " ".join(f"{times[name]:9.2f}" for name in NAMES) + " " +
          " ".join(f"{ratio:8.3f}" for ratio in ratios) +
          f" {row['error']:8.1e} {row['worst']:8.1e}" +
          "".join(f" {row[name]:9.2f}" for name in row.get("configs", ())), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("path", metavar="LIBRARY")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--scales", default="1x128,128x128")
    parser.add_argument("--config", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out")
    options = parser.parse_args()
    blocks = options.scales.split(",")
    if len(blocks) != 2 or not set(blocks) <= {"1x128", "128x128"}:
        parser.error("--scales: give two of 1x128 and 128x128, those of A and of B")
    configs = {f"config{i + 1}": config for i, config in enumerate(options.config)}
    torch.cuda.init()
    library = Library(options.path)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; us, medians; e4m3 to bf16, "
          f"scales {options.scales}")
    print(f"{'shape':>16} " + " ".join(f"{name:>9}" for name in NAMES) + " " +
          " ".join(f"{name:>8}" for name in ("tensor/", "rows/", "torch/", "ttensor/", "error", "worst")) +
          "".join(f" {name:>9}" for name in configs))
    for text in options.shapes.split(","):
        row = measure(library, tuple(int(word) for word in text.split("x")), blocks, configs,
                      options.rounds)
        print_row(text, row)
        if options.out:
            write_row(options.out, row)


if __name__ == "__main__":
    main()
