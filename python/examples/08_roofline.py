#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# %% [markdown]
# # Under the roof
#
# A product is bound by the tensor cores or by memory: by its operations for each byte that it must
# move at least. The roof has the rates of NVIDIA's data sheet; points are kept results; the line
# is what the cost model predicts for N = K = 8192 as M grows. Needs matplotlib; the model needs no
# GPU.
#
#     python3 08_roofline.py [PICTURE [RESULTS...]]

# %%
import json
import pathlib
import re
import sys

import matplotlib.pyplot as plt

import jit_gemm

KEPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "results"
picture = sys.argv[1] if len(sys.argv) > 1 else None
paths = [pathlib.Path(word) for word in sys.argv[2:]] or sorted(
    KEPT / f"2026-11-25-h100-{name}.jsonl" for name in ("decode", "few_tiles", "large")
)
FLOPS, BYTES_S = 989.4e12, 3.35e12  # bf16, dense; H100 SXM5
N = K = 8192


# %%
def intensity(m, n, k):
    """Operations for each byte of A, B and D in bf16, each moved once."""
    return 2 * m * n * k / (2 * (m * k + n * k + m * n))


def points(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        sizes = re.fullmatch(r"m=(\d+) n=(\d+) k=(\d+) a=bf16( workspace=\w+)?", result["problem"])
        if sizes:
            yield intensity(*map(int, sizes.groups()[:3])), result["entries"][0]["tflops"]


measured = {path.stem.split("-")[-1].replace("_", " "): list(points(path)) for path in paths}
with jit_gemm.Context("none", arch="sm_90a", plan_for="h100") as context:
    bands = jit_gemm.plan_bands(context, f"n={N} k={K} a=bf16 dynamic=m", "m=1..8192")
predicted = [
    (m, us) for band in bands for m, us in ((band.first, band.first_us), (band.last, band.last_us))
]

# %%
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
xs = [0.5, FLOPS / BYTES_S, 5000]
axes.plot(
    xs,
    [min(FLOPS, BYTES_S * x) / 1e12 for x in xs],
    color="black",
    linewidth=1.2,
    label="H100 by its data sheet",
)
axes.plot(
    [intensity(m, N, K) for m, _ in predicted],
    [2e-6 * m * N * K / us for m, us in predicted],
    color="grey",
    linestyle="--",
    label=f"the model, N = K = {N}",
)
for (name, rows), marker in zip(measured.items(), "osD^vP"):
    axes.scatter(
        [x for x, _ in rows], [y for _, y in rows], label=f"measured, {name}", marker=marker, s=22
    )
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xlabel("operations for each byte of A, B and D")
axes.set_ylabel("TFLOP/s, bf16")
axes.set_title("NVIDIA H100 80GB HBM3, results of 2026-11-25", fontsize=10)
axes.legend(fontsize=8)
axes.grid(alpha=0.3, which="both")

# %%
above = [x for rows in measured.values() for x, y in rows if y * 1e12 > min(FLOPS, BYTES_S * x)]
print(
    f"{sum(map(len, measured.values()))} points, {len(above)} above the roof;"
    f" {len(bands)} kernels for M = 1..8192"
)
figure.savefig(picture, dpi=120) if picture else plt.show()
