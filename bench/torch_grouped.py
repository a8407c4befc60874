#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products with groups (mixtures of experts) beside PyTorch's grouped product and our own dense one.

Usage: torch_grouped.py LIBJIT_GEMM.so [--forms offsets,gathered,k_offsets] [--types bf16,e4m3,blocks]
       [--shapes NAME,...] [--rows N,...] [--spread uniform,zipf] [--config TEXT] [--rounds N]
       [--turn-ms N] [--triton] [--out FILE]

Of each shape (groups x N x K), rows a group on average, and spread of them: jit_gemm with
group_by=offsets, torch._grouped_mm, jit_gemm's dense product of as many rows and one B, which
has the same work and reads less, and a loop of dense ones, a launch for each group. With gathered,
jit_gemm reads A's rows by an index (a_rows=indexed), a permutation, and the dense one does not;
PyTorch gathers them first, by index_select. With k_offsets the gradients of the weights (groups x N
x K, sums over rows), and the dense one writes less.

e4m3 has a scale of each row and column and a D of bf16 (torch._scaled_grouped_mm, both with fast
sums), blocks scales of 1x128 and 128x128, which PyTorch has no product for. Both have the forms
offsets only, e4m3 without its scales the form gathered too. --triton adds a product in Triton
(triton_grouped.py) to what is by offsets.

