#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws pairs of a problem and a config of sm_100a, and runs each on the emulator under two of eight
modes in turn, each with a seed of its own: right, without a finding, the same bits in every mode.

Usage: test_pairs.py JIT_GEMM DRIVER

The draw is the same each time. JIT_GEMM_TEST_PAIRS=COUNT draws more, JIT_GEMM_TEST_SEED=NUMBER
draws others, JIT_GEMM_TEST_MODES=8 runs each pair under all
modes; drawing goes on until every class of pair_classes.py has enough pairs. What the library
refuses is drawn again; a refusal has to name what is wrong. Prints TAP.
"""
import collections
import os
import pathlib
import random
import re
import shlex
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from pair_classes import CLASSES, Pair, classes_of  # noqa: E402

PAIRS = int(os.environ.get("JIT_GEMM_TEST_PAIRS", "100"))
SEED = int(os.environ.get("JIT_GEMM_TEST_SEED", "1"))
LEAST = 4  # pairs of each class
EVERY = 8 // int(os.environ.get("JIT_GEMM_TEST_MODES", "2"))  # which of the modes a pair has
MODES = ["async=random,schedule=random", "async=latest,schedule=fair",
         "async=reorder,schedule=starve", "async=eager,schedule=deep",
         "async=random,schedule=starve,resident=1", "async=latest,schedule=random,elect=highest",
         "async=reorder,schedule=deep,resident=2,refuse=30", "async=random,schedule=fair,refuse=60"]
MOST_PRODUCTS = 24 << 20  # M * N * K * batch

# Type of A, of B, elements of K in 128 bytes, and types of D.
TYPES = [("bf16", "bf16", 64, ["bf16", "f32", "f16", "e4m3"]), ("f16", "f16", 64, ["f16", "f32"]),
         ("tf32", "tf32", 32, ["f32", "bf16"]), ("e4m3", "e4m3", 128, ["bf16", "e4m3", "f32"]),
         ("e4m3", "e5m2", 128, ["f16", "e5m2"]), ("s8", "s8", 128, ["s32", "bf16"])]
TYPE_WEIGHTS = [6, 2, 2, 2, 1, 2]
LEAST_ALIGNMENT = {"e4m3": 1, "e5m2": 1, "bf16": 2, "f16": 2, "f32": 4, "s32": 4}
SINGLE_CLUSTERS = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (4, 4)]
PAIR_CLUSTERS = [(2, 1), (4, 1), (2, 2), (4, 2), (2, 4), (4, 4)]
CLUSTER_WEIGHTS = [8, 4, 4, 3, 2, 2, 1, 1]
EPILOGUES = [
    [],
    ["--epilogue", "d = relu(acc * s);", "--operand", "s:scalar:f32"],
    ["--epilogue", "d = gelu(acc + bias) * u;", "--operand", "bias:row_vector:bf16",
     "--operand", "u:column_vector:f32"],
    ["--epilogue", "d = acc + r;", "--operand", "r:matrix:bf16"],
    ["--epilogue", "aux = acc; d = tanh(acc * u + x);", "--operand", "u:row_vector:f32",
     "--operand", "x:matrix:f32", "--operand", "aux:matrix:f32:out"],
    ["--epilogue", "d = s = acc; b = acc * acc; m = abs(acc);", "--operand", "s:column_vector:f32:sum",
     "--operand", "b:row_vector:f32:sum", "--operand", "m:scalar:f32:max"],
    ["--epilogue", "d = silu(acc0) * acc1;"],
    ["--epilogue", "d = gelu(acc0 + b0) * acc1 + b1;", "--operand", "b:pair_vector:bf16"],
]
EPILOGUE_WEIGHTS = [8, 2, 2, 2, 1, 2, 3, 2]


def draw_shape(draw):
    """(M, N, cta_group) of an MMA."""
    if draw.random() < 0.5:
        return draw.choice([128, 256, 256]), draw.choice([32, 64, 96, 128, 192, 256]), 2
    return draw.choice([64, 128, 128]), draw.choice([16, 32, 48, 64, 128, 192, 256]), 1


def draw_size(draw, tile):
    """A size around the borders of tiles."""
    return draw.choice([1, draw.randint(2, 40), tile - 1 if tile > 1 else 1, tile, tile + 1,
                        2 * tile + draw.randint(0, 9), 3 * tile, draw.randint(1, 3 * tile)])


def draw_k(draw, block, stages):
    return draw.choice([1, draw.randint(2, block - 1), block, 2 * block + draw.randint(1, block),
                        (stages + 2) * block + draw.randint(1, block - 1),
                        draw.randint(1, 8 * block)])


def draw_config(draw):
    """(its words, rows and columns of D in a tile, the cluster, stages)"""
    m, n, group = draw_shape(draw)
    clusters = PAIR_CLUSTERS if group == 2 else SINGLE_CLUSTERS
    cluster = draw.choices(clusters, CLUSTER_WEIGHTS[:len(clusters)])[0]
    stages = draw.choice([2, 2, 3, 4])
    words = [f"mma={m}x{n}", f"cta_group={group}", f"cluster={cluster[0]}x{cluster[1]}",
             f"stages={stages}"]
    optional = [("acc_stages", [1, 2], 0.3), ("raster", ["m", "n"], 0.3),
                ("raster_group", [1, 2, 4], 0.3), ("out_stages", [1, 2], 0.2), ("pdl", [0], 0.1),
                ("scheduler", ["single", "static", "clc"], 0.6), ("split_k", [2, 3, 4], 0.2),
                ("split_order", ["unordered"], 0.2), ("k_group", [2, 4], 0.2),
                ("swap_ab", [1], 0.25)]
    for key, values, chance in optional:
        if draw.random() < chance:
            words.append(f"{key}={draw.choice(values)}")
    if not any(word.startswith("split_k=") for word in words):
        words = [word for word in words if not word.startswith("split_order=")]
    swapped = "swap_ab=1" in words
    tile = (n, m) if swapped else (m, n)
    return words, tile, cluster, stages


def draw_pair(draw):
    a, b, block, d_types = draw.choices(TYPES, TYPE_WEIGHTS)[0]
    config, (tile_m, tile_n), cluster, stages = draw_config(draw)
    epilogue = draw.choices(EPILOGUES, EPILOGUE_WEIGHTS)[0]
    gated = any("acc0" in word for word in epilogue)
    halves = gated and draw.random() < 0.5
    layout = draw.choices(["nt", "nn", "tn", "tt"], [5, 1, 1, 1])[0]
    parts = next((int(word[8:]) for word in config if word.startswith("split_k=")), 1)
    # Columns of B that a gated problem may have: pairs, or halves that a TMA copy can begin at.
    step_n = 32 if halves and layout in ("nn", "tn") else 2 if gated else 1
    while True:
        batch = draw.choices([1, 2, 3], [8, 1, 1])[0]
        m, n, k = draw_size(draw, tile_m), draw_size(draw, tile_n), draw_k(draw, block, stages)
        n += -n % step_n
        k = max(k, block * (parts - 1) + 1)
        if m * n * k * batch <= MOST_PRODUCTS:
            break
    d = draw.choice(d_types)
    words = [f"a={a}", f"b={b}", f"d={d}"]
    launch = []
    if draw.random() < 0.2:  # other sizes than those planned for
        words += ["m=1024", "n=1024", "k=1024", "dynamic=m,n,k"]
        launch += ["--m", str(m), "--n", str(n), "--k", str(k)]
    else:
        words += [f"m={m}", f"n={n}", f"k={k}"]
    if batch > 1:
        words.append(f"batch={batch}")
    words.append("layout=" + layout)
    if draw.random() < 0.15:
        words.append("d_layout=column")
    if cluster == (1, 1) and "scheduler=clc" not in config and draw.random() < 0.6:
        # Loaded by threads, not by TMA.
        element = 128 // block
        words.append(f"input_align={draw.choice([n for n in (1, 2, 4, 8) if n >= element])}")
    if draw.random() < 0.15:  # D, C and operands moved by threads
        least = LEAST_ALIGNMENT[d]
        words.append(f"output_align={draw.choice([size for size in (1, 2, 4, 8) if size >= least])}")
    if not gated and draw.random() < 0.2:
        words.append("c=" + draw.choice([d, "s32" if a == "s8" else "f32"]))
        launch += ["--beta", draw.choice(["2", "2", "-0.5"])]
    if draw.random() < 0.2:
        words.append(draw.choice(["a_scale=tensor", "b_scale=vector", "a_scale=vector b_scale=tensor"]))
    if halves:
        words.append("pair=halves")
    words += ["--config", " ".join(config)]
    return Pair(words + epilogue, launch, m, n, k, batch, block, cluster,
                EPILOGUES.index(epilogue))


class Suite:
    def __init__(self, tool, driver, folder):
        self.runner, self.folder = Runner(tool, driver, folder), pathlib.Path(folder)

    def look_at(self, pair):
        """Why the library has no kernel for this; None if it has, and then `pair` knows its config."""
        done = self.runner.run(["plan", *pair.words], f"sms={pair.sms}", covered=False)
        if done.returncode == 0:
            pair.read_plan(done.stdout)
            return None
        return next(line for line in done.stderr.splitlines() if "error:" in line)

    def run(self, number, pair):
        """What was wrong, or an empty text. The first run is compared with the reference, the
        others with its bits, or with the reference too where the bits may differ: parts added as
        they come, outputs beside D, and a run with a beta of 0 where there is a C."""
        first = None
        for index, mode in list(enumerate(MODES))[number % EVERY::EVERY]:
            no_c = index == 3 and "--beta" in pair.launch
            alone = first is None or no_c or pair.adds_in_any_order or pair.has_outputs
            path = self.folder / f"d{number}"
            setting = (f"{mode},sms={pair.sms},seed={number * len(MODES) + index},threads=1,"
                       "show=advice")
            sizes = [*pair.launch[:-1], "0"] if no_c else pair.launch
            done = self.runner.run(["run", *pair.words, *sizes, "--seed", number, "--save",
                                    path, *(["--verify"] if alone else [])], setting)
            wrong = complaint(done, "PASS" if alone else "DONE")
            if wrong:
                return f"{setting}\n{wrong}"
            data = path.read_bytes()
            path.unlink()
            if first is None and not no_c:
                first = data
            if data != first and not no_c and not pair.adds_in_any_order:
                return f"{setting}\nother bits than with the first mode"
        return ""


def draw_legal(suite, count):
    """(pairs, all different; how many of each class; refusals by their text)"""
    draw, pairs = random.Random(SEED), {}
    counts, refusals = collections.Counter(), collections.Counter()
    with pool() as workers:
        for _ in range(count // 8 + 8):  # far more than it takes
            if len(pairs) >= count and all(counts[name] >= LEAST for name in CLASSES):
                break
            drawn = [draw_pair(draw) for _ in range(64)]
            for pair, refusal in zip(drawn, workers.map(suite.look_at, drawn)):
                if refusal is not None:
                    refusals[re.sub(r"\d+", "N", refusal)] += 1
                    continue
                classes = classes_of(pair)
                wanted = len(pairs) < count or any(counts[name] < LEAST for name in classes)
                if wanted and pair.text not in pairs:
                    pairs[pair.text] = pair
                    counts.update(classes)
    return list(pairs.values()), counts, refusals


def main():
    tool, driver = sys.argv[1:]
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_pairs_") as folder, pool() as workers:
        suite = Suite(tool, driver, folder)
        pairs, counts, refusals = draw_legal(suite, PAIRS)
        jobs = [(pair, workers.submit(suite.run, number, pair)) for number, pair in enumerate(pairs)]
        for reason, count in refusals.most_common():
            print(f"# refused {count} times: {reason}")
        named = all("config" in reason or "problem" in reason for reason in refusals)
        results = [("refusals name what is wrong", "" if named else "one does not"),
                   (f"{len(pairs)} pairs, and fewer refusals than twice as many",
                    "" if len(pairs) >= PAIRS and sum(refusals.values()) < 2 * PAIRS else "no")]
        results += [(f"{counts[name]} pairs: {name}",
                     "" if counts[name] >= LEAST else f"expected {LEAST} at least")
                    for name in CLASSES]
        print(f"1..{len(results) + len(jobs)}")
        failed = 0
        for number, (name, wrong) in enumerate(results, 1):
            print_result(number, name, wrong)
            failed += bool(wrong)
        for number, (pair, job) in enumerate(jobs, len(results) + 1):
            wrong = job.result()
            print_result(number, pair.text, wrong)
            failed += bool(wrong)
    coverage.finish()
    sys.exit(1 if failed else 0)


main()
