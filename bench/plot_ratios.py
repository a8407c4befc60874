#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what `jit-gemm bench --against cublaslt --out FILE` has measured: a bar for each problem, the best
rival's time over ours. Needs matplotlib.

  bench/plot_ratios.py bench/results/2026-11-25-h100-*.jsonl -o ratios.svg

Each file is a panel, named after its last part. Problems that have no rival are left out.
"""
import argparse
import json
import pathlib
import re

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "jit_gemm", "svg.fonttype": "none", "font.size": 7})
import matplotlib.pyplot as plt  # noqa: E402

AHEAD, BEHIND = "#2a7f4f", "#b5482f"


def label_of(problem):
    """`m=4096 n=4096 k=4096 a=e4m3 d=bf16` as 4096x4096x4096 e4m3 d=bf16."""
    sizes = re.match(r"m=(\d+) n=(\d+) k=(\d+)", problem)
    rest = [word for word in problem[sizes.end():].split() if not word.startswith("workspace=")]
    return " ".join(["x".join(sizes.groups())] + [word.removeprefix("a=") for word in rest])


def rows_of(path):
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = []
    for result in results:
        ratios = [one["ratio"] for one in result["entries"][1:] if not one["absent"]]
        if ratios:
            rows.append((label_of(result["problem"]), min(ratios)))
    return results[0], rows


def draw_panel(axes, title, rows):
    names, ratios = zip(*reversed(rows))
    # By what the label says: 0.996 is 1.00, a tie, and not behind.
    bars = axes.barh(names, ratios, color=[AHEAD if round(ratio, 2) >= 1 else BEHIND for ratio in ratios], height=0.7)
    axes.axvline(1, color="black", linewidth=0.8)
    labels = axes.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios], padding=2)
    for label in labels:  # those just below 1 stand on the line
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlim(0, max(2.2, 1.12 * max(ratios)))
    axes.margins(y=0.02)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("-o", "--output", required=True, help="the SVG to write")
    arguments = parser.parse_args()

    panels = [(path.stem.split("-")[-1].replace("_", " "), *rows_of(path)) for path in arguments.files]
    heights = [len(rows) + 2 for _, _, rows in panels]
    figure, all_axes = plt.subplots(len(panels), 1, figsize=(7.2, 0.15 * sum(heights)), squeeze=False,
                                    gridspec_kw={"height_ratios": heights}, layout="constrained")
    for axes, (title, _, rows) in zip(all_axes[:, 0], panels):
        draw_panel(axes, title, rows)
    first = panels[0][1]
    figure.suptitle(f"Time of cuBLASLt {first['cublaslt'].split()[0]} (its best of 8) over jit_gemm's: to the right of the "
                    f"line jit_gemm is faster\n{first['device']}, CUDA {first['driver_cuda']}, {first['date'][:10]}")
    figure.savefig(arguments.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
