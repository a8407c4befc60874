#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# %% [markdown]
# # Where it is faster, and where not
#
# `jit-gemm bench --against cublaslt --out FILE` keeps a line of JSON for each problem. Here each
# is a point: how much work it is, and the time of cuBLASLt's best algorithm over ours. Needs
# matplotlib.
#
#     python3 06_ratio_by_shape.py [PICTURE [RESULTS...]]

# %%
import json
import math
import pathlib
import sys

import matplotlib.pyplot as plt

KEPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "results"
picture = sys.argv[1] if len(sys.argv) > 1 else None
paths = [pathlib.Path(word) for word in sys.argv[2:]] or sorted(
    path for path in KEPT.glob("2026-11-25-h100-*.jsonl") if not path.stem.endswith("regret")
)


# %%
def read(path):
    """(FLOP, ratio, problem) of each that cuBLASLt could do as well."""
    for line in path.read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        ratios = [one["ratio"] for one in result["entries"][1:] if not one["absent"]]
        if ratios:
            yield result["flops"], min(ratios), result["problem"]


sets = {path.stem.split("-")[-1].replace("_", " "): list(read(path)) for path in paths}
first = json.loads(paths[0].read_text(encoding="utf-8").splitlines()[0])

# %%
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for (name, points), marker in zip(sets.items(), "osD^vPX*"):
    if points:
        axes.scatter(
            [one[0] for one in points], [one[1] for one in points], label=name, marker=marker, s=22
        )
axes.axhline(1, color="black", linewidth=0.8)
axes.set_xscale("log")
axes.set_yscale("log", base=2)
axes.set_yticks([0.75, 1, 1.5, 2, 3, 4], ["0.75", "1", "1.5", "2", "3", "4"])
axes.set_xlabel("floating-point operations of the problem")
axes.set_ylabel("time of cuBLASLt over ours")
axes.set_title(
    f"{first['device']}, {first['date'][:10]}: above the line jit_gemm is faster", fontsize=10
)
axes.legend(fontsize=8, ncols=2)
axes.grid(alpha=0.3)

# %%
for name, points in sets.items():
    if points:
        mean = math.exp(sum(math.log(one[1]) for one in points) / len(points))
        worst = min(points, key=lambda one: one[1])
        print(
            f"{name:12} {len(points):3} problems, geometric mean {mean:.2f}, worst {worst[1]:.2f}"
            f" ({worst[2]})"
        )
figure.savefig(picture, dpi=120) if picture else plt.show()
