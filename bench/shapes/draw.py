#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws problems that nothing was fitted to: draw.py SEED COUNT prints one in a line, the same ones for the same
numbers. Those that stand in a file beside this one are left out."""
import math
import pathlib
import random
import sys

TYPES = (("bf16", 11), ("e4m3 d=bf16", 4), ("f16", 2), ("s8", 1), ("e4m3 d=bf16 accumulate=fast", 2))
MOST_OPERATIONS = 4.5e11  # half of a millisecond and more
MOST_BYTES = 4e8


def between(draw, low, high, step):
    """Evenly by their logarithm, in steps."""
    value = math.exp(draw.uniform(math.log(low), math.log(high)))
    return max(step, round(value / step) * step)


def draw_sizes(draw):
    """A problem's sizes, and what it has beside them."""
    kind = draw.random()
    if kind < 0.25:  # few rows
        return (between(draw, 1, 64, 1), between(draw, 512, 40000, 64), between(draw, 1024, 16384, 64)), ""
    if kind < 0.50:  # some hundred
        beside = " workspace=64m" if draw.random() < 0.4 else ""
        return (between(draw, 65, 1024, 8), between(draw, 512, 16384, 64), between(draw, 512, 20000, 64)), beside
    if kind < 0.65:  # few tiles
        beside = " workspace=64m" if draw.random() < 0.5 else ""
        return (between(draw, 32, 640, 8), between(draw, 32, 640, 8), between(draw, 8192, 65536, 64)), beside
    if kind < 0.75:  # batches
        sizes = tuple(between(draw, 96, 2048, 32) for _ in range(3))
        return sizes, f" batch={between(draw, 4, 96, 1)}"
    beside = draw.choice(("", "", " epilogue=bias_gelu", " epilogue=swiglu"))
    return (between(draw, 1025, 12000, 8), between(draw, 1024, 14336, 64), between(draw, 256, 12000, 64)), beside


def draw_problem(draw):
    while True:
        (m, n, k), beside = draw_sizes(draw)
        names, weights = zip(*TYPES)
        dtype = draw.choices(names, weights)[0]
        batch = int(beside.split("batch=")[1]) if "batch=" in beside else 1
        size = 1 if dtype.startswith(("e4m3", "s8")) else 2
        if dtype == "s8" and "epilogue" in beside:
            continue
        operations = 2.0 * m * n * k * batch
        moved = (m * k + n * k) * batch * size + m * n * batch * 4
        if operations * size / 2 <= MOST_OPERATIONS and moved <= MOST_BYTES:
            return f"{m}x{n}x{k} {dtype}{beside}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    draw = random.Random(int(sys.argv[1]))
    seen = set()
    for path in pathlib.Path(__file__).parent.glob("*.txt"):
        seen |= {line.split()[0] for line in path.read_text().splitlines() if line[:1].isdigit()}
    for _ in range(int(sys.argv[2])):
        problem = draw_problem(draw)
        while problem.split()[0] in seen:
            problem = draw_problem(draw)
        seen.add(problem.split()[0])
        print(problem)


if __name__ == "__main__":
    main()
