#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws pairs of a problem and a config of sm_100a, and runs each on the emulator under eight modes
with `jit-gemm run --verify`: right, without a finding, and the same bits in every mode.

Usage: test_pairs.py JIT_GEMM DRIVER

The draw is the same each time. JIT_GEMM_TEST_PAIRS=COUNT draws more, JIT_GEMM_TEST_SEED=NUMBER
draws others. What the library refuses is drawn again; a refusal has to name the config. Prints TAP.
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402

PAIRS = int(os.environ.get("JIT_GEMM_TEST_PAIRS", "400"))
SEED = int(os.environ.get("JIT_GEMM_TEST_SEED", "1"))
MODES = ["async=random,schedule=random", "async=latest,schedule=fair",
         "async=reorder,schedule=starve", "async=eager,schedule=deep",
         "async=random,schedule=starve,resident=1", "async=latest,schedule=random,elect=highest",
         "async=reorder,schedule=deep,resident=2,refuse=30", "async=random,schedule=fair,refuse=60"]
MOST_PRODUCTS = 24 << 20  # M * N * K * batch
FINDING = re.compile(r"^(error|warning) \[", re.MULTILINE)

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
]
EPILOGUE_WEIGHTS = [8, 2, 2, 2, 1]


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
    m, n, group = draw_shape(draw)
    clusters = PAIR_CLUSTERS if group == 2 else SINGLE_CLUSTERS
    cluster = draw.choices(clusters, CLUSTER_WEIGHTS[:len(clusters)])[0]
    stages = draw.choice([2, 2, 3, 4])
    words = [f"mma={m}x{n}", f"cta_group={group}", f"cluster={cluster[0]}x{cluster[1]}",
             f"stages={stages}"]
    optional = [("acc_stages", [1, 2], 0.3), ("raster", ["m", "n"], 0.3),
                ("swizzle", [1, 2, 4], 0.3), ("out_stages", [1, 2], 0.2), ("pdl", [0], 0.1),
                ("scheduler", ["single", "static", "clc"], 0.6), ("split_k", [2, 3, 4], 0.2),
                ("split_order", ["arrival"], 0.2), ("k_group", [2, 4], 0.2),
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
    """(words of the problem and config, words of the launch, CTAs of a cluster)"""
    a, b, block, d_types = draw.choices(TYPES, TYPE_WEIGHTS)[0]
    config, (tile_m, tile_n), cluster, stages = draw_config(draw)
    while True:
        batch = draw.choices([1, 2, 3], [8, 1, 1])[0]
        m, n, k = draw_size(draw, tile_m), draw_size(draw, tile_n), draw_k(draw, block, stages)
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
    words.append("layout=" + draw.choices(["nt", "nn", "tn", "tt"], [5, 1, 1, 1])[0])
    if draw.random() < 0.15:
        words.append("d_layout=column")
    if draw.random() < 0.15:  # loaded by threads, not by TMA
        element = 128 // block
        words.append(f"input_align={draw.choice([n for n in (1, 2, 4, 8) if n >= element])}")
    if draw.random() < 0.15:  # D, C and operands moved by threads
        least = LEAST_ALIGNMENT[d]
        words.append(f"output_align={draw.choice([size for size in (1, 2, 4, 8) if size >= least])}")
    if draw.random() < 0.2:
        words.append("c=" + draw.choice([d, "s32" if a == "s8" else "f32"]))
        launch += ["--beta", draw.choice(["2", "2", "-0.5"])]
    if draw.random() < 0.2:
        words.append(draw.choice(["a_scale=tensor", "b_scale=vector", "a_scale=vector b_scale=tensor"]))
    words += ["--config", " ".join(config)]
    words += draw.choices(EPILOGUES, EPILOGUE_WEIGHTS)[0]
    return words, launch, cluster[0] * cluster[1]


class Runner:
    def __init__(self, tool, driver, folder):
        self.tool, self.driver, self.folder = tool, driver, pathlib.Path(folder)

    def call(self, words, setting=""):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("JIT_GEMM_") or name == "JIT_GEMM_NVRTC"}
        kept.update({"JIT_GEMM_DRIVER": self.driver, "JIT_GEMM_EMULATOR": setting,
                     "JIT_GEMM_CACHE_DIR": str(self.folder / "cache")})
        return subprocess.run([self.tool, *words, "--arch", "sm_100a"], env=kept,
                              capture_output=True, text=True, timeout=300, check=False)

    def refusal(self, words):
        """Why the library has no kernel for this; None if it has."""
        done = self.call(["build", *words, "--emit", "source", "-o", "-"])
        return None if done.returncode == 0 else done.stderr.strip()

    def run(self, number, words, launch, ctas):
        """What was wrong, or an empty text. With a C, one of the runs has a beta of 0."""
        first = None
        for index, mode in enumerate(MODES):
            no_c = index == 3 and "--beta" in launch
            path = self.folder / f"d{number}"
            setting = (f"{mode},sms={max(4, 2 * ctas)},seed={number * len(MODES) + index},"
                       f"threads=1,show=advice{coverage.setting()}")
            sizes = [*launch[:-1], "0"] if no_c else launch
            done = self.call(["run", *words, *sizes, "--seed", str(number), "--verify", "--save",
                              str(path)], setting)
            last = done.stdout.splitlines()[-1] if done.stdout.strip() else ""
            if done.returncode != 0 or not last.startswith("PASS ") or FINDING.search(done.stderr):
                return f"{setting}\n{done.stdout}{done.stderr}"
            data = path.read_bytes()
            path.unlink()
            if first is None or "arrival" in " ".join(words):
                first = data
            if data != first and not no_c:
                return f"{setting}\nother bits than with the first mode"
        return ""


def draw_legal(runner, count):
    """(pairs, refusals by their text)"""
    draw, pairs, refusals = random.Random(SEED), [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        while len(pairs) < count:
            drawn = [draw_pair(draw) for _ in range(64)]
            for pair, refusal in zip(drawn, pool.map(lambda one: runner.refusal(one[0]), drawn)):
                if refusal is None:
                    pairs.append(pair)
                else:
                    refusals[re.sub(r"\d+", "N", refusal.splitlines()[0])] += 1
            if sum(refusals.values()) > 20 * count:
                break
    return pairs[:count], refusals


def main():
    tool, driver = sys.argv[1:]
    failed = 0
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_pairs_") as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        runner = Runner(tool, driver, folder)
        pairs, refusals = draw_legal(runner, PAIRS)
        print(f"1..{len(pairs) + 1}")
        for reason, count in refusals.most_common():
            print(f"# refused {count} times: {reason}")
        named = all("config" in reason or "problem" in reason for reason in refusals)
        enough = len(pairs) == PAIRS and sum(refusals.values()) < 2 * PAIRS
        failed += not (named and enough)
        print(f"{'ok' if named and enough else 'not ok'} 1 - refusals name what is wrong")
        jobs = [pool.submit(runner.run, number, *pair) for number, pair in enumerate(pairs)]
        for number, (pair, job) in enumerate(zip(pairs, jobs), 2):
            wrong = job.result()
            failed += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {number} - {shlex.join(pair[0] + pair[1])}",
                  flush=True)
            for line in wrong.splitlines()[:40]:
                print("# " + line)
    coverage.finish()
    sys.exit(1 if failed else 0)


main()
