#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in how eight warps of the Blackwell kernel share a tile, each planted in the device code before
NVRTC compiles it: `run --verify` on the emulator has to see them by wrong numbers or by a finding.

Usage: test_epilogue_warps_faults.py JIT_GEMM EMULATOR NVRTC

Prints TAP.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from planted_faults import report_by_kernel  # noqa: E402

CHIP = ["--arch", "sm_100a", "--config"]
ROWS, HALVES = "rows", "halves, transposed"
KERNELS = {
    ROWS: ["600x264x130", "bf16", *CHIP, "mma=256x128 cluster=2x1 scheduler=static epilogue_warps=8"],
    HALVES: ["200x1040x130", "bf16", "pair=halves", "--epilogue", "d = silu(acc0) * acc1;", *CHIP,
             "mma=128x32 cta_group=1 swap_ab=1 scheduler=static acc_stages=2 epilogue_warps=8"],
}

# What it is, the device code, what stands in its place, and the kernels that each have to show it.
FAULTS = [
    ("both warpgroups read the first one's columns", "Layout::first_warp() / 4 * kOwn)", "0)", (ROWS, HALVES)),
    ("an accumulator is given back behind acc0", "? Partition::kGateColumns + kOwn : kOwn", "? kOwn : kOwn",
     (HALVES,)),
    ("four warps give an accumulator back", "kReaderWarps * Cluster::kCtaGroup", "4 * Cluster::kCtaGroup",
     (ROWS, HALVES)),
    ("four warps wait for tensor memory", "32 * (4 * Config::kEpilogueWarpgroups + 1)", "32 * (4 + 1)", (ROWS,)),
    ("both warpgroups fill the same store tiles", "smem.out[Partition::Layout::first_warp()][0]",
     "smem.out[0][0]", (ROWS, HALVES)),
    ("teams of two warpgroups meet at one barrier", "1 + team + warpgroup_of<EpiloguePartition>(team)",
     "1 + team", (HALVES,)),
]

sys.exit(report_by_kernel(sys.argv[1:], KERNELS, FAULTS))
