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
import ctypes
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

SETS_BYTES = 256 << 20  # of inputs that rotate
LAUNCHES = 20           # in a graph, at least one for each set
KINDS = {"scalar": 0, "row_vector": 1, "column_vector": 2, "matrix": 3, "pair_vector": 4}
DTYPES = {"bf16": (1, torch.bfloat16), "f32": (3, torch.float32)}


class Operand(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("dtype", ctypes.c_int),
                ("role", ctypes.c_int), ("reserved", ctypes.c_int)]


class Epilogue(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("source", ctypes.c_char_p), ("source_size", ctypes.c_size_t),
                ("source_name", ctypes.c_char_p), ("first_line", ctypes.c_uint32),
                ("operand_count", ctypes.c_uint32), ("operands", ctypes.POINTER(Operand))]


class Arg(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_uint64), ("ld", ctypes.c_int64),
                ("batch_stride", ctypes.c_int64), ("value", ctypes.c_float),
                ("reserved", ctypes.c_uint32)]


class Args(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("a", Arg), ("b", Arg), ("c", Arg), ("d", Arg),
                ("a_scale", Arg), ("b_scale", Arg), ("operands", ctypes.POINTER(Arg)),
                ("operand_count", ctypes.c_size_t), ("m", ctypes.c_int64), ("n", ctypes.c_int64),
                ("k", ctypes.c_int64), ("batch", ctypes.c_int64), ("alpha", ctypes.c_void_p),
                ("beta", ctypes.c_void_p), ("alpha_device", ctypes.c_uint64),
                ("beta_device", ctypes.c_uint64), ("workspace", ctypes.c_uint64),
                ("workspace_bytes", ctypes.c_uint64)]


# name: (snippet, operands as name:kind:dtype[:out], gated, what PyTorch users write: of the product
# and the operands in order)
CASES = {
    "relu": ("d = relu(acc);", [], None, F.relu),
    "gelu": ("d = gelu(acc);", [], None, F.gelu),
    "silu": ("d = silu(acc);", [], None, F.silu),
    "bias": ("d = acc + bias;", ["bias:row_vector:bf16"], None, lambda x, b: x + b),
    "bias_gelu": ("d = gelu(acc + bias);", ["bias:row_vector:bf16"], None,
                  lambda x, b: F.gelu(x + b)),
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


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.jit_gemm_last_error.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        self.check(self.lib.jit_gemm_context_create(None, ctypes.byref(self.context)))
        self.registered = set()

    def check(self, status):
        if status != 0:
            sys.exit("jit_gemm: " + self.lib.jit_gemm_last_error().decode())

    def register(self, name, snippet, operands):
        if name in self.registered:
            return
        self.registered.add(name)
        rows = (Operand * max(len(operands), 1))()
        for row, text in zip(rows, operands):
            words = text.split(":")
            row.name, row.kind, row.dtype = words[0].encode(), KINDS[words[1]], DTYPES[words[2]][0]
            row.role = len(words) > 3
        epilogue = Epilogue(ctypes.sizeof(Epilogue), name.encode(), snippet.encode(), 0, None, 0,
                            len(operands), rows)
        self.check(self.lib.jit_gemm_epilogue_register(self.context, ctypes.byref(epilogue)))

    def create(self, text):
        problem = ctypes.create_string_buffer(4096)
        self.check(self.lib.jit_gemm_problem_parse(text.encode(), problem))
        gemm = ctypes.c_void_p()
        self.check(self.lib.jit_gemm_create(self.context, problem, ctypes.byref(gemm)))
        return gemm

    def run(self, gemm, a, b, d, operands):
        rows = (Arg * max(len(operands), 1))()
        for row, tensor in zip(rows, operands):
            row.pointer = tensor.data_ptr()
        args = Args(struct_size=ctypes.sizeof(Args), operands=rows, operand_count=len(operands))
        args.a.pointer, args.b.pointer, args.d.pointer = a.data_ptr(), b.data_ptr(), d.data_ptr()
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.lib.jit_gemm_run(gemm, ctypes.byref(args), stream))


def make_operand(text, m, n):
    kind, dtype = text.split(":")[1:3]
    shape = {"row_vector": (n,), "column_vector": (m,), "matrix": (m, n), "scalar": (1,)}[kind]
    return torch.rand(shape, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(DTYPES[dtype][1])


def capture(launch, count):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(count):
            launch(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            launch(i)
    return graph


def take_turns(graphs, count, rounds):
    """Median time of one launch of each graph, in us."""
    samples = {name: [] for name in graphs}
    names = list(graphs)
    begin = time.time()
    while time.time() - begin < 0.5:
        for graph in graphs.values():
            graph.replay()
        torch.cuda.synchronize()
    for turn in range(rounds):
        for i in range(len(names)):
            name = names[(turn + i) % len(names)]
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            graphs[name].replay()
            start.record()
            graphs[name].replay()
            end.record()
            torch.cuda.synchronize()
            samples[name].append(start.elapsed_time(end) * 1000 / count)
    return {name: statistics.median(values) for name, values in samples.items()}


def measure(library, name, size, rounds):
    m, n, k = size
    snippet, operands, pair, torch_epilogue = CASES[name]
    library.register("my_" + name, snippet, operands)
    d_columns = n // 2 if pair else n
    words = " pair=halves" if pair == "halves" else ""
    fused = library.create(f"{m}x{n}x{k} bf16{words} epilogue=my_{name}")
    plain = library.create(f"{m}x{n}x{k} bf16")
    sets = max(2, -(-SETS_BYTES // (2 * (m * k + n * k))))
    torch.manual_seed(1)
    data = []
    for _ in range(sets):
        a = torch.rand((m, k), device="cuda").mul_(2).sub_(1).to(torch.bfloat16)
        b = torch.rand((n, k), device="cuda").mul_(2).sub_(1).to(torch.bfloat16)
        given = [make_operand(text, m, d_columns) for text in operands]
        data.append((a, b, given))
    d = torch.full((m, d_columns), float("nan"), device="cuda", dtype=torch.bfloat16)
    whole = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    # Compare.
    a, b, given = data[0]
    library.run(fused, a, b, d, given)
    difference = float("nan")
    if torch_epilogue is not None:
        expected = torch_epilogue(a.float() @ b.float().T, *[x.float() for x in given])
        difference = ((d.float() - expected).abs().max() / expected.abs().max()).item()
        if not difference < 0.01:
            sys.exit(f"{name} {m}x{n}x{k}: results differ by {difference}")
        del expected
    count = -(-LAUNCHES // sets) * sets

    def run_plain(i):
        library.run(plain, data[i % sets][0], data[i % sets][1], whole, [])

    def run_fused(i):
        library.run(fused, data[i % sets][0], data[i % sets][1], d, data[i % sets][2])

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
                row.update(device=torch.cuda.get_device_name(), version=torch.__version__,
                           date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
                with open(options.out, "a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