All are captured into graphs of back-to-back launches over several sets of random inputs, more than
L2 holds; the graphs take turns of about --turn-ms each, and the medians over the rounds are printed.
Results are compared with PyTorch in f32 before anything is timed. What does not fit into the
device's memory is left out, and says so. Needs a GPU and PyTorch.
"""
import argparse
import concurrent.futures
import gc
import itertools
import sys

import torch
from c_abi import Library
from torch_common import capture, count_sets, launch, take_turns, write_row

BLOCK = 128           # elements that have a scale
PIECE = 1 << 26       # elements that are drawn at a time
ONE_SET_BYTES = 2e9   # of inputs, of which L2 holds next to nothing
SPARE_BYTES = 6e9     # for what is drawn, sums in f32 and graphs

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


def make_rows(rows, columns, dtype):
    """Uniform in [-1, 1], a piece at a time: what is drawn is wider than what is kept."""
    made = torch.empty((rows, columns), device="cuda", dtype=dtype)
    step = max(1, PIECE // columns)
    for begin in range(0, rows, step):
        drawn = torch.rand((min(step, rows - begin), columns), device="cuda")
        made[begin:begin + step] = drawn.mul_(2).sub_(1).to(dtype)
    return made


def make_experts(groups, n, k, dtype):
    return make_rows(groups * n, k, dtype).view(groups, n, k)


def make_scales(*shape):
    return torch.exp2(torch.rand(shape, device="cuda").mul_(-4))


def expect_near(expected, got, name, limit=0.01):
    difference = (got.float() - expected).abs().max() / expected.abs().max()
    if not difference < limit:
        sys.exit(f"{name} differs by {difference.item()}")


class Rows:
    """D[rows of a group] = A[rows] * B[group]: the way forward."""

    def __init__(self, library, shape, sizes, kind, config, gathers=False):
        groups, n, k = shape
        self.m, self.sizes, self.shape, self.gemms = sum(sizes), sizes, shape, library
        self.kind, self.gathers = kind, gathers
        self.dtype = torch.bfloat16 if kind == "bf16" else torch.float8_e4m3fn
        types = "a=bf16" if kind == "bf16" else "a=e4m3 d=bf16"
        if kind == "e4m3":
            types += " accumulate=fast" + ("" if gathers else " a_scale=vector b_scale=vector")
        if kind == "blocks":
            types += " a_scale=1x128 b_scale=128x128"
        problem = f"m={self.m} n={n} k={k} {types}"
        index = " a_rows=indexed" if gathers else ""
        self.grouped = library.create(f"{problem} groups={groups} group_by=offsets{index}{config}")
        self.dense = library.create(problem)
        if not gathers:  # of each group by itself, as a program launches it that has read the sizes
            is_dynamic = len(set(sizes)) > 1
            self.one = library.create(f"m={self.m // groups} n={n} k={k} {types}{' dynamic=m' if is_dynamic else ''}")
            self.one_m = (lambda rows: rows) if is_dynamic else (lambda rows: 0)
        self.element = self.dtype.itemsize
        self.inputs = self.element * (self.m * k + sum(s > 0 for s in sizes) * n * k)
        self.bytes = self.element * (self.m * k + groups * n * k)
        self.written = 2 * self.m * n

    def prepare(self):
        self.d = torch.full((self.m, self.shape[1]), float("nan"), device="cuda", dtype=torch.bfloat16)
        self.index = torch.randperm(self.m, device="cuda").to(torch.int32)

    def make(self):
        groups, n, k = self.shape
        data = {"a": make_rows(self.m, k, self.dtype), "b": make_experts(groups, n, k, self.dtype)}
        if self.kind == "e4m3" and not self.gathers:
            data.update(a_scale=make_scales(self.m), b_scale=make_scales(groups, n))
        if self.kind == "blocks":
            data.update(a_scale=make_scales(self.m, k // BLOCK), b_scale=make_scales(groups, n // BLOCK, k // BLOCK))
        return data

    def run(self, data, offsets):
        more = {"a_rows": self.index} if self.gathers else {}
        launch(self.gemms, self.grouped, d=self.d, group_sizes=offsets, **data, **more)

    def scaled(self, data, group, begin, end):
        a, b = data["a"], data["b"][group].float()
        a = a.view(torch.uint8 if self.element == 1 else a.dtype)
        a = (a[self.index[begin:end].long()] if self.gathers else a[begin:end]).view(self.dtype).float()
        if self.kind == "blocks":
            return (a * data["a_scale"][begin:end].repeat_interleave(BLOCK, 1),
                    b * data["b_scale"][group].repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1))
        if "a_scale" in data:
            return a * data["a_scale"][begin:end, None], b * data["b_scale"][group][:, None]
        return a, b

    def check(self, data, name):
        for group, begin, end in parts(self.sizes):
            a, b = self.scaled(data, group, begin, end)
            # Fast sums of 8-bit floats drop bits of each of hundreds of steps.
            expect_near(a @ b.T, self.d[begin:end], f"{name}: group {group}",
                        0.03 if self.kind == "e4m3" else 0.01)

    def run_dense(self, data):
        own = {name: value[0] if name in ("b", "b_scale") else value for name, value in data.items()}
        launch(self.gemms, self.dense, d=self.d, **own)

    def run_loop(self, data):
        for group, begin, end in parts(self.sizes):
            own = {name: value[group] if name in ("b", "b_scale") else value[begin:end] for name, value in data.items()}
            addresses = {name: tensor.data_ptr() for name, tensor in {**own, "d": self.d[begin:end]}.items()}
            self.gemms.run(self.one, addresses, (), torch.cuda.current_stream().cuda_stream, self.one_m(end - begin))

    def run_torch(self, data, offsets):
        a, b = data["a"], data["b"].transpose(1, 2)
        if self.kind == "blocks" or (self.kind == "e4m3" and self.gathers):
            raise RuntimeError("there is no such product")
        if self.gathers:
            a = a.index_select(0, self.index)
        if self.kind == "e4m3":
            torch._scaled_grouped_mm(a, b, data["a_scale"], data["b_scale"], offs=offsets,
                                     out_dtype=torch.bfloat16, use_fast_accum=True)
        else:
            torch._grouped_mm(a, b, offs=offsets)


class Gathered(Rows):
    """The same of rows that an index names."""

    def __init__(self, library, shape, sizes, kind, config):
        super().__init__(library, shape, sizes, kind, config, gathers=True)


class Depths:
    """D[group] = A[rows of the group]^T * B[rows]: the gradient of the weights."""

    def __init__(self, library, shape, sizes, kind, config):
        groups, n, k = shape
        self.rows = sum(sizes)
        self.sizes, self.shape, self.gemms = sizes, shape, library
        problem = f"m={n} n={k} k={self.rows} a={kind} layout=tn"
        self.grouped = library.create(f"{problem} groups={groups} group_by=k_offsets{config}")
        self.dense = library.create(problem)
        self.inputs = self.bytes = 2 * self.rows * (n + k)
        self.element, self.written = 2, 2 * groups * n * k

    def prepare(self):
        self.d = torch.full(self.shape, float("nan"), device="cuda", dtype=torch.bfloat16)

    def make(self):
        _, n, k = self.shape
        return {"a": make_rows(self.rows, n, torch.bfloat16), "b": make_rows(self.rows, k, torch.bfloat16)}

    def run(self, data, offsets):
        launch(self.gemms, self.grouped, d=self.d, group_sizes=offsets, **data)

    def check(self, data, name):
        for group, begin, end in parts(self.sizes):
            expect_near(data["a"][begin:end].float().T @ data["b"][begin:end].float(), self.d[group],
                        f"{name}: group {group}")

    def run_dense(self, data):
        launch(self.gemms, self.dense, d=self.d, **data)

    @staticmethod
    def run_torch(data, offsets):
        torch._grouped_mm(data["a"].T, data["b"], offs=offsets)


FORMS = {"offsets": Rows, "gathered": Gathered, "k_offsets": Depths}


def is_measured(form, kind):
    return kind == "bf16" or form == "offsets" or (form == "gathered" and kind == "e4m3")


def count_in_turn(data, queue, turn_ms):
    """Launches of a graph: each set as often as the others, about `turn_ms` of them."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    queue(0)
    end.record()
    torch.cuda.synchronize()
    rounds = turn_ms / max(start.elapsed_time(end), 0.001) / len(data)
    return len(data) * max(1, min(round(rounds), 20))


