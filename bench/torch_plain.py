#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times plain products beside PyTorch's.

Usage: torch_plain.py LIBJIT_GEMM.so [--types TYPE,...] [--shapes MxNxK,...] [--rounds N] [--out FILE]

TYPE is of A and B: bf16 and f16, D alike, beside torch.mm; e4m3, with a scale of each tensor and D of
bf16, beside torch._scaled_mm whose sums are exact; e4m3-fast, with accumulate=fast, beside its
fast accumulation. Launches are captured into graphs over several sets of random inputs, more than L2
holds; the graphs take turns; medians over the rounds. D of both is compared with the product of
f32 before anything is timed. torch/ is PyTorch's time over ours: above 1, jit_gemm is faster. Needs a
GPU and PyTorch.
"""
import argparse
import math
import sys

import torch
from c_abi import Library
from torch_common import (capture, count_launches, count_sets, launch, make_matrix, take_turns,
                          write_row)

SHAPES = "8192x8192x8192,4096x4096x4096,4096x14336x4096,1024x4096x7168,64x4096x7168,1x4096x4096"
# of A and B, of D, and what the problem's text has
TYPES = {"bf16": (torch.bfloat16, torch.bfloat16, "bf16"),
         "f16": (torch.float16, torch.float16, "f16"),
         "e4m3": (torch.float8_e4m3fn, torch.bfloat16, "e4m3 d=bf16 a_scale=tensor b_scale=tensor"),
         "e4m3-fast": (torch.float8_e4m3fn, torch.bfloat16,
                       "e4m3 d=bf16 a_scale=tensor b_scale=tensor accumulate=fast")}
LIMIT = 0.01  # norm of the difference over that of the product: D's rounding makes 0.002


def check(name, d, expected):
    error = ((d.float() - expected).norm() / expected.norm()).item()
    if not error < LIMIT:
        sys.exit(f"{name}: D differs by {error:.3g}; nothing was timed")


def measure(library, kind, size, rounds):
    m, n, k = size
    dtype, d_dtype, text = TYPES[kind]
    gemm = library.create(f"{m}x{n}x{k} {text}")
    sets = count_sets((m * k + n * k) * dtype.itemsize)
    torch.manual_seed(1)
    data = [(make_matrix((m, k), dtype), make_matrix((n, k), dtype)) for _ in range(sets)]
    scales = [torch.rand((1,), device="cuda").add_(1).mul_(0.5) for _ in range(2)]
    d = torch.empty((m, n), device="cuda", dtype=d_dtype)
    has_scales = kind.startswith("e4m3")

    def run_ours(i):
        a, b = data[i % sets]
        given = dict(zip(("a_scale", "b_scale"), scales)) if has_scales else {}
        launch(library, gemm, a=a, b=b, d=d, **given)

    def run_torch(i):
        a, b = data[i % sets]
        if has_scales:
            torch._scaled_mm(a, b.t(), scale_a=scales[0], scale_b=scales[1], out_dtype=d_dtype, out=d,
                             use_fast_accum=kind.endswith("fast"))
        else:
            torch.mm(a, b.t(), out=d)

    queues = {"ours": run_ours, "torch": run_torch}
    factor = math.prod(scale.item() for scale in scales) if has_scales else 1
    expected = data[0][0].float() @ data[0][1].float().T * factor
    for name, queue in queues.items():
        d.fill_(float("nan"))
        queue(0)
        check(f"{kind} {m}x{n}x{k}, {name}", d, expected)
    del expected
    count = count_launches(sets)
    row = take_turns({name: capture(queue, count) for name, queue in queues.items()}, count, rounds)
    row.update(type=kind, m=m, n=n, k=k)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("path", metavar="LIBRARY")
    parser.add_argument("--types", default="bf16,e4m3,e4m3-fast")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out")
    options = parser.parse_args()
    unknown = set(options.types.split(",")) - set(TYPES)
    if unknown:
        parser.error(f"--types: {', '.join(sorted(unknown))}: give some of {', '.join(TYPES)}")
    torch.cuda.init()
    library = Library(options.path)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; us, medians")
    print(f"{'type':>9} {'shape':>16} {'ours':>9} {'torch':>9} {'torch/':>7}")
    for kind in options.types.split(","):
        for text in options.shapes.split(","):
            row = measure(library, kind, tuple(int(word) for word in text.split("x")), options.rounds)
            print(f"{kind:>9} {text:>16} {row['ours']:9.2f} {row['torch']:9.2f} "
                  f"{row['torch'] / row['ours']:7.3f}", flush=True)
            if options.out:
                write_row(options.out, row)


if __name__ == "__main__":
    main()
