#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the products of a layer behind each other, beside cuBLASLt's.

Usage: torch_chain.py LIBJIT_GEMM.so [--rows M,...] [--layer NAME,...] [--workspace BYTES]
       [--rounds N] [--out FILE]

Each product reads what the one before wrote, through leading dimensions where that is wider than its
K, so that all of a layer's wait for each other; the last one's D is the next layer's A. Layers have
weights of their own, as many of them as exceed L2 several times. A chain is one CUDA graph, a replay
is one launch of the host; chains take turns, and medians are of a layer. jit_gemm's kernels may begin
beside the one before (pdl=1, as chosen) and, as `serial`, may not. cuBLASLt has --workspace bytes, its
`default` is the heuristic's first algorithm and `best` the fastest of eight of each product, as
replays of that product alone over all layers. `alone` are the sums of such times of each product.

Each D of a layer is compared with cuBLASLt's first. Needs a GPU and PyTorch, whose cuBLASLt it takes.
"""
import argparse
import ctypes
import sys

import torch
from c_abi import Library, _abi
from torch_common import capture, make_matrix, take_turns, write_row

# N and K of each product
LAYERS = {"8b": ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)),
          "70b": ((10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)),
          "70b/8": ((1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584))}
CHAIN_BYTES = 400 << 20  # of weights, at least two layers
LEAST_LAYERS = 12        # of a chain
ALGORITHMS = 8
LIMIT = 0.01  # of a difference between both, each rounded to bf16
R_16BF, R_32F, COMPUTE_32F = 14, 0, 68
TRANSA, WORKSPACE_BYTES = 3, 1


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t),
                ("state", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


class CublasLt:
    def __init__(self, workspace_bytes):
        self.lib = ctypes.CDLL(f"libcublasLt.so.{torch.version.cuda.split('.')[0]}")
        self.handle = ctypes.c_void_p()
        self.workspace = torch.zeros(max(workspace_bytes, 16), device="cuda", dtype=torch.uint8)
        self.bytes = workspace_bytes
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)
        self.call("cublasLtCreate", ctypes.byref(self.handle))

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status != 0:
            sys.exit(f"{name}: status {status}")

    def layout(self, rows, columns, ld):
        layout = ctypes.c_void_p()
        self.call("cublasLtMatrixLayoutCreate", ctypes.byref(layout), R_16BF,
                  ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(ld))
        return layout

    def plan(self, m, n, k, a_ld):
        """What launches D = A * B^T, both row-major, by the algorithm of an index."""
        product, preference = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cublasLtMatmulDescCreate", ctypes.byref(product), COMPUTE_32F, R_32F)
        transposed = ctypes.c_int(1)
        self.call("cublasLtMatmulDescSetAttribute", product, TRANSA, ctypes.byref(transposed),
                  ctypes.c_size_t(4))
        self.call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        limit = ctypes.c_uint64(self.bytes)
        self.call("cublasLtMatmulPreferenceSetAttribute", preference, WORKSPACE_BYTES,
                  ctypes.byref(limit), ctypes.c_size_t(8))
        a, b, d = self.layout(k, n, k), self.layout(k, m, a_ld), self.layout(n, m, n)
        found, count = (Heuristic * ALGORITHMS)(), ctypes.c_int()
        self.call("cublasLtMatmulAlgoGetHeuristic", self.handle, product, a, b, d, d, preference,
                  ALGORITHMS, found, ctypes.byref(count))

        def run(algorithm, x, weight, out):
            self.call("cublasLtMatmul", self.handle, product, ctypes.byref(self.one),
                      ctypes.c_void_p(weight.data_ptr()), a, ctypes.c_void_p(x.data_ptr()), b,
                      ctypes.byref(self.zero), ctypes.c_void_p(out.data_ptr()), d,
                      ctypes.c_void_p(out.data_ptr()), d, ctypes.byref(found[algorithm]),
                      ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_size_t(self.bytes),
                      ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

        return run, count.value


class Ours:
    """jit_gemm's kernels of a layer, with what else a problem says, such as a config."""

    def __init__(self, library, layer, m, words, configs):
        self.jit_gemm = library
        self.gemms = [library.create(f"{m}x{n}x{k} bf16{words} {configs[i] if configs else ''}")
                      for i, (n, k) in enumerate(layer)]
        self.workspaces = [torch.zeros(64 << 20, device="cuda", dtype=torch.uint8)
                           for _ in layer] if words else []

    def config(self, i):
        info = _abi.Info(struct_size=ctypes.sizeof(_abi.Info))
        self.jit_gemm.check(self.jit_gemm.lib.jit_gemm_get_info(self.gemms[i], ctypes.byref(info)))
        return info.config.decode()

    def run(self, i, x, weight, out):
        args = _abi.Args(struct_size=ctypes.sizeof(_abi.Args))
        args.a.pointer, args.b.pointer, args.d.pointer = (t.data_ptr() for t in (x, weight, out))
        args.a.ld = x.shape[1]
        if self.workspaces:
            args.workspace = self.workspaces[i].data_ptr()
            args.workspace_bytes = self.workspaces[i].nbytes
        self.jit_gemm.check(self.jit_gemm.lib.jit_gemm_run(
            self.gemms[i], ctypes.byref(args), torch.cuda.current_stream().cuda_stream))


