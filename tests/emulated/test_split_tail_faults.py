#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in the list of work in which only tiles beyond whole waves have parts of K, and in who adds
them up, each planted in the device code before NVRTC compiles it: `run --verify` on the emulator has
to see them, by a finding, by wrong numbers or by no end.

Usage: test_split_tail_faults.py JIT_GEMM EMULATOR NVRTC

Each fault is tried in one kernel after the other until one shows it. Every other fault is planted;
JIT_GEMM_TEST_EVERY=1 plants all. Prints TAP.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import pool  # noqa: E402
from planted_faults import Kernels, report  # noqa: E402
from strides import stride  # noqa: E402

EVERY = stride(2)

# Of 15 cluster tiles one and four have parts, of 6 one.
KERNELS = {
    "15 tiles, waves of 7": ["300x520x200", "bf16", "--arch", "sm_90a", "--config",
                             "tile=64x192 cluster=1x1 split_k=3 split_tail=7"],
    "15 tiles, waves of 11": ["600x170x200", "bf16", "--arch", "sm_100a", "--config",
                              "mma=128x64 cluster=1x1 stages=2 split_k=3 split_tail=11"],
    "6 pairs, waves of 5": ["600x250x330", "bf16", "--arch", "sm_100a", "--config",
                            "mma=256x128 cluster=2x1 stages=2 split_k=2 split_tail=5 scheduler=clc"],
}

# What it is, the device code, and what stands in its place.
FAULTS = [
    ("waves of a tile more", "return tiles % kWave;", "return tiles % (kWave + 1);"),
    ("all tiles have parts", "return tiles % kWave;", "return tiles;"),
    ("the first whole tile is a part", "if (entry >= split_ * kEntries) {", "if (entry > split_ * kEntries) {"),
    ("whole tiles from the first tile on", "whole_item(entry - split_ * (kEntries - 1))",
     "whole_item(entry - split_ * kEntries)"),
    ("whole tiles lack those behind parts", "whole_item(entry - split_ * (kEntries - 1))", "whole_item(entry)"),
    ("a list without the parts", "shape.batch + split_ * (kEntries - 1)),", "shape.batch + split_),"),
    ("parts by turns", "tile_of(entry / kEntries, entry % kEntries)", "tile_of(entry / kEntries, 0)"),
    ("whole tiles lack a block of K", "return between(0, blocks_);", "return between(1, blocks_);"),
    ("whole tiles are parts to who adds up", "item.is_whole = true;", "item.is_whole = false;"),
    ("whole tiles have sums of others on sm_100a", "if (is_whole_) {", "if (is_whole_ && false) {"),
    ("whole tiles wait on sm_100a", "if (!item.is_whole) {", "if (!item.is_whole || true) {"),
    ("no part waits on sm_100a", "if (!item.is_whole) {", "if (false) {"),
    ("parts go to D on sm_90a", "if (item.is_whole) {", "if (item.is_whole || item.is_last_split) {"),
]


def main():
    tool, emulator, nvrtc = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    with tempfile.TemporaryDirectory(prefix="jit_gemm_split_tail_faults_") as holder, pool() as workers:
        kernels = Kernels(tool, emulator, nvrtc, holder)
        jobs = [(f"{name}: unchanged", workers.submit(kernels.unchanged, words, "count_split"))
                for name, words in KERNELS.items()]
        jobs += [(name, workers.submit(kernels.seen_in, KERNELS, before, after))
                 for name, before, after in FAULTS[::EVERY]]
        sys.exit(report(jobs, FAULTS))


main()
