#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws 160 pairs of a problem and a config, takes as few as have one of each class of
pair_classes.py, and runs each on the emulator under two of eight modes in turn, each with a seed of
its own: right, without a finding, the same bits in every mode.

Usage: test_pairs.py JIT_GEMM DRIVER

The draw is the same each time. JIT_GEMM_TEST_PAIRS=COUNT draws so many and runs all of them,
JIT_GEMM_TEST_SEED=NUMBER draws others, JIT_GEMM_TEST_MODES=8 runs each pair under all modes,
JIT_GEMM_TEST_SCALED=1 draws only those with scales of blocks, and counts their classes; drawing goes on until every class has enough pairs. What the library refuses is drawn again; a refusal has to name what is wrong. Prints TAP.
"""
import collections
import os
import pathlib
import random
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import emulator_coverage as coverage  # noqa: E402
from emulated_runs import Runner, complaint, pool, print_result  # noqa: E402
from pair_classes import CLASSES, classes_of  # noqa: E402
from pair_draws import draw_pair  # noqa: E402
from scaled_pair_draws import draw_scaled_pair  # noqa: E402

PAIRS = int(os.environ.get("JIT_GEMM_TEST_PAIRS", "160"))
SEED = int(os.environ.get("JIT_GEMM_TEST_SEED", "2"))
LEAST = 1  # pairs of each class
COMPILE = 1 << 25  # multiplications that the emulator does while a kernel is compiled
ONLY_SCALED = os.environ.get("JIT_GEMM_TEST_SCALED") == "1"
SCALED = 1 if ONLY_SCALED else 1 / 3  # of the pairs that are drawn: they have scales of blocks
EVERY = 8 // int(os.environ.get("JIT_GEMM_TEST_MODES", "2"))  # which of the modes a pair has
MODES = ["async=random,schedule=random", "async=latest,schedule=fair",
         "async=reorder,schedule=starve", "async=eager,schedule=deep",
         "async=random,schedule=starve,resident=1", "async=latest,schedule=random,elect=highest",
         "async=reorder,schedule=deep,resident=2,refuse=30", "async=random,schedule=fair,refuse=60"]


def is_of_scales(name):
    """Only pairs with scales of blocks are of this class."""
    return "scales of blocks" in name or "_scale=" in name or "nvfp4" in name or "mxfp" in name


WANTED = [name for name in CLASSES if is_of_scales(name) or not ONLY_SCALED]


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


def take_few(pairs):
    """Pairs that have between them LEAST of each class: always the one that adds most for its cost."""
    counts, taken, left = collections.Counter(), [], {pair: classes_of(pair) for pair in pairs}

    def value(pair):
        return sum(counts[name] < LEAST for name in left[pair]) / (1 + pair.products / COMPILE)

    while left and value(best := max(left, key=value)) > 0:
        taken.append(best)
        counts.update(left.pop(best))
    return taken


def draw_legal(suite, count):
    """(pairs, all different; refusals by their text); drawn until each class has LEAST, too."""
    draw, pairs = random.Random(SEED), {}
    counts, refusals = collections.Counter(), collections.Counter()
    with pool() as workers:
        for _ in range(count // 8 + 8):  # far more than it takes
            if len(pairs) >= count and all(counts[name] >= LEAST for name in WANTED):
                break
            drawn = [draw_scaled_pair(draw) if draw.random() < SCALED else draw_pair(draw)
                     for _ in range(64)]
            for pair, refusal in zip(drawn, workers.map(suite.look_at, drawn)):
                if refusal is not None:
                    refusals[re.sub(r"\d+", "N", refusal)] += 1
                    continue
                classes = classes_of(pair)
                wanted = len(pairs) < count or any(counts[name] < LEAST for name in classes if name in WANTED)
                if wanted and pair.text not in pairs:
                    pairs[pair.text] = pair
                    counts.update(classes)
    return list(pairs.values()), refusals


def main():
    tool, driver = sys.argv[1:]
    coverage.begin()
    with tempfile.TemporaryDirectory(prefix="jit_gemm_pairs_") as folder, pool() as workers:
        suite = Suite(tool, driver, folder)
        drawn, refusals = draw_legal(suite, PAIRS)
        pairs = drawn if "JIT_GEMM_TEST_PAIRS" in os.environ else take_few(drawn)
        counts = collections.Counter(name for pair in pairs for name in classes_of(pair))
        jobs = [(pair, workers.submit(suite.run, number, pair)) for number, pair in enumerate(pairs)]
        for reason, count in refusals.most_common():
            print(f"# refused {count} times: {reason}")
        named = all("config" in reason or "problem" in reason for reason in refusals)
        results = [("refusals name what is wrong", "" if named else "one does not"),
                   (f"{len(drawn)} pairs are drawn, and fewer refusals than twice as many",
                    "" if len(drawn) >= PAIRS and sum(refusals.values()) < 2 * len(drawn) else "no")]
        results += [(f"{counts[name]} pairs: {name}",
                     "" if counts[name] >= LEAST else f"expected {LEAST} at least")
                    for name in WANTED]
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