def capture_triton(case, data, offsets, count, name):
    import triton_grouped  # not everywhere
    tile = triton_grouped.find_fastest(data[0], case.d, offsets)
    products = [triton_grouped.GroupedProduct(one, case.d, tile) for one in data]
    case.d.fill_(float("nan"))
    products[0].run(offsets)
    case.check(data[0], f"{name}: triton {tile}")
    return capture(lambda i: products[i % len(products)].run(offsets), count)


def make_case(library, form, kind, name, rows, spread, options):
    """With its kernels, of which many are compiled at a time."""
    sizes = draw_sizes(SHAPES[name][0], rows, spread)
    config = f" config={options.config}" if options.config else ""
    return FORMS[form](library, SHAPES[name], sizes, kind, config)


def measure(case, form, kind, name, rows, spread, options):
    groups, n, k = case.shape
    sizes = case.sizes
    sets = 1 if case.bytes > ONE_SET_BYTES else min(count_sets(case.bytes), 3)
    # PyTorch makes a D, and gathers an A, of its own.
    need = sets * case.bytes + 2 * case.written + (case.bytes if form == "gathered" else 0) + SPARE_BYTES
    if need > torch.cuda.get_device_properties(0).total_memory:
        print(f"{form} {kind} {name} {rows} rows {spread}: {need / 2**30:.0f} GiB are needed", flush=True)
        return None
    torch.manual_seed(1)
    offsets = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
    case.prepare()
    data = [case.make() for _ in range(sets)]

    def ours(i):
        case.run(data[i % sets], offsets)

    ours(0)
    case.check(data[0], f"{form} {kind} {name} {rows} {spread}")
    count = count_in_turn(data, ours, options.turn_ms)
    graphs = {"grouped": capture(ours, count),
              "dense": capture(lambda i: case.run_dense(data[i % sets]), count)}
    try:
        case.run_torch(data[0], offsets)
        graphs["torch"] = capture(lambda i: case.run_torch(data[i % sets], offsets), count)
    except (RuntimeError, AttributeError) as error:  # it asks more of sizes, or has no such product
        print(f"torch: {str(error).splitlines()[0]}")
    if form == "offsets":
        case.d.fill_(float("nan"))
        case.run_loop(data[0])
        case.check(data[0], f"{form} {kind} {name} {rows} {spread}: loop")
        graphs["loop"] = capture(lambda i: case.run_loop(data[i % sets]), count)
    if options.triton and form == "offsets":
        graphs["triton"] = capture_triton(case, data, offsets, count, name)
    times = {"torch": float("nan"), **take_turns(graphs, count, options.rounds)}
    flops = 2 * sum(sizes) * n * k
    weights = sum(size > 0 for size in sizes) * n * k * case.element
    return {"form": form, "type": kind, "shape": name, "groups": groups, "n": n, "k": k, "rows": rows,
            "spread": spread, "config": options.config, "us": times,
            "tflops": flops / times["grouped"] * 1e-6,
            "weights_tb_s": weights / times["grouped"] * 1e-6,
            "over_torch": times["torch"] / times["grouped"],
            "of_dense": times["dense"] / times["grouped"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("jit_gemm", metavar="LIBJIT_GEMM.so")
    parser.add_argument("--forms", default="offsets")
    parser.add_argument("--types", default="bf16")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--rows", default="8,512")
    parser.add_argument("--spread", default="uniform,zipf")
    parser.add_argument("--config", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-ms", type=float, default=100)
    parser.add_argument("--triton", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    library = Library(options.jit_gemm)
    torch.zeros(1, device="cuda")  # its context is the device's own, before any thread asks
    cases = itertools.product(options.forms.split(","), options.types.split(","),
                              options.shapes.split(","), map(int, options.rows.split(",")),
                              options.spread.split(","))
    cases = [case for case in cases if is_measured(case[0], case[1]) and case[3:] != (1, "zipf")]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda case: make_case(library, *case, options), cases))
    for (form, kind, name, rows, spread), case in zip(cases, made):
        row = measure(case, form, kind, name, rows, spread, options)
        case.d = None
        gc.collect()
        torch.cuda.empty_cache()
        if row is None:
            continue
        print(f"{form} {kind} {name} {rows} rows {spread}: {row['us']['grouped']:.1f} us, "
              f"{row['tflops']:.0f} TFLOP/s, weights {row['weights_tb_s']:.2f} TB/s, "
              f"torch {row['us']['torch']:.1f} ({row['over_torch']:.2f}), dense "
              f"{row['us']['dense']:.1f} ({row['of_dense']:.2f})"
              + (f", loop {row['us']['loop']:.1f}" if "loop" in row["us"] else "")
              + (f", triton {row['us']['triton']:.1f}" if "triton" in row["us"] else ""), flush=True)
        if options.out:
            write_row(options.out, row)


main()
