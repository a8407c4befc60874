#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A gated layer on several GPUs with torch, in order and overlapped with the sum over them.

Usage: torchrun --nproc-per-node=2 05_tensor_parallel.py [TOKENS WIDTH HIDDEN CHUNKS REPEATS]

Y = (silu(X G) * (X U)) W. Each process has a share of the columns of G and U and the same share
of the rows of W; torch.distributed adds up what they make of Y: by NCCL where torch sees GPUs, else
by gloo, on the emulator and untimed. By chunks of rows on two streams, one adds up while the other
multiplies. Needs torch.
"""

import contextlib
import os
import statistics
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist

import jit_gemm.torch

ROUNDS = 5
if "WORLD_SIZE" not in os.environ:
    sys.exit("begin the processes by torchrun: torchrun --nproc-per-node=2 05_tensor_parallel.py")
rank, processes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
on_gpu = torch.cuda.is_available()
if on_gpu and torch.cuda.device_count() < int(os.environ["LOCAL_WORLD_SIZE"]):
    sys.exit(f"{torch.cuda.device_count()} GPUs for {os.environ['LOCAL_WORLD_SIZE']} processes")
sizes = [int(word) for word in sys.argv[1:]]
tokens, width, hidden, chunks, repeats = (
    sizes + ([4096, 4096, 14336, 4, 20] if on_gpu else [48, 64, 96, 3, 1])[len(sizes) :]
)
share = hidden // processes
if tokens % chunks or hidden % (8 * processes) or width % 8:
    sys.exit("TOKENS must be a multiple of CHUNKS, WIDTH of 8, HIDDEN of 8 * processes")
where = "" if on_gpu else "emulator"
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
if on_gpu:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if on_gpu else "gloo")

# The same in each process. Rows of G and U take turns, so that a share of both is one piece.
generator = torch.Generator().manual_seed(1)


def uniform(rows: int, columns: int) -> torch.Tensor:
    values = torch.rand(rows, columns, generator=generator) - 0.5
    return values.to(device, torch.bfloat16)


x = uniform(tokens, width)
gate_up_of_all, down_of_all = uniform(2 * hidden, width), uniform(width, hidden)
gate_up = gate_up_of_all[2 * share * rank :][: 2 * share]
down = down_of_all[:, share * rank :][:, :share]
y = torch.empty_like(x)
streams = [torch.cuda.Stream(), torch.cuda.Stream()] if on_gpu else []


def layer(rows: torch.Tensor, out: torch.Tensor) -> None:
    h = jit_gemm.torch.gemm(rows, gate_up.T, "swiglu", device=where)
    jit_gemm.gemm(h, down.T, out=out, device=where or None)
    dist.all_reduce(out)


def in_order() -> None:
    layer(x, y)


def overlapped() -> None:
    """Each stream has every other chunk: its products, then its sum, behind them."""
    here = torch.cuda.current_stream() if on_gpu else None
    for stream in streams:
        stream.wait_stream(here)
    for i, (rows, out) in enumerate(zip(x.chunk(chunks), y.chunk(chunks))):
        with torch.cuda.stream(streams[i % 2]) if on_gpu else contextlib.nullcontext():
            layer(rows, out)
    for stream in streams:
        here.wait_stream(stream)


def check(name: str, form: Callable[[], None]) -> bool:
    """Against torch, with the weights of all: its product of bf16 rounds H and Y as ours does."""
    y.fill_(float("nan"))
    form()
    both = (x.float() @ gate_up_of_all.float().T).reshape(tokens, hidden, 2)
    h = torch.nn.functional.silu(both[..., 0]) * both[..., 1]
    wanted = h.bfloat16().float() @ down_of_all.float().T
    difference = ((y.float() - wanted).abs().max() / wanted.abs().max()).item()
    is_right = difference < 0.02
    word = "right" if is_right else "WRONG"
    sys.stdout.write(f"process {rank}, {name}: {difference:.1e}, {word}\n")  # in one piece
    sys.stdout.flush()
    return is_right


def times_us(form: Callable[[], None]) -> float:
    dist.barrier(device_ids=[device.index])
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        form()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / repeats


forms = {"in order": in_order, "overlapped": overlapped}
with torch.no_grad():
    is_right = all([check(name, form) for name, form in forms.items()])
    if on_gpu:
        rounds = [{name: times_us(form) for name, form in forms.items()} for _ in range(ROUNDS)]
        medians = {name: statistics.median(one[name] for one in rounds) for name in forms}
        if rank == 0:
            for name, us in medians.items():
                print(f"{name:12} {us:10.1f} us, {us / medians['in order']:.3f} of in order")
dist.destroy_process_group()
if not is_right:
    sys.exit("the result is wrong")
