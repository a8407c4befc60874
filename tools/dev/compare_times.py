#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Modelled times beside measured ones.

Takes problems and configs with measured times from files of results (bench/results: lines of
`jit-gemm bench --out`, and of `jit-gemm tune` with several candidates), asks the time model
for each, and prints errors and, for each problem with several configs, the rank correlation.
Pairs are dealt out by a hash of their text: constants are fitted on the half `fit`, and the
half `kept` says how good they are.

    compare_times.py build/tools/jit-gemm bench/results/2026-11-25-h100-*.jsonl --limit 40
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import zlib


def half_of(problem):
    """All configs of a problem are in one half."""
    return "fit" if zlib.crc32(problem.encode()) % 2 == 0 else "kept"


def read_pairs(paths):
    """Problem, config, microseconds and clock (0: unknown) of every measured pair."""
    pairs = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                result = json.loads(line)
                if "candidates" in result:
                    for candidate in result["candidates"]:
                        key = (result["problem"], candidate["config"])
                        pairs.setdefault(key, (candidate["measured_us"], 0))
                elif "entries" in result:
                    own = result["entries"][0]
                    if not own.get("absent"):
                        key = (result["problem"].split(" config=")[0], result["config"])
                        pairs[key] = (own["median_us"], own.get("sm_mhz", 0))
    return pairs


def sizes_of(problem):
    words = dict(word.split("=", 1) for word in problem.split() if "=" in word)
    return tuple(int(words.get(key, 1)) for key in ("m", "n", "k", "batch"))


def cost_of(problem):
    """What the model has to run, roughly."""
    m, n, k, batch = sizes_of(problem)
    return batch * max(m, 64) * max(n, 64) * k


def choose(pairs, limit, most_cost, least_configs, order):
    """The same choice every time: problems in the order of their hash with `order`."""
    problems = {}
    for problem, config in pairs:
        problems.setdefault(problem, []).append(config)
    chosen = []
    for problem in sorted(problems, key=lambda text: zlib.crc32((order + text).encode())):
        if cost_of(problem) > most_cost or len(problems[problem]) < least_configs:
            continue
        if len(chosen) + len(problems[problem]) <= limit:
            chosen += [(problem, config) for config in problems[problem]]
    return chosen


def ask_model(tool, chip, problem, config, mhz, settings):
    text = f"{problem} config={config}"
    environment = dict(os.environ)
    if settings:
        environment["JIT_GEMM_EMULATOR"] = settings
    command = [tool, "bench", text, "--device", "emulator", "--arch", "sm_90a", "--modelled",
               "--chip", chip, "--mhz", str(mhz), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        print(f"# {text}: {done.stderr.strip().splitlines()[0]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])["modelled_us"]


def rank(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    for place, index in enumerate(order):
        ranks[index] = place
    return ranks


def correlation(a, b):
    """Spearman's, of two lists of at least three values."""
    x, y = rank(a), rank(b)
    middle = (len(x) - 1) / 2
    above = sum((i - middle) * (j - middle) for i, j in zip(x, y))
    below = sum((i - middle) ** 2 for i in x)
    return above / below


def summarise(name, rows):
    errors = [abs(row["modelled"] / row["measured"] - 1) for row in rows]
    if not errors:
        return
    ratios = [row["modelled"] / row["measured"] for row in rows]
    print(f"{name}: {len(rows)} pairs, error median {statistics.median(errors):.1%}, "
          f"worst {max(errors):.1%}, modelled over measured {statistics.median(ratios):.3f}")
    problems = {}
    for row in rows:
        problems.setdefault(row["problem"], []).append(row)
    ranks = [correlation([r["modelled"] for r in group], [r["measured"] for r in group])
             for group in problems.values()
             if len(group) >= 3 and max(r["measured"] for r in group)
             > 1.1 * min(r["measured"] for r in group)]
    if ranks:
        print(f"{name}: rank correlation, of {len(ranks)} problems whose configs differ by "
              f"more than 10 %: median {statistics.median(ranks):.2f}, worst {min(ranks):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="jit-gemm")
    parser.add_argument("results", nargs="+")
    parser.add_argument("--chip", default="h100")
    parser.add_argument("--limit", type=int, default=48, help="pairs (48)")
    parser.add_argument("--least-configs", type=int, default=1, help="of a problem (1)")
    parser.add_argument("--most-cost", type=float, default=2e10,
                        help="products of a problem; larger ones are left out (2e10)")
    parser.add_argument("--mhz", type=int, default=1980,
                        help="where the results do not say the clock (1980)")
    parser.add_argument("--half", choices=["fit", "kept", "both"], default="both")
    parser.add_argument("--order", default="order", help="which problems come first")
    parser.add_argument("--settings", default="", help="of the emulator, beside the model's")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.results)
    rows = []
    for problem, config in choose(pairs, arguments.limit, arguments.most_cost,
                                  arguments.least_configs, arguments.order):
        half = half_of(problem)
        if arguments.half not in (half, "both"):
            continue
        measured, mhz = pairs[(problem, config)]
        modelled = ask_model(arguments.tool, arguments.chip, problem, config,
                             mhz or arguments.mhz, arguments.settings)
        if modelled is None:
            continue
        rows.append({"problem": problem, "half": half, "measured": measured,
                     "modelled": modelled})
        print(f"{half:4} measured {measured:9.2f} modelled {modelled:9.2f} us "
              f"{modelled / measured - 1:+7.1%}  {problem}  {config}", flush=True)
    for half in ("fit", "kept"):
        summarise(half, [row for row in rows if row["half"] == half])
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
