#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in how kernels find rows by an index, each planted in the device code before NVRTC compiles
it: `run --verify` on the emulator has to see them, by a finding or by wrong numbers.

Usage: test_row_index_faults.py JIT_GEMM EMULATOR NVRTC LAUNCHES

Each fault is tried in one kernel after the other until one shows it. LAUNCHES is a program of tests
in which the kernel before makes the index, and memory ends with it; it has to fail with faults of its
own. Every 48th is planted; JIT_GEMM_TEST_EVERY=1 plants all. Prints TAP.
"""
from functools import partial
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import pool  # noqa: E402
from planted_faults import Kernels, report, seen_in_tests  # noqa: E402
from strides import stride  # noqa: E402

EVERY = stride(48)

KERNELS = {
    "offsets, a cut row": ["m=300", "n=204", "k=64", "a=bf16", "groups=5", "d_rows=indexed",
                           "--group-sizes", "0,130,1,69,33", "--arch", "sm_90a",
                           "--config", "tile=128x128 cluster=2x1"],
    "counts, transposed": ["m=140", "n=136", "k=64", "a=bf16", "c=bf16", "groups=3", "group_by=counts",
                           "d_rows=indexed", "--group-sizes", "33,0,130", "--arch", "sm_100a",
                           "--config", "mma=128x32 cluster=1x1 swap_ab=1 scheduler=clc"],
    "rows, pairs of columns": ["m=300", "n=256", "k=64", "a=bf16", "groups=3", "group_by=rows",
                               "d_rows=indexed", "--group-sizes", "130,0,30", "--epilogue",
                               "d = silu(acc0) * acc1;", "--arch", "sm_100a"],
    "batch, elements": ["m=70", "n=41", "k=64", "a=bf16", "batch=2", "d_rows=indexed", "output_align=2",
                        "--arch", "sm_90a"],
    "of A": ["m=300", "n=136", "k=136", "a=bf16", "groups=5", "a_rows=indexed", "--group-sizes",
             "0,130,1,69,33", "--arch", "sm_90a", "--config", "tile=128x128 cluster=2x1 row_boxes=0"],
    "of A, transposed": ["m=140", "n=264", "k=72", "a=bf16", "groups=3", "group_by=counts",
                         "a_rows=indexed", "--group-sizes", "33,0,130", "--arch", "sm_100a",
                         "--config", "mma=128x32 cluster=1x1 swap_ab=1 row_boxes=0"],
    "of A, groups of blocks of K": ["m=140", "n=136", "k=456", "a=bf16", "batch=2", "a_rows=indexed",
                                    "--arch", "sm_100a",
                                    "--config", "mma=128x64 cluster=1x1 k_group=2 stages=3 row_boxes=0"],
    "of A, words": ["m=140", "n=72", "k=75", "a=tf32", "groups=2", "a_rows=indexed",
                    "--group-sizes", "33,70", "--arch", "sm_90a", "--config", "row_boxes=0"],
    "of A, copied": ["m=300", "n=136", "k=136", "a=bf16", "groups=5", "a_rows=indexed", "--group-sizes",
                     "0,130,1,69,33", "--arch", "sm_90a", "--config", "tile=128x128 cluster=2x1 row_boxes=1"],
    "of A, copied for a cluster": ["m=140", "n=264", "k=72", "a=bf16", "groups=3", "group_by=counts",
                                   "a_rows=indexed", "--group-sizes", "33,0,130", "--arch", "sm_100a",
                                   "--config", "mma=256x32 cta_group=2 cluster=4x1 swap_ab=1"],
    "of A, unaligned": ["m=140", "n=267", "k=75", "a=bf16", "groups=2", "a_rows=indexed", "input_align=4",
                        "--group-sizes", "33,70", "--arch", "sm_100a"],
    "reference": ["m=40", "n=41", "k=64", "a=bf16", "batch=2", "d_rows=indexed", "a_rows=indexed",
                  "--arch", "sm_90a",
                  "--config", "kernel=reference"],
    "scales of D in a step": ["m=300", "n=136", "k=64", "a=bf16", "d=mxfp8", "groups=5", "d_rows=indexed",
                              "--group-sizes", "0,130,1,69,33", "--arch", "sm_100a"],
    "scales of D over steps": ["m=300", "n=264", "k=64", "a=bf16", "d=e4m3", "d_scale=1x128", "groups=5",
                               "d_rows=indexed", "--group-sizes", "0,130,1,69,33", "--arch", "sm_90a",
                               "--config", "tile=128x128"],
    "scales of D, transposed": ["m=300", "n=264", "k=64", "a=bf16", "d=e4m3", "d_scale=1x128", "groups=5",
                                "d_rows=indexed", "--group-sizes", "0,130,1,69,33", "--arch", "sm_90a",
                                "--config", "tile=128x64 swap_ab=1"],
}

# Of rows of A that have scales.
SCALED = {
    "blocks of rows": ["m=300", "n=136", "k=400", "a=e4m3", "d=bf16", "a_scale=1x128", "b_scale=128x128",
                       "groups=5", "a_rows=indexed", "--group-sizes", "0,130,1,69,33", "--arch", "sm_90a"],
    "blocks by columns, transposed": ["m=140", "n=264", "k=272", "a=e4m3", "d=bf16", "a_scale=1x128",
                                      "a_scale_layout=column", "b_scale=1x128", "groups=3",
                                      "group_by=counts", "a_rows=indexed", "--group-sizes", "33,0,130",
                                      "--arch", "sm_100a", "--config", "mma=128x32 cluster=1x1 swap_ab=1"],
    "a factor of each row": ["m=300", "n=136", "k=144", "a=e4m3", "d=bf16", "a_scale=vector",
                             "b_scale=vector", "groups=5", "a_rows=indexed", "--group-sizes",
                             "0,130,1,69,33", "--arch", "sm_90a", "--config", "tile=128x128 cluster=1x1"],
    "a factor of each row, by vectors": ["m=140", "n=256", "k=144", "a=e4m3", "d=bf16", "d_rows=indexed",
                                         "a_scale=vector", "b_scale=vector", "batch=2", "a_rows=indexed",
                                         "--arch", "sm_100a"],
    "a factor of each column in memory": ["m=140", "n=72", "k=144", "a=e4m3", "d=bf16", "d_layout=column",
                                          "a_scale=vector", "b_scale=vector", "c=f32", "batch=2",
                                          "a_rows=indexed", "--arch", "sm_90a"],
    "reference": ["m=40", "n=41", "k=272", "a=e4m3", "d=bf16", "a_scale=1x128", "b_scale=1x128", "batch=2",
                  "a_rows=indexed", "--arch", "sm_90a", "--config", "kernel=reference"],
}
SCALE_FAULTS = [
    ("scales of rows in order", "const u32 found = at < left_ ? static_cast<u32>(index_[at]) : kNone;",
     "const u32 found = at < left_ ? at : kNone;"),
    ("scales of the tile's first rows", "index_ = index + row;", "index_ = index;"),
    ("scales of the first group's index", "column.begin(param, index_.base<const i32>(item.batch)",
     "column.begin(param, index_.base<const i32>(0)"),
    ("scales of a row that is none", "rows_[i] = found < *count_ ? found : kNone;", "rows_[i] = found;"),
    ("the last rows of A have no scales", "rows_[i] = found < *count_ ? found : kNone;",
     "rows_[i] = found + 7 < *count_ ? found : kNone;"),
    ("scales of rows beyond the group's", "item.group_end : rows, k);", "item.group_end - 1 : rows, k);"),
    ("scales of the first block of K", "source_ = Scale::address(source_, param_->ld, 0, 1);", ""),
    ("scales of every second block of K", "source_ = Scale::address(source_, param_->ld, 0, 1);",
     "source_ = Scale::address(source_, param_->ld, 0, 2);"),
    ("scales of the lane's first row for all", "has_row ? rows_[i] : 0, 0);", "has_row ? rows_[0] : 0, 0);"),
    ("factors of rows in order", "const u32 row = exists ? static_cast<u32>(index[at]) : ~0u;",
     "const u32 row = exists ? at : ~0u;"),
    ("factors of the first group's index", "param.batch_stride * i64(batch);", "0;"),
    ("factors of a row that is none", "return row < param.batch_step", "return exists"),
    ("the last row of A has no factor", "return row < param.batch_step", "return row + 1 < param.batch_step"),
    ("a vector's factors of its first row", "read(param, coord.col + i, coord.batch, i < coord.count)",
     "read(param, coord.col, coord.batch, i < coord.count)"),
    ("a slot is full before its scales have landed", "ptx::copy_async_arrive(stage.full);",
     "ptx::mbarrier_arrive(stage.full);"),
    ("the reference's scales of rows in order", "scale_row = found;", ""),
]

# Of rows of A whose scales the tensor core multiplies by.
PIECES = {
    "a pair": ["m=300", "n=136", "k=400", "mxfp8", "d=bf16", "groups=5", "a_rows=indexed", "--group-sizes",
               "0,130,1,69,33", "--arch", "sm_100a", "--config", "mma=256x128 cta_group=2 cluster=2x1"],
    "columns from inside of a piece on": ["m=300", "n=264", "k=416", "nvfp4", "d=bf16", "groups=3",
                                          "group_by=counts", "a_rows=indexed", "--group-sizes", "33,0,300",
                                          "--arch", "sm_100a", "--config", "mma=128x96 cluster=1x1 swap_ab=1"],
    "powers of two": ["m=140", "n=136", "k=1200", "e4m3", "d=bf16", "a_scale=1x128ue8m0",
                      "a_scale_layout=128x4", "b_scale=1x128ue8m0", "b_scale_layout=128x4", "batch=2",
                      "dynamic=m,n,k", "a_rows=indexed", "--arch", "sm_100a", "--config", "stages=2"],
}
PIECE_FAULTS = [
    ("scales in pieces of rows in order", "const u32 found = exists ? static_cast<u32>(index[row]) : ~0u;",
     "const u32 found = exists ? row : ~0u;"),
    ("a barrier of the scales of this CTA only", "ptx::mbarrier_arrive_release(full, leader_);",
     "ptx::mbarrier_arrive(full);"),
    ("scales in pieces of the first group's index",
     "index_.base<const i32>(item.batch);\n#pragma unroll\n        for (u32 i = 0; i < kOwn",
     "index_.base<const i32>(0);\n#pragma unroll\n        for (u32 i = 0; i < kOwn"),
    ("scales in pieces of the tile's first rows", "const u32 row = first + place - shift;",
     "const u32 row = place - shift;"),
    ("a tile's scales from the piece's begin on", "const u32 row = first + place - shift;",
     "const u32 row = first + place;"),
    ("scales in pieces of a row that is none", "has_row_[i] = found < index_count_;", "has_row_[i] = true;"),
    ("the last rows of A have no pieces", "has_row_[i] = found < index_count_;",
     "has_row_[i] = found + 7 < index_count_;"),
    ("the last row of a group has no piece", "item.group_end : rows_;", "item.group_end - 1 : rows_ - 1;"),
    ("pieces of the first stage of K", "u64(first_piece + piece) * ScalePiece::kBytes",
     "u64(piece) * ScalePiece::kBytes"),
    ("scales of the first piece of A", "(found / ScalePiece::kRows) +", "0 +"),
    ("words of a piece's first rows", "found % ScalePiece::kRows / 32 * kWordBytes", "0"),
    ("stages are handed on a stage too early", "ptx::copy_async_wait<kAhead>();",
     "ptx::copy_async_wait<kAhead + 1>();"),
    ("the last stages before their scales have come", "ptx::copy_async_wait<0>();", ""),
    ("nobody orders gathered scales", "        ptx::fence_proxy_async_shared();\n        __syncwarp();\n#pragma unroll 1\n        for (u32 i = 0; i < count",
     "        __syncwarp();\n#pragma unroll 1\n        for (u32 i = 0; i < count"),
    ("a lane hands on what others gather", "        ptx::fence_proxy_async_shared();\n        __syncwarp();\n#pragma unroll 1\n        for (u32 i = 0; i < count",
     "        ptx::fence_proxy_async_shared();\n#pragma unroll 1\n        for (u32 i = 0; i < count"),
    ("words of a lane where the next one's are", "threadIdx.x % 32 * (kWords * kWordBytes) +",
     "threadIdx.x % 32 * kWordBytes +"),
    ("all pieces of columns in the first", "pieces[kBand + i / kWords][piece]", "pieces[kBand][piece]"),
    ("copies of scales that are gathered", "!Config::kIndexedA && half < Tiles::kAHalves",
     "half < Tiles::kAHalves"),
    ("bytes of scales that nobody sends", "(kBands - kGatheredBands) * kKPieces", "kBands * kKPieces"),
]

# What it is, the device code, and what stands in its place.
FAULTS = [
    ("the index of the neighbour", "base<const i32>(batch) + row;", "base<const i32>(batch) + (row ^ 1);"),
    ("the index of the first group", "base<const i32>(batch) + row;", "base<const i32>(0) + row;"),
    ("a row below 0 is one of D", "return row_ < params.d_row_count;",
     "return static_cast<i32>(row_) < static_cast<i32>(params.d_row_count);"),
    ("the row behind D's last one is one of D", "return row_ < params.d_row_count;",
     "return row_ <= params.d_row_count;"),
    ("the last row of D is none", "return row_ < params.d_row_count;",
     "return row_ + 1 < params.d_row_count;"),
    ("no row is dropped", "return row_ < params.d_row_count;", "return true;"),
    ("the next row of D", "element<D>(row_, col, 0)", "element<D>(row_ + 1, col, 0)"),
    ("columns from the first one on", "element<D>(row_, col, 0)", "element<D>(row_, col % 64, 0)"),
    ("an index for each row of the tile", "row.load(params, at.coord.row, at.coord.batch);",
     "row.load(params, at.row(), at.coord.batch);"),
    ("the index of the turn's first row", "row.load(params, at.coord.row, at.coord.batch);",
     "row.load(params, at.coord.row - kPassRows * at.i, at.coord.batch);"),
    ("rows in order", "row.target(params, at.coord.col),", "at.target,"),
    ("rows beyond the group's", "row.exists(params) ? at.coord.count : 0",
     "row.exists(params) ? 8 : 0"),
    ("the index of A's neighbour", "u64(own) * sizeof(i32), own < end_)",
     "u64(own ^ 1) * sizeof(i32), own < end_)"),
    ("the index of A of the first group", "index_.base<const i32>(work.batch));\n        const u32 size",
     "index_.base<const i32>(0));\n        const u32 size"),
    ("the index of A by the tile's rows", "const u32 own = row_ + ((first", "const u32 own = ((first"),
    ("rows of A below 0 are read", "const bool exists = found_[i] < rows_.count;",
     "const bool exists = static_cast<i32>(found_[i]) < static_cast<i32>(rows_.count);"),
    ("the row behind A's last one", "const bool exists = found_[i] < rows_.count;",
     "const bool exists = found_[i] <= rows_.count;"),
    ("the last row of A is none", "const bool exists = found_[i] < rows_.count;",
     "const bool exists = found_[i] + 1 < rows_.count;"),
    ("rows of zeros are those of A's first one", "exists ? count * sizeof(T) : 0);",
     "count * sizeof(T));"),
    ("elements beyond K", "inner < k_size ? min_u32(kWordBytes / sizeof(T), k_size - inner) : 0;",
     "kWordBytes / sizeof(T);"),
    ("one row for all words at once", "found_[i] = own < end_ ? index : ~0u;",
     "found_[i] = own < end_ ? (i > 0 ? found_[0] : index) : ~0u;"),
    ("K from the first block", "const u32 inner = k + thread", "const u32 inner = thread"),
    ("rows of A packed", "rows_.ld * static_cast<i64>(row) + inner", "static_cast<i64>(row) * 64 + inner"),
    ("a row of A without its swizzle", "tile + Swizzle::swizzled_offset(word * kStep + thread * kWordBytes)",
     "tile + (word * kStep + thread * kWordBytes)"),
    ("words of rows that are none", "found_[i] < rows_.count);\n", "true);\n"),
    ("the bytes of the other operand are not expected",
     "ptx::mbarrier_expect_bytes(full, blocks * Loader::kSentBytes);", ""),
    ("the bytes of one block are expected", "blocks * Loader::kSentBytes", "Loader::kSentBytes"),
    ("the other operand's first block of K",
     "full, item,\n                                item.k_first + (first + i) * Config::kBlockK);",
     "full, item,\n                                item.k_first);"),
    ("every thread sends", "return thread_ == 0;", "return thread_ < 2;"),
    ("the other operand's first block for all of K", "tiles_.load_b(b_tile, barrier, work, k);",
     "tiles_.load_b(b_tile, barrier, work, 0);"),
    ("half of the other operand's bytes are expected", "kSentBytes = Other::kLoadedBytes }",
     "kSentBytes = Other::kLoadedBytes / 2 }"),
    ("the other operand by words of the first rows", "kOfA ? work.col : work.row, k, kOfA ? shape_.n : shape_.m",
     "0, k, kOfA ? shape_.n : shape_.m"),
    ("nobody orders what threads have copied", "ptx::fence_proxy_async_shared();\n    }\n}\n\n// A stage",
     "}\n}\n\n// A stage"),
    ("a stage is full before its copies have landed", "ptx::copy_async_arrive(producer_.full(stage_));",
     "ptx::mbarrier_arrive(producer_.full(stage_));"),
    ("a copied row's index is the neighbour's", "index[min_u32(first + i, end - 1)]",
     "index[min_u32((first + i) ^ 1, end - 1)]"),
    ("copied rows of the first group", "index_.base<const i32>(work.batch);\n            for",
     "index_.base<const i32>(0);\n            for"),
    ("copied rows of the first slice", "+\n                              slice() * kRows;", ";"),
    ("rows that are copied to the first slice", "+ slice() * (kRows * 128);", ";"),
    ("copied rows of the pair's first CTA", "work.col + cluster_.pair_rank() * kBRows)", "work.col)"),
    ("the rows of the round before", "next = find((first + kAtOnce) % kRows);", "next = find(first);"),
    ("copied rows side by side", "tile + (first + i) * 128, barrier", "tile + i * 128, barrier"),
    ("copies of the first block of K", "barrier, mask, static_cast<i32>(k), rows);",
     "barrier, mask, 0, rows);"),
    ("rows are found while those before are read", "        __syncwarp(); // those of the item before have been read\n", ""),
    ("copies begin before all rows are found", "            }\n        }\n        __syncwarp();\n    }\n\n    JG_DEVICE void load(u8",
     "            }\n        }\n    }\n\n    JG_DEVICE void load(u8"),
    ("scales of D in a step, of rows in order", "shape, row.place(params, at.coord), values", "shape, at.coord, values"),
    ("scales of D in a step, of rows that are dropped", "coord.count = exists(params) ? coord.count : 0;", ""),
    ("scales of D, of rows in order", "Scale::store_if(param, shape, place.row, col,",
     "Scale::store_if(param, shape, row, col,"),
    ("scaled rows of D in order", "coord.row = place.row;\n#pragma unroll", "#pragma unroll"),
    ("scaled rows of D, of the first group's index", "IndexedRow<Config>::read(index_, row, batch)",
     "IndexedRow<Config>::read(index_, row % 128, batch)"),
    ("scaled rows of D that are none", "return RowPlace{place, place < count_};", "return RowPlace{place % count_, exists};"),
    ("scales of shared blocks of D in order", "coord.row = place.row;\n            coord.count =", "coord.count ="),
    ("scales of D in bands, as rows in order have them", "own.scale_shift = 0;", ""),
    ("the reference's rows of A in order", "element<const A>(found, 0, 0);", "element<const A>(row, 0, 0);"),
    ("the reference reads a row that is none", "if (found >= params.a_row_count) {", "if (false) {"),
    ("the reference's rows in order", "place.load(params, row, batch);",
     "place.load(params, 0, batch);"),
]
# Found by what a launch's memory is, and when it is written: pattern of tests, what is said.
LAUNCHED = [
    ("the index of rows that a launch does not have", "indexed_rows/dynamic_rows*", "[out-of-bounds]",
     "if (at.coord.count > 0) {", "{"),
    ("the index of A's rows that a launch does not have", "indexed_rows/dynamic_rows*", "[out-of-bounds]",
     "index[min_u32(first + i, end - 1)]", "index[first + i]"),
    ("the index of the launch before", "indexed_rows/kernel_before*", "[race]",
     "        ptx::grid_dependency_wait();\n", ""),
]


def main():
    tool, emulator, nvrtc, launches = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
    with tempfile.TemporaryDirectory(prefix="jit_gemm_row_index_faults_") as holder, pool() as workers:
        kernels = Kernels(tool, emulator, nvrtc, holder)
        jobs = kernels.all_unchanged(KERNELS, "IndexedRow")
        jobs += kernels.all_unchanged(SCALED, "IndexedRow", "scales, ")
        jobs += kernels.all_unchanged(PIECES, "IndexedRow", "pieces, ")
        jobs += [(name, partial(kernels.seen_in, KERNELS, before, after))
                 for name, before, after in FAULTS[::EVERY]]
        jobs += [(name, partial(kernels.seen_in, SCALED, before, after))
                 for name, before, after in SCALE_FAULTS[::EVERY]]
        jobs += [(name, partial(kernels.seen_in, PIECES, before, after))
                 for name, before, after in PIECE_FAULTS[::EVERY]]
        jobs += [(name, partial(seen_in_tests, launches, tests, nvrtc, (said,), before, after))
                 for name, tests, said, before, after in LAUNCHED]
        sys.exit(report(workers, jobs, [*FAULTS, *SCALE_FAULTS, *PIECE_FAULTS, *((row[0], *row[3:]) for row in LAUNCHED)]))


main()