class Chain:
    """Weights of all layers, and what each product of a layer writes."""

    def __init__(self, m, layer):
        self.layer = layer
        weight_bytes = sum(2 * n * k for n, k in layer)
        self.layers = max(2, -(-CHAIN_BYTES // weight_bytes))
        self.count = self.layers * -(-LEAST_LAYERS // self.layers)
        self.weights = [[make_matrix((n, k), torch.bfloat16).mul_((3 / k)**0.5) for n, k in layer]
                        for _ in range(self.layers)]
        self.outputs = [make_matrix((m, n), torch.bfloat16) for n, _ in layer]
        self.first = self.outputs[-1].clone()  # of a chain, or its values would grow

    def queue(self, run):
        """All layers by `run`, which takes a product's index and matrices."""
        def one(index):
            x = self.outputs[-1] if index > 0 else self.first
            for i, weight in enumerate(self.weights[index % self.layers]):
                run(i, x, weight, self.outputs[i])
                x = self.outputs[i]
        return one

    def queue_alone(self, run, i):
        return lambda index: run(i, self.outputs[i - 1], self.weights[index % self.layers][i],
                                 self.outputs[i])


def compare(chain, ours, theirs):
    """Of each product on the same A, the norm of the difference over that of the product."""
    for i, weight in enumerate(chain.weights[0]):
        x, out = chain.outputs[i - 1], chain.outputs[i]
        theirs(i, x, weight, out)
        expected = out.clone()
        out.fill_(float("nan"))
        ours(i, x, weight, out)
        error = ((out.float() - expected.float()).norm() / expected.float().norm()).item()
        if not error < LIMIT:
            sys.exit(f"product {i} differs, error {error:.3g}")


def measure(library, name, m, options):
    layer = LAYERS[name]
    chain, rival = Chain(m, layer), CublasLt(options.workspace)
    plans = [rival.plan(m, n, k, layer[i - 1][0]) for i, (n, k) in enumerate(layer)]
    words = f" workspace={options.workspace}" if options.ours_workspace else ""
    ours = Ours(library, layer, m, words, None)
    serial = Ours(library, layer, m, words,
                  ["config=" + ours.config(i).replace("pdl=1", "pdl=0") for i in range(len(layer))])

    def default(i, x, weight, out):
        plans[i][0](0, x, weight, out)

    compare(chain, ours.run, default)
    compare(chain, serial.run, default)
    best, alone = [], {"jit_gemm": 0.0, "cublaslt": 0.0}
    for i, (run, algorithms) in enumerate(plans):
        def bind(algorithm, run=run):
            return lambda i, x, weight, out: run(algorithm, x, weight, out)
        graphs = {a: capture(chain.queue_alone(bind(a), i), 4 * chain.count)
                  for a in range(algorithms)}
        graphs["jit_gemm"] = capture(chain.queue_alone(ours.run, i), 4 * chain.count)
        times = take_turns(graphs, 4 * chain.count, 3)
        alone["jit_gemm"] += times.pop("jit_gemm")
        best.append(min(times, key=times.get))
        alone["cublaslt"] += times[best[-1]]

    def fastest(i, x, weight, out):
        plans[i][0](best[i], x, weight, out)

    runs = {"jit_gemm": ours.run, "serial": serial.run, "default": default, "best": fastest}
    times = take_turns({key: capture(chain.queue(run), chain.count) for key, run in runs.items()},
                       chain.count, options.rounds)
    print(f"{name:>6} {m:5} {times['jit_gemm']:9.1f} {times['serial'] / times['jit_gemm']:8.3f} "
          f"{times['default'] / times['jit_gemm']:8.3f} {times['best'] / times['jit_gemm']:8.3f} "
          f"{alone['jit_gemm']:9.1f} {alone['cublaslt']:9.1f}", flush=True)
    if options.out:
        write_row(options.out, {"layer": name, "m": m, "us": times, "alone_us": alone,
                                "algorithms": best, "workspace": options.ours_workspace,
                                "configs": [ours.config(i) for i in range(len(layer))]})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("lib")
    parser.add_argument("--rows", default="1,8,16,64")
    parser.add_argument("--layer", default="8b,70b/8")
    parser.add_argument("--workspace", type=int, default=64 << 20)
    parser.add_argument("--ours-workspace", action="store_true",
                        help="jit_gemm may take as much; else none")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out")
    options = parser.parse_args()
    library = Library(options.lib)
    print(f"{'layer':>6} {'rows':>5} {'us':>9} {'serial/':>8} {'default/':>8} {'best/':>8} "
          f"{'alone':>9} {'theirs':>9}")
    for name in options.layer.split(","):
        for m in options.rows.split(","):
            measure(library, name, int(m), options)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
