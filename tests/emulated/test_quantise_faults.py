#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in how a kernel scales blocks of D (jg/epilogue/quantise.cuh, output_scale.cuh), each planted
in the device code before NVRTC compiles it: a few random units have to see them, by their numbers or a finding of the emulator.
Those in how it scales blocks of many rows (square_blocks.cuh) `run --verify` of a few problems has to see.

Usage: test_quantise_faults.py RANDOM_SNIPPETS EMULATOR NVRTC JIT_GEMM

Every 24th is planted; JIT_GEMM_TEST_EVERY=1 plants all. Prints TAP.
"""
from functools import partial
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import clean_environment, pool  # noqa: E402
from planted_faults import Kernels, report  # noqa: E402
from strides import stride  # noqa: E402

EVERY = stride(24)
UNITS = 60  # of these each fault shows in one; the draw ends there
FAULTS = [
    ("signs count", "exists ? ::fabsf(values[i]) : 0.0f", "exists ? values[i] : 0.0f"),
    ("columns beyond D count", "exists ? ::fabsf(values[i]) : 0.0f", "exists ? ::fabsf(values[i]) : 1e6f"),
    ("vectors beyond D count", "coord.count == 0 ? 0.0f : x[0]", "coord.count == 0 ? 1e6f : x[0]"),
    ("half of a vector is left out", "step < 8; step *= 2", "step < 4; step *= 2"),
    ("half of a block's lanes share", "bit < kLanes; bit *= 2", "bit < kLanes / 2; bit *= 2"),
    ("the greatest of e4m3 is another's", "kGreatest<e4m3> = 448.0f", "kGreatest<e4m3> = 240.0f"),
    ("the greatest of e5m2 is the one before", "kGreatest<e5m2> = 57344.0f", "kGreatest<e5m2> = 49152.0f"),
    ("the greatest of e2m1 is none", "kGreatest<e2m1> = 6.0f", "kGreatest<e2m1> = 8.0f"),
    ("a power of two below", "(bits + (0x007fffffu - mantissa)) >> 23", "bits >> 23"),
    ("the reciprocal of twice the scale", "(254 - byte) << 23 : half_least", "(253 - byte) << 23 : half_least"),
    ("a scale of ue4m3 is one step too great", "stored.bits = bits > 0 ? bits : 1;",
     "stored.bits = bits > 0 ? bits + 1 : 1;"),
    ("blocks keep the greatest of those before", "amax_ = 0.0f;\n#pragma unroll 1", "\n#pragma unroll 1"),
    ("elements of another row's scale", "kAcross * kAcross + pass;", "kAcross * kAcross + pass / 2;"),
    ("steps forget the one before", "amax_ = lane() % kAcross == pass ? ptx::max_nan(amax_, amax) : amax_;",
     "amax_ = lane() % kAcross == pass ? amax : amax_;"),
    ("the scale of another block", "const u32 block = col / kBlock;", "const u32 block = (col / kBlock) ^ 1;"),
    ("warps that share a block leave one out", "i < kWarps; ++i", "i + 1 < kWarps; ++i"),
    ("warps read the amax of others before it is there", "meet(); // all parts of this warp's block are there",
     "__syncwarp();"),
    ("warps put the next step's amax over what others read", "meet(); // they are read", "__syncwarp();"),
    ("a warp takes its neighbours for those of its block", "+ Partition::warp()) % kWarps",
     "+ Partition::warp() + 1) % kWarps"),
    ("each warp stores a block's scale where its own columns lie", "warp_of_block() == 0 && lane() % kAcross == 0 &&",
     "warp_of_block() == 1 && lane() % kAcross == 0 &&"),
    ("rows of a pass have the scale of the first", "amax_of_block(row_of(pass))", "amax_of_block(kPassRows * pass)"),
    ("scales of rows 32 apart are exchanged", "row % 128 / 32 * 4 + block % 4", "(row % 128 / 32 ^ 1) * 4 + block % 4"),
    ("scales of rows 8 apart are exchanged", "ld * (row / 8) +", "ld * (row / 8 ^ 1) +"),
    ("words of a row are another's", "(static_cast<i64>(row) * 4 + block % 4)",
     "(static_cast<i64>(row ^ 1) * 4 + block % 4)"),
    ("scales of a word change places", "ld * (block / 4) + (static_cast<i64>(row) * 4 + block % 4)",
     "ld * (block / 4) + (static_cast<i64>(row) * 4 + (3 - block % 4))"),
    ("a word in 8x4 has 16 bytes", "static_cast<i64>(block / 4) * 32", "static_cast<i64>(block / 4) * 16"),
    ("no zeros behind a row's last block", "pad % 4 != 0; ++pad", "pad % 4 != 0 && pad > blocks; ++pad"),
    ("elements are not scaled", "values[i + 1]}, {factor, factor});", "values[i + 1]}, {1.0f, 1.0f});"),
]
# Tiles of several blocks, blocks that M and N cut, and such as D has few rows of.
SQUARE_KERNELS = {
    "two warpgroups": ["300x300x64", "bf16", "d=e4m3", "d_scale=128x128", "batch=2", "--arch", "sm_90a",
                       "--config", "tile=128x256 cluster=1x1"],
    "a transposed product": ["300x200x64", "bf16", "d=e5m2", "d_scale=128x128ue8m0", "d_scale_layout=mn_k4",
                             "--arch", "sm_100a", "--config", "mma=128x256 swap_ab=1 scheduler=static"],
    "pairs": ["300x600x64", "bf16", "d=e4m3", "d_scale=128x128", "--epilogue", "d = silu(acc0) * acc1;",
              "--arch", "sm_100a", "--config", "mma=128x256 scheduler=static"],
    "few rows": ["40x200x64", "bf16", "d=e4m3", "d_scale=128x128", "--arch", "sm_90a",
                 "--config", "tile=128x64 swap_ab=1"],
}
SQUARE_FAULTS = [
    ("vectors forget the one before", "amax_ = ptx::max_nan(amax_, find_amax(coord, values));",
     "amax_ = find_amax(coord, values);"),
    ("squares keep the greatest of those before", "amax_ = 0.0f;\n        Scale::store_if(", "Scale::store_if("),
    ("a quarter of a warp's lanes share", "share_amax<32>(amax_)", "share_amax<8>(amax_)"),
    ("the last warp's greatest is left out", "i < kWarps; ++i", "i + 1 < kWarps; ++i"),
    ("each warp reads its own four times", "load_shared(first + i * Staging::kBytes)", "load_shared(own)"),
    ("warps read before others have written",
     "            ptx::store_shared(own, amax);\n        }\n        ptx::named_barrier_sync(kBarrier, 32 * kWarps);",
     "            ptx::store_shared(own, amax);\n        }"),
    ("warps put elements back while others read",
     "        }\n        ptx::named_barrier_sync(kBarrier, 32 * kWarps);\n        if (lane() == 0)",
     "        }\n        if (lane() == 0)"),
    ("the element is not put back", "            ptx::store_shared(own, element);", ""),
    ("each warp writes a scale", "warp_of_tile() == 0 && lane() == 0 && first.row", "lane() == 0 && first.row"),
    ("scales of squares beyond M", "first.row < shape.m &&\n                            first.col < shape.n", "first.col < shape.n"),
    ("scales of squares beyond N", "first.row < shape.m &&\n                            first.col < shape.n", "first.row < shape.m"),
    ("a scale for each row", "            kBlockRows;", "            1;"),
    ("rows beyond M", "coord.row < shape.m ? count_columns(shape, coord.col) : 0,\n                                values, scale",
     "count_columns(shape, coord.col), values, scale"),
    ("each step is the first", "staging_.step(step).load(", "staging_.step(0).load("),
    ("all steps in the same rows", "kTransposed ? Partition::kStepRows * step : 0", "0"),
    ("all steps in the same columns", "kTransposed ? 0 : Partition::kStepCols * step", "0"),
    ("a square ends a step early", "return step % kSteps + 1 == kSteps;", "return step % kSteps + 1 >= kSteps - 1;"),
    ("steps of a transposed tile over each other", "memory_ + index * kStepBytes", "memory_ + index * kStepBytes / 2"),
]


def draw(paths, before, after):
    program, emulator, nvrtc = paths
    environment = clean_environment(JIT_GEMM_NVRTC=nvrtc, MUTATE_FROM=before, MUTATE_TO=after,
                                    JIT_GEMM_EMULATOR="sms=2,show=errors,threads=1")
    return subprocess.run([program, emulator, "--scaled", "1", "--units", str(UNITS), "--failures", "1",
                           "--snippets", "1000000"], env=environment, capture_output=True, text=True, check=False)


def seen_in(paths, before, after):
    """The unit whose numbers show the fault, and what is wrong if none does."""
    done = draw(paths, before, after)
    lines = done.stdout.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("not ok")), None)
    if at is None or done.returncode == 0:
        return "", f"nobody saw it\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    what = lines[at + 2]
    is_seen = what.startswith(("# the scale of", "# the element at", "# scale ", "# run: cuCtxSynchronize"))
    return lines[at].split(" - ")[1].split(",")[0], "" if is_seen else f"it was not planted: {what}"


def main():
    paths = [pathlib.Path(word).resolve() for word in sys.argv[1:5]]
    with tempfile.TemporaryDirectory(prefix="jit_gemm_squares_") as folder, pool() as workers:
        squares = Kernels(paths[3], paths[1], paths[2], pathlib.Path(folder))
        jobs = squares.all_unchanged(SQUARE_KERNELS, "share_amax<32>(amax_)")
        jobs += [(name, partial(seen_in, paths[:3], before, after)) for name, before, after in FAULTS[::EVERY]]
        jobs += [(name, partial(squares.seen_in, SQUARE_KERNELS, before, after))
                 for name, before, after in SQUARE_FAULTS[::EVERY]]
        sys.exit(report(workers, jobs, FAULTS + SQUARE_FAULTS, ("jg/epilogue/quantise.cuh", "jg/epilogue/output_scale.cuh",
                                                       "jg/epilogue/square_blocks.cuh")))


main()
