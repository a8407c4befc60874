#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times sums of experts' rows (jit_gemm_combiner, docs/grouped.md) beside PyTorch's.

Usage: torch_combine.py LIBJIT_GEMM.so [--shapes TOKENSxCHOSENxCOLUMNS,...] [--types bf16,f32]
       [--rounds N] [--out FILE]

Of each shape: rows in a drawn order, a weight of each, D of the rows' type. PyTorch gathers the rows
(index_select) and multiplies them by the weights (bmm), which are of the rows' type there. Both are
captured into graphs over sets of rows that are together more than L2 holds; the graphs take turns, and
the medians are printed, with the bytes that have to move (rows and D) per second. Results are compared
with sums in f32 first. Needs a GPU and PyTorch.
"""
import argparse
import ctypes
import sys

import torch
from c_abi import DTYPES, Library
from torch_common import capture, count_launches, count_sets, take_turns, write_row

SHAPES = "8192x8x7168,8192x2x4096,8192x8x4096,1024x8x7168,64x8x7168,8x8x7168"
LIMIT = {torch.bfloat16: 0.01, torch.float32: 1e-5}


class Args(ctypes.Structure):
    """jit_gemm_combiner_args."""
    _fields_ = [("struct_size", ctypes.c_size_t)] + [(name, ctypes.c_int64) for name in (
        "tokens", "columns", "rows", "rows_ld", "row_count", "index", "weights", "c", "c_ld", "d", "d_ld")]


def bind(library):
    library.lib.jit_gemm_combiner_create.argtypes = [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p]
    library.lib.jit_gemm_combiner_run.argtypes = [ctypes.c_void_p] * 3


class Sums:
    def __init__(self, library, tokens, chosen, columns, name):
        self.jit_gemm, self.shape = library, (tokens, chosen, columns)
        self.dtype = {"bf16": torch.bfloat16, "f32": torch.float32}[name]
        self.handle = ctypes.c_void_p()
        dtype = int(DTYPES[name])
        library.check(library.lib.jit_gemm_combiner_create(
            library.context, dtype, dtype, chosen, ctypes.byref(self.handle)))
        count = tokens * chosen
        self.bytes = (count + tokens) * columns * self.dtype.itemsize
        self.sets = min(count_sets(self.bytes), 8)
        self.rows = [torch.randn((count, columns), device="cuda").to(self.dtype) for _ in range(self.sets)]
        self.index = torch.randperm(count, device="cuda").to(torch.int32)
        self.weights = torch.rand((tokens, chosen), device="cuda")
        self.own_weights = self.weights.to(self.dtype).view(tokens, 1, chosen)
        self.d = torch.full((tokens, columns), float("nan"), device="cuda", dtype=self.dtype)

    def run(self, i):
        tokens, _, columns = self.shape
        rows = self.rows[i % self.sets]
        args = Args(ctypes.sizeof(Args), tokens, columns, rows.data_ptr(), 0, rows.shape[0], self.index.data_ptr(),
                    self.weights.data_ptr(), 0, 0, self.d.data_ptr(), 0)
        self.jit_gemm.check(self.jit_gemm.lib.jit_gemm_combiner_run(
            self.handle, ctypes.byref(args), torch.cuda.current_stream().cuda_stream))

    def run_torch(self, i):
        tokens, chosen, columns = self.shape
        return torch.bmm(self.own_weights,
                         self.rows[i % self.sets].index_select(0, self.index).view(tokens, chosen, columns))

    def check(self):
        tokens, chosen, columns = self.shape
        self.run(0)
        gathered = self.rows[0][self.index.long()].float().view(tokens, chosen, columns)
        expected = (gathered * self.weights[:, :, None]).sum(1)
        error = ((self.d.float() - expected).abs().max() / expected.abs().max()).item()
        if not error < LIMIT[self.dtype]:
            sys.exit(f"{self.shape} differs by {error}")


def measure(case, name, options):
    case.check()
    count = count_launches(case.sets)
    times = take_turns({"combiner": capture(case.run, count), "torch": capture(case.run_torch, count)}, count,
                       options.rounds)
    tokens, chosen, columns = case.shape
    row = {"tokens": tokens, "chosen": chosen, "columns": columns, "type": name, "us": times,
           "tb_s": case.bytes / times["combiner"] * 1e-6, "over_torch": times["torch"] / times["combiner"]}
    print(f"{name} {tokens} tokens, {chosen} rows each of {columns}: {times['combiner']:.2f} us, {row['tb_s']:.2f} TB/s, "
          f"torch {times['torch']:.2f} ({row['over_torch']:.1f})", flush=True)
    if options.out:
        write_row(options.out, row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("jit_gemm", metavar="LIBJIT_GEMM.so")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--types", default="bf16,f32")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out")
    options = parser.parse_args()
    library = Library(options.jit_gemm)
    bind(library)
    torch.zeros(1, device="cuda")  # its context is the device's own
    for shape in options.shapes.split(","):
        for name in options.types.split(","):
            tokens, chosen, columns = map(int, shape.split("x"))
            measure(Sums(library, tokens, chosen, columns, name), name, options)


main()
