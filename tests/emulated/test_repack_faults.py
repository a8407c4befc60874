#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in the kernel that copies A and B to aligned rows, and in who waits for it, each planted in
the device code before NVRTC compiles it: `run --verify` on the emulator has to see them, by a finding
or by wrong numbers.

Usage: test_repack_faults.py JIT_GEMM EMULATOR NVRTC REPACK

Each fault is tried in one kernel after the other until one shows it. REPACK is a program of tests in
which A ends where its memory does; the last two faults are its. Every 16th fault of numbers is
planted; JIT_GEMM_TEST_EVERY=1 plants all. Prints TAP.
"""
from functools import partial
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import pool  # noqa: E402
from planted_faults import Kernels, report, seen_in_tests  # noqa: E402
from strides import stride  # noqa: E402

EVERY = stride(16)

KERNELS = {
    "K-major batches, gaps": ["65x70x1101", "bf16", "input_align=2", "batch=2", "--lda", "1103",
                              "--arch", "sm_90a", "--config", "tile=64x128 repack=ab"],
    "MN-major, bytes": ["130x265x401", "e4m3", "d=bf16", "layout=tn", "input_align=1",
                        "--arch", "sm_100a", "--config", "mma=128x64 repack=ab"],
    "back to back": ["133x133x133", "f16", "layout=nn", "input_align=4", "output_align=4", "--back-to-back",
                     "--arch", "sm_90a", "--config", "tile=64x128 repack=ab"],
}

# What it is, the device code, and what stands in its place.
FAULTS = [
    ("the product waits for no copies", "        ptx::grid_dependency_wait();\n    }", "    }"),
    ("the product of sm_100a waits for no copies",
     "            __syncwarp();\n        }\n        ptx::grid_dependency_wait();",
     "            __syncwarp();\n        }"),
    ("copies wait for nobody", "        ptx::grid_dependency_wait();\n        ptx::launch_dependent_grids();",
     "        ptx::launch_dependent_grids();"),
    ("rows packed", "row * matrix.to_pitch", "row * matrix.row_bytes"),
    ("rows without a gap", "row * matrix.from_pitch", "row * matrix.row_bytes"),
    ("the first batch's elements", "batch * matrix.from_stride", "0"),
    ("all batches to the first", "batch * matrix.to_stride", "0"),
    ("a batch of rows", "matrix.rows * matrix.batch;", "matrix.rows;"),
    ("rows of other batches", "const u64 row = line % matrix.rows;", "const u64 row = line;"),
    ("the last bytes of a row", "if (at < static_cast<u64>(matrix.row_bytes)) {",
     "if (at + kChunkBytes <= static_cast<u64>(matrix.row_bytes)) {"),
    ("the last element of a matrix", "element < end;", "element + kElementBytes < end;"),
    ("the first element of a matrix", "element >= begin &&", "element > begin &&"),
    ("an element off", "static_cast<u32>(source % kChunkBytes)",
     "static_cast<u32>((source + kElementBytes) % kChunkBytes)"),
    ("no second chunk", "shift > 0 ? last : begin", "begin"),
    ("one chunk twice", "at + kChunkBytes, begin,", "at, begin,"),
    ("pieces that overlap", "unit % pieces * kUnitBytes", "unit % pieces * (kUnitBytes / 2)"),
    ("whole pieces only", "/ kUnitBytes;", "/ kUnitBytes - (matrix.row_bytes > kUnitBytes);"),
    ("a word for two", "bytes & 8 ? pair[i + 2]", "bytes & 8 ? pair[i + 1]"),
    ("no odd word", "bytes & 4 ? by_8[i + 1]", "bytes & 4 ? by_8[i]"),
    ("whole words", "bytes % 4 * 8);", "0);"),
    ("elements over each other", "<< (at % 4 * 8)", "<< 0"),
    ("A for B", "params.matrices[is_of_a ? 0 : 1]", "params.matrices[0]"),
    ("pieces of B from those of A on", "is_of_a ? unit : unit - units_of_a", "unit"),
    ("no B", "units_of_a + count_units(params.matrices[1])", "units_of_a"),
    ("CTAs that do what their neighbours do", "u64(blockIdx.x) * warps +", "u64(blockIdx.x) +"),
    ("the first piece of each warp", "unit += u64(gridDim.x) * warps) {", "unit += units) {"),
]
# Numbers do not show them.
READS = [
    ("chunks beyond the matrix", "address + kChunkBytes <= end", "address < end"),
    ("elements beyond the matrix", "element >= begin && element < end", "element >= begin"),
]


def main():
    tool, emulator, nvrtc, program = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
    with tempfile.TemporaryDirectory(prefix="jit_gemm_repack_faults_") as holder, pool() as workers:
        kernels = Kernels(tool, emulator, nvrtc, holder)
        jobs = kernels.all_unchanged(KERNELS, "RepackMatrix")
        jobs += [(name, partial(kernels.seen_in, KERNELS, before, after))
                 for name, before, after in FAULTS[::EVERY]]
        jobs += [(name, partial(seen_in_tests, program, "repack/a_workspace*", nvrtc,
                                ("jit_gemm_repack", "[out-of-bounds]"), before, after))
                 for name, before, after in READS]
        sys.exit(report(workers, jobs, [*FAULTS, *READS]))


main()
