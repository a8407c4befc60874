# SPDX-License-Identifier: MIT
"""What the scripts beside PyTorch share: inputs, launches in graphs, times, results kept.

Launches are captured into graphs, back to back over several sets of inputs that are together more
than L2 holds; the graphs take turns.
"""
import json
import statistics
import time

import torch

SETS_BYTES = 256 << 20  # of inputs that rotate
LAUNCHES = 20           # in a graph, at least one for each set


def count_sets(input_bytes):
    return max(2, -(-SETS_BYTES // input_bytes))


def count_launches(sets):
    return -(-LAUNCHES // sets) * sets


def make_matrix(shape, dtype):
    """Uniform in [-1, 1]."""
    return torch.rand(shape, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(dtype)


def launch(library, gemm, operands=(), **tensors):
    """Queues a kernel on the current stream; `tensors` are its arguments by name."""
    library.run(gemm, {name: tensor.data_ptr() for name, tensor in tensors.items()},
                [tensor.data_ptr() for tensor in operands], torch.cuda.current_stream().cuda_stream)


def capture(queue, count):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(count):
            queue(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            queue(i)
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


def write_row(path, row):
    """Appends a line of JSON, with what else a reader needs to know."""
    row.update(device=torch.cuda.get_device_name(), version=torch.__version__,
               date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    with open(path, "a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")
