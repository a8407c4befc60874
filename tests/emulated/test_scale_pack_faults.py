#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in the kernel that brings scales to the layout of the tensor core, and in who waits for it,
each planted in the device code before NVRTC compiles it: `run --verify` on the emulator has to see
them, by a finding or by wrong numbers. And those of promoted_faults.py, which have a kernel each.

Usage: test_scale_pack_faults.py JIT_GEMM EMULATOR NVRTC GROUP_SCALES

Each fault is tried in one kernel after the other until one shows it. Every 16th fault is planted;
JIT_GEMM_TEST_EVERY=1 plants all. Prints TAP.
"""
from functools import partial
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import pool  # noqa: E402
from planted_faults import Kernels, report, seen_in_tests  # noqa: E402
from promoted_faults import FAULTS as PROMOTED_FAULTS  # noqa: E402
from strides import stride  # noqa: E402

EVERY = stride(16)
GROUPS = ",".join(["1", "33", "0", "7", "0"] * 6 + ["130", "0", "129", "0", "1"])  # more than a warp asks for at once
CHIP = ["d=f32", "--arch", "sm_100a", "--config", "mma=128x64"]

KERNELS = {
    "row, and 128 columns": ["140x300x330", "e4m3", "a_scale=1x128ue8m0", "b_scale=128x128ue8m0",
                             "b_scale_layout=column", *CHIP],
    "8x4 and mn_k4": ["140x70x330", "a=mxfp8", "a_scale_layout=8x4", "b=mxfp8", "b_scale_layout=mn_k4",
                      "batch=2", *CHIP],
    "column and row": ["133x70x330", "a=mxfp8", "a_scale_layout=column", "b=mxfp8",
                       "b_scale_layout=row", *CHIP],
    "128 rows and columns": ["40x300x330", "e4m3", "a_scale=128x128ue8m0", "a_scale_layout=mn_k4",
                             "b_scale=128x128ue8m0", "b_scale_layout=128x4", *CHIP],
    "back to back": ["300x128x128", "e4m3", "a_scale=1x128ue8m0", "b_scale=1x128ue8m0", "d=e4m3",
                     "--back-to-back", "--arch", "sm_100a", "--config", "mma=128x64"],
    "groups": ["m=540", "n=64", "k=64", "a=mxfp8", "a_scale_layout=row", "groups=35", "--group-sizes", GROUPS, *CHIP],
    "padded groups": ["m=540", "n=64", "k=64", "a=mxfp8", "a_scale_layout=mn_k4", "d=mxfp8", "groups=35",
                      "scale_rows=per_group_padded", "--group-sizes", GROUPS, *CHIP[1:]],
}

# What it is, the device code, and what stands in its place.
FAULTS = [
    ("the product waits for no scales",
     "            __syncwarp();\n        }\n        ptx::grid_dependency_wait();",
     "            __syncwarp();\n        }"),
    ("packing waits for nobody", "        ptx::grid_dependency_wait();\n        ptx::launch_dependent_grids();",
     "        ptx::launch_dependent_grids();"),
    ("A's scales twice", "pack_side<Config, BPacking>(params.b,", "pack_side<Config, BPacking>(params.a,"),
    ("no scales of B", "    pack_side<Config, BPacking>(params.b, params);\n", ""),
    ("no scales of A", "    pack_side<Config, APacking>(params.a, params);\n", ""),
    ("a scale for each of 128 rows", "at.row / kScaleRows", "at.row"),
    ("rows of scales as of the matrix", "ceil_div(params.rows, Config::kScaleRows)", "params.rows"),
    ("the last row of single bytes", "at.row < rows &&", "at.row + 1 < rows &&"),
    ("the last row of words", "at.row >= rows ||", "at.row + 1 >= rows ||"),
    ("the last block of single bytes", "at.block < layout.blocks);", "at.block + 1 < layout.blocks);"),
    ("the first batch's scales", "batch * u64(params.from_stride)", "0"),
    ("all batches to the first", "batch * u64(params.to_stride)", "0"),
    ("one batch", "per_batch * params.batch;", "per_batch;"),
    ("units of other batches", "i % per_batch;", "i;"),
    ("one block for four", "at.block + i})", "at.block})"),
    ("bytes over each other", "<< (8 * i)", "<< 0"),
    ("words at any byte", "&& first % kWord == 0", ""),
    ("neighbours in columns", "kNeighbours = Config::kFrom != ScaleLayout::kColumn", "kNeighbours = true"),
    ("rows a block further apart", "u64(row) * blocks + block;", "u64(row) * (blocks + 1) + block;"),
    ("columns of an odd length", "u64(ld()) * block + row;", "u64(rows) * block + row;"),
    ("rows of a piece in their order", "row % kSpread * kSpreads + row % kRows / kSpread", "row % kRows"),
    ("pieces of the first blocks", "u64(row / kRows) * words() + block / kWord;",
     "u64(row / kRows) * words();"),
    ("pieces of the first rows", "u64(row / kRows) * words() + block / kWord;", "block / kWord;"),
    ("words of the first blocks", "(u64(block / kWord) * ld() + row) * kWord", "u64(row) * kWord"),
    ("words of an odd length", "(u64(block / kWord) * ld() + row) * kWord",
     "(u64(block / kWord) * rows + row) * kWord"),
    ("rows of the target in their order", "in_piece % kSpreads * kSpread + in_piece / kSpreads;",
     "in_piece;"),
    ("the target's first rows again", "u32(piece / words()) * kRows + row", "row"),
    ("the target's first blocks again", "u32(piece % words()) * kWord};", "0};"),
    ("the target's words over each other", "unit * To::kUnit", "unit"),
    ("CTAs that do what their neighbours do", "u64(blockIdx.x) * blockDim.x +", "u64(blockIdx.x) +"),
    ("groups: the one before", "(before - 1) * kStep", "(before > 1 ? before - 2 : 0) * kStep"),
    ("groups: of the first 32 only", "search<kStep / 32>(row, low)", "search<kStep / 32>(row, 0)"),
    ("groups: bands that begin behind the row", "rows_.of(group)) <= row;", "rows_.of(group)) < row;"),
    ("groups: their first rows again", "rows.begin + (row - first)", "rows.begin"),
    ("groups: without their last row", "row - first < rows.count()", "row - first + 1 < rows.count()"),
    ("groups: rows from the matrix's begin on", "rows.begin + (row - first)", "row - first"),
    ("groups: each row looks for itself", "bands.find(row / ScalePiece::kRows * ScalePiece::kRows)",
     "bands.find(row + ScalePiece::kRows)"),
    ("padded groups: those before count not", "before + sum - own :", "sum - own :"),
    ("padded groups: the first of a warp's", "last = 31 - __clz(are_before);", "last = __ffs(are_before) - 1;"),
    ("padded groups: the band of another", "found.first = __shfl_sync(~0u, begin, last);",
     "found.first = __shfl_sync(~0u, begin, 0);"),
    ("padded groups: no more than a warp's", "if (__any_sync(~0u, own > 0 && begin > row)) {", "if (true) {"),
]

# Tried in tests: numbers that fall, which the command line refuses.
FALLING = "group_scales/packed*"
IN_TESTS = [
    ("falling numbers: searched as if they rose", "return __syncthreads_or(falls) == 0;", "return true;"),
    ("falling numbers: a group without rows", "own > 0 && begin <= row", "begin <= row"),
    ("falling numbers: one that begins too early", "rising.next_of_warp(own_rows);", ""),
]


def main():
    tool, emulator, nvrtc, program = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="jit_gemm_scale_faults_") as holder, pool() as workers:
        kernels = Kernels(tool, emulator, nvrtc, holder)
        jobs = kernels.all_unchanged(KERNELS, "PackScalesParams")
        jobs += [(name, partial(kernels.seen_in, KERNELS, before, after))
                 for name, before, after in FAULTS[::EVERY]]
        jobs += [(name, partial(kernels.seen_in, shown, before, after))
                 for shown, name, before, after in PROMOTED_FAULTS[::EVERY]]
        jobs += [(name, partial(seen_in_tests, program, FALLING, nvrtc, ("group_scales",), before, after))
                 for name, before, after in IN_TESTS]
        sys.exit(report(workers, jobs, [*FAULTS, *(row[1:] for row in PROMOTED_FAULTS), *IN_TESTS]))


main()
