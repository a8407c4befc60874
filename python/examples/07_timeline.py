#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# %% [markdown]
# # What each role did when
#
# A kernel has roles: warps that load, warps that multiply, warps that write. `jit-gemm trace
# PROBLEM -o FILE.json` says which tile each was at, and when. On a GPU that is time; on the
# emulator it is steps, which show the order only. Needs matplotlib, and `jit-gemm` in the PATH if
# no file is given.
#
#     python3 07_timeline.py [PICTURE [TRACE.json]]

# %%
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import matplotlib.pyplot as plt

picture = sys.argv[1] if len(sys.argv) > 1 else None


# %%
def trace():
    """On an emulated GPU of four multiprocessors, so that each has several tiles."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.json")
        subprocess.run(
            [
                "jit-gemm",
                "trace",
                "768x512x256",
                "bf16",
                "--config",
                "tile=128x128",
                "--device",
                "emulator",
                "--arch",
                "sm_90a",
                "-o",
                path,
            ],
            env={**os.environ, "JIT_GEMM_EMULATOR": "sms=4"},
            check=True,
        )
        return json.loads(path.read_text(encoding="utf-8"))


data = (
    json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    if len(sys.argv) > 2
    else trace()
)
bars = [event for event in data["traceEvents"] if event["ph"] == "X"]
names = {
    (event["pid"], event["tid"]): event["args"]["name"]
    for event in data["traceEvents"]
    if event["name"] == "thread_name"
}
rows = sorted({(bar["pid"], bar["tid"]) for bar in bars})[:24]
height = {row: i for i, row in enumerate(rows)}

# %%
figure, axes = plt.subplots(figsize=(8, 0.24 * len(rows) + 1.2), layout="constrained")
tiles = sorted({(bar["args"]["row"], bar["args"]["col"]) for bar in bars})
colours = plt.get_cmap("tab20")
for bar in bars:
    row = height.get((bar["pid"], bar["tid"]))
    if row is not None:
        tile = tiles.index((bar["args"]["row"], bar["args"]["col"]))
        axes.barh(
            row,
            bar["dur"],
            left=bar["ts"],
            color=colours(tile % 20),
            edgecolor="white",
            linewidth=0.5,
        )
axes.set_yticks(
    range(len(rows)), [f"CTA {pid}, {names[pid, tid]}" for pid, tid in rows], fontsize=7
)
axes.margins(y=0.01)
axes.invert_yaxis()
axes.set_xlabel("thousands of steps of the emulator" if data["otherData"]["emulated"] else "us")
axes.set_title(
    f"{data['otherData']['problem']}, {data['otherData']['device']}: a colour for each tile",
    fontsize=9,
)

# %%
print(f"{len(bars)} bars of {len({bar['pid'] for bar in bars})} CTAs, {len(tiles)} tiles")
figure.savefig(picture, dpi=120) if picture else plt.show()
