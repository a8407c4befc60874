#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in what a CTA waits for before it ends, each planted in the device code before NVRTC compiles
it: a neighbour's arrival, or its read, may still be on its way. `run --verify` on the emulator has to
see them by a finding: numbers are right.

Usage: test_drain_faults.py JIT_GEMM EMULATOR NVRTC

Prints TAP.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from planted_faults import report_by_kernel  # noqa: E402

SM90A = ["512x256x320", "bf16", "--arch", "sm_90a", "--config"]
SM100A = ["512x256x320", "bf16", "--arch", "sm_100a", "--config"]
KERNELS = {
    "sm_90a, multicast": [*SM90A, "tile=64x128 cluster=2x1 stages=3"],
    "sm_90a, parts of K": ["129x136x520", "bf16", "--arch", "sm_90a", "--config",
                           "tile=64x128 cluster=1x1 stages=3 split_k=3 split_order=cluster"],
    "sm_100a, pairs": [*SM100A, "mma=256x64 cta_group=2 cluster=2x2 scheduler=clc stages=3"],
    "sm_100a, parts of K": ["129x136x520", "bf16", "--arch", "sm_100a", "--config",
                            "mma=128x64 stages=3 split_k=3 split_order=cluster"],
}
STAGES = "for (u32 i = 0; i < kStages; ++i) {\n            wait_empty(state_.stage);"
LOADERS, PARTS = ("sm_90a, multicast", "sm_100a, pairs"), ("sm_90a, parts of K", "sm_100a, parts of K")

# What it is, the device code, what stands in its place, and the kernels that each have to show it.
FAULTS = [
    ("the loader waits for no stage", STAGES, STAGES.replace("i < kStages", "i + kStages < kStages"), LOADERS),
    ("the loader does not wait for the last stage", STAGES, STAGES.replace("kStages", "kStages - 1"), LOADERS),
    ("the loader waits for the first stage only", STAGES, STAGES.replace("kStages", "1"), LOADERS),
    ("the scheduler waits for no response", "            drain(state);\n        }", "        }", LOADERS[1:]),
    ("parts of K wait for no reader", "Storage::wait(storage.ended[warp], 2);", "", PARTS),
]

sys.exit(report_by_kernel(sys.argv[1:], KERNELS, FAULTS))
