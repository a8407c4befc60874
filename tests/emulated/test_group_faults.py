#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in what kernels with groups have of their own, each planted in the device code before NVRTC
compiles it: `run --verify` on the emulator has to see them, by a finding or by wrong numbers.

Usage: test_group_faults.py JIT_GEMM EMULATOR NVRTC TESTS...

Each fault is tried in one kernel after the other until one shows it. TESTS are programs of tests, which
have to fail with faults of their own (IN_TESTS). Every eightieth is planted; JIT_GEMM_TEST_EVERY=1 plants all. Prints TAP.
"""
from functools import partial
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import pool  # noqa: E402
import group_kernels  # noqa: E402
from planted_faults import Kernels, report, seen_in_tests  # noqa: E402
from strides import stride  # noqa: E402

EVERY = stride(80)

# What it is, the device code, and what stands in its place. An entry beyond the list's end is no
# fault that numbers show: it has no rows.
FAULTS = [
    ("every group begins at 0", "min_u32(row(group - 1), end)", "0"),
    ("a group begins where it ends", "min_u32(row(group - 1), end)", "end"),
    ("a group has a row less", "const u32 end = row(group);", "const u32 end = row(group) - (row(group) > 0);"),
    ("a group has a row more", "const u32 end = row(group);", "const u32 end = min_u32(row(group) + 1, rows_);"),
    ("numbers of the next group", "const i32 size = sizes_[group];", "const i32 size = sizes_[group + 1];"),
    ("tiles are counted along rows only", "return clusters_of(rows, across(piece));", "return clusters_along(rows);"),
    ("a lane adds its own", "end += lane >= step ? lower : 0;", "end += lower;"),
    ("half of the scan", "step < 32; step *= 2", "step < 16; step *= 2"),
    ("a lane's tiles before it", "u32 begin = before + end - sum;", "u32 begin = before + end;"),
    ("a lane's groups begin together", "begin += own[i];", ""),
    ("each round begins at 0", "before += __shfl_sync(~0u, end, 31);", "before = __shfl_sync(~0u, end, 31);"),
    ("the last lane is left out", "__shfl_sync(~0u, end, 31)", "__shfl_sync(~0u, end, 30)"),
    ("a round only", "first < kCount; first += 32 * kEach", "first < 32 * kEach; first += 32 * kEach"),
    ("the list is too short", "first_[kPieces] = total;", "first_[kPieces] = total - 1;"),
    ("the first tile belongs to the group before", "first_[middle] > entry", "first_[middle] >= entry"),
    ("tiles counted from the first group", "place_of(entry - first_[piece], rows", "place_of(entry, rows"),
    ("the weights of the first group", "rows.begin : 0), group, 0, entry,", "rows.begin : 0), 0, 0, entry,"),
    ("the weights of the next group", "rows.begin : 0), group, 0, entry,", "rows.begin : 0), group + 1, 0, entry,"),
    ("rows from the matrix's begin", "m + (Config::kTransposed ? 0 : rows.begin)", "m + 0"),
    ("columns from the matrix's begin", "n + (Config::kTransposed ? rows.begin : 0)", "n + 0"),
    ("a row of the next group", "rows.end, scale_shift", "rows.end + 1, scale_shift"),
    ("the last row is left out", "rows.end, scale_shift", "rows.end - 1, scale_shift"),
    ("no end of a group", "this->m = tile.group_end;", ""),
    ("M is the group's end", "return static_cast<int>(all_rows);", "return static_cast<int>(ShapeT::m);"),
    ("clusters by the other side", "Config::kTransposed ? kClusterColumns : kClusterRows",
     "Config::kTransposed ? kClusterRows : kClusterColumns"),
    ("rows and columns of the raster", "Config::kTransposed ? across_rows : along,", "along,"),
    ("both CTAs of a cluster along M", "(is_turned ? 0 : cluster_m_)", "0"),
    ("both CTAs of a cluster along N", "(at.n * Config::kClusterN + cluster_n_)", "(at.n * Config::kClusterN)"),
    ("the rest of the columns", "ceil_div(columns, Config::kTransposed ? kClusterRows : kClusterColumns)",
     "columns / (Config::kTransposed ? kClusterRows : kClusterColumns)"),
    ("turned clusters whose CTAs both have rows", "rest <= Config::kBlockM;", "rest <= Config::kBlockM + 8;"),
    ("rows of a turned cluster's second CTA", "(is_turned ? 0 : cluster_m_)", "cluster_m_"),
    ("columns of a turned cluster's first CTA", "beyond * Config::kClusterM + cluster_m_}", "beyond * Config::kClusterM}"),
    ("every band of columns is the first", "at.n += first;", ""),
    ("a band lacks its turned clusters", "(along - 1) * kBand + kBand / 2;", "along * kBand;"),
    ("the last band is as wide as the others", "min_u32(kBand, across_rows - first)", "kBand"),
    ("entries of a band go on from the one before", "in_band = index - index / of_band * of_band;", "in_band = index;"),
    ("turned clusters share tiles", "                        is_turned};", "                        false};"),
    ("rows of a turned cluster to one CTA", "cluster_.all_mask()", "u16(1u << cluster_.m)"),
    ("both CTAs load the first rows", "cluster_.all_mask(), cluster_.m,", "cluster_.all_mask(), 0,"),
    ("rows that a group lacks are announced", "has_slice(work, slice) ? 0 :", "true ? 0 :"),
    ("few rows are left out", "work.row + slice * kSliceRows < work.group_end", "work.row + slice * kSliceRows + 12 < work.group_end"),
    ("a slice of a turned cluster's tile", "slice < Cluster::kBSlices; ++slice", "slice < 1; ++slice"),
    ("halves of the same rows", "item.row += beyond % 2 * kHalfRows;", ""),
    ("every half is an entry's first", "whole + beyond / 2);", "whole + beyond);"),
    ("the list ends before its halves", "return 2 * first_[kPieces] - first_[kWhole];", "return first_[kPieces];"),
    ("a half lacks its last row", "item.row + kHalfRows);", "item.row + kHalfRows - 1);"),
    ("entries of other clusters", "entry_ += gridDim.x / kClusterSize;", "entry_ += gridDim.x;"),
    ("whole store tiles", "if (row + kTileRows > shape.m) {", "if (row > shape.m) {"),
    ("store tiles a row too long", "if (row + kTileRows > shape.m) {", "if (row + kTileRows > shape.m + 1) {"),
    ("all rows by threads", "params.d.ld, shape.m - row,", "params.d.ld, kTileRows,"),
    ("the copies of a batch in a stacked D", "col, batch * params.d.batch_step)", "col, batch)"),
    ("pairs of rows at odd begins", "kPairs = !kTransposedD", "kPairs = true"),
    ("no swizzle", "chunk ^ store_tile_swizzle<kRowBytes>(row);\n            const float4", "chunk;\n            const float4"),
    ("a chunk too few", "i < rows * kChunks; i += threads", "i + 1 < rows * kChunks; i += threads"),
    ("columns beyond N", "if (col < cols) {\n            const u32 swizzled", "{\n            const u32 swizzled"),
    ("rows packed", "target + row * ld + col", "target + row * cols + col"),
    ("no group of copies for a buffer", "if (issuer_) { // a group of no copies", "if (false) { // "),
    ("rows read before they are there", "synchronize();\n        take(", "take("),
    ("always the first buffer", "take(ptx::shared_address(buffers_ + index_ * kBytes)",
     "take(ptx::shared_address(buffers_)"),
    ("nobody waits for the count", "kernel.scheduler.prepare();\n        }\n        __syncthreads();",
     "kernel.scheduler.prepare();\n        }"),
    ("bands of scales that overlap", "(rows.begin / kBand + group) * kBand", "rows.begin / kBand * kBand"),
    ("scales of stacked rows", "? (rows.begin / kBand + group) * kBand - rows.begin : 0", "? 0 : 0"),
    ("padded scales of the first group", "first_[kScaleRows + group] - rows.begin", "first_[kScaleRows] - rows.begin"),
    ("padded scales from the matrix's begin", "first_[kScaleRows + group] - rows.begin", "first_[kScaleRows + group]"),
    ("scales of groups that are not padded", "ceil_div(rows.count(), ScalePiece::kRows) * ScalePiece::kRows;",
     "rows.count();"),
    ("scales of D of stacked rows", "shape.scale_row(row_of_d) : row_of_d", "row_of_d : row_of_d"),
    ("scales of A of stacked rows", "row_of_half(item.row + a_shift)", "row_of_half(item.row)"),
    ("half of a tile is passed over that has rows", "roles.consumer()) >= item.group_end",
     "roles.consumer()) + 11 >= item.group_end"),
    ("one batch of maps", "Config::kBatch == 1 ? 0 : tile.batch * step", "0"),
    ("batches of a stacked map", "Config::kBatch == 1 ? 0 : tile.batch * step", "tile.batch"),
]
# Tried in the kernels whose rows name their groups.
BLOCK_FAULTS = [
    ("the index of the next block", "(indices_[block * kRows]);", "(indices_[(block + 1) * kRows]);"),
    ("the index of a block's second row", "(indices_[block * kRows]);",
     "(indices_[min_u32(block * kRows + 1, rows_ - 1)]);"),
    ("an index per block", "(indices_[block * kRows]);", "(indices_[block]);"),
    ("blocks of half as many rows", "RowRange{block * kRows,", "RowRange{block * (kRows / 2),"),
    ("an index beyond the groups", "kNone : kGroups - 1,", "kNone : kGroups,"),
    ("blocks beyond the rows", "block < blocks ? min_u32(rows_.group(block), kNone) : kNothing", "rows_.group(block)"),
    ("an index below 0 is the first group", "(indices_[block * kRows]);",
     "(indices_[block * kRows] < 0 ? 0 : indices_[block * kRows]);"),
    ("a block lists the lane's own place twice", "storage_.listed[count + __popc(lanes & lower)]",
     "storage_.listed[count + __popc(lanes & (2 * lower + 1))]"),
    ("each 32 blocks begin at 0", "count += __popc(lanes);", "count = __popc(lanes);"),
    ("32 blocks are listed as the first", "use(first + 32 * i, groups[i]);", "use(first, groups[i]);"),
    ("256 blocks only", "first < blocks + lane; first += 32 * kAhead", "first < 32 * kAhead; first += 32 * kAhead"),
    ("a block per tile", "storage_.listed[step / kTilesOfBlock]", "storage_.listed[step]"),
    ("the first tile of each block", "rows.begin + step % kTilesOfBlock * kClusterRows", "rows.begin"),
    ("the last block is left out", "(count - 1) * kTilesOfBlock + ceil_div(last.count(), kClusterRows)",
     "(count - 1) * kTilesOfBlock"),
    ("blocks of one tile", "return (count - 1) * kTilesOfBlock +", "return (count - 1) +"),
    ("the weights of the first group, of blocks", "group, 0, entry, rows.end}", "0, 0, entry, rows.end}"),
    ("the last row of a block is left out", "entry, rows.end},", "entry, rows.end - 1},"),
    ("both CTAs along M, of blocks", "first_m + cluster_m_ * Config::kBlockM,", "first_m,"),
    ("both CTAs along N, of blocks", "first_n + cluster_n_ * Config::kBlockN,", "first_n,"),
    ("the rest of the columns, of blocks",
     "across_(ceil_div(Config::kTransposed ? shape.m : shape.n, kClusterColumns))",
     "across_((Config::kTransposed ? shape.m : shape.n) / kClusterColumns)"),
    ("tiles are counted along blocks only", "storage_.along * across_", "storage_.along"),
]
# Tried in the kernels that make rows of no group 0.
REST_FAULTS = [
    ("no row of none by offsets", "(clears_rest<Config>() ? Rows::kRests : 0)", "0"),
    ("only the first group's rows of none", "kStacked ? 1 : Config::kGroups }", "1 }"),
    ("rows of none from the first group's end", "row(kStacked ? Config::kGroups - 1 : i)", "row(kStacked ? 0 : i)"),
    ("rows of none from a row before", "row(kStacked ? Config::kGroups - 1 : i)",
     "max_u32(row(kStacked ? Config::kGroups - 1 : i), 1) - 1"),
    ("the last row of none is left out", "static_cast<u32>(rows_)};\n    }\n\n    // What",
     "static_cast<u32>(rows_) - 1};\n    }\n\n    // What"),
    ("pieces behind the groups are groups", "piece >= kGroups;", "piece > kGroups;"),
    ("rows of none of the first matrix", "is_rest ? piece - kGroups : piece", "is_rest ? 0 : piece"),
    ("rows of none have a K", "is_rest ? 0 : part.blocks", "part.blocks"),
    ("blocks of none are left out", "clears_rest<Config>() ? kNone : kGroups - 1,", "kGroups - 1,"),
    ("blocks of none keep their index", "min_u32(rows_.group(block), kNone)", "rows_.group(block)"),
    ("half of a row's stores", "i < rows * kAcross;", "i < rows * kAcross / 2;"),
    ("stores of the next row", "tile.row + i / kAcross,", "tile.row + i / kAcross + 1,"),
    ("stores from the tile's first column", "tile.col + col, tile.batch", "col, tile.batch"),
    ("no stores of elements", "i < count * kBits<D> / 8; i += kElementBytes",
     "i + kElementBytes < count * kBits<D> / 8; i += kElementBytes"),
    ("scales of none stay", "clear_scales(params, shape, tile, rows, cols, thread);", ""),
    ("scales of none are 0", "shape, tile.row + i / kBlocks, tile.col + col,\n                            tile.batch, scale.stored,",
     "shape, tile.row + i / kBlocks, tile.col + col,\n                            tile.batch, {},"),
    ("scales of none of the tile's first block", "const u32 col = i % kBlocks * Scale::kBlock;", "const u32 col = 0;"),
    ("scales of none beyond N", "scale.stored, col < cols);", "scale.stored, true);"),
    ("rows of all groups", "left(tile.row, shape.m)", "Partition::kTileRows"),
    ("columns beyond N of none", "left(tile.col, shape.n)", "Partition::kTileCols"),
    ("half of the threads", "thread; i < rows * kAcross; i += kThreads",
     "thread; i < rows * kAcross; i += 2 * kThreads"),
]
# Tried in the kernels with groups along K.
DEPTH_FAULTS = [
    ("K from the matrix's begin", "KPart{k.begin,", "KPart{0,"),
    ("an element of K of the next group", "1), k.end}", "1), k.end + 1}"),
    ("the last element of K is left out", "1), k.end}", "1), max_u32(k.end, 1) - 1}"),
    ("a block of K less", "max_u32(ceil_div(k.count(), Config::kBlockK), 1)",
     "max_u32(k.count() / Config::kBlockK, 1)"),
    ("whole blocks of K", "if (work.k_end - k < Config::kBlockK) {", "if (false) {"),
    ("whole blocks of K by threads", "kEndsK ? work.k_end", "kEndsK ? shape_.k"),
    ("rows of K of the next group", "exists ? outer + static_cast<i32>(at) : static_cast<i32>(beyond)",
     "outer + static_cast<i32>(at)"),
    ("K's last element for a zero", "max_u32(k_, 1);", "k_ - 1;"),
    ("each CTA's share is the first", "min_u32(own, slice * kSliceK)", "0"),
    ("boxes over a group's end", "(!exists || end - at >= kRows)", "true"),
    ("eight rows for one", "at += is_whole ? kRows : 1;", "at += kRows;"),
    ("maps of A for B", "tail_maps_ + kTailBoxes", "tail_maps_"),
    ("the other box", "is_whole ? &maps[0] : &maps[1]", "is_whole ? &maps[1] : &maps[0]"),
    ("scales of blocks of two groups", "(begin / kStep + group) * kStep", "begin / kStep * kStep"),
    ("scales of the next block", "(begin / kStep + group) * kStep", "(begin / kStep + group + 1) * kStep"),
    ("scales of what no group has", "? item.k_end : k;", "? k : k;"),
    ("rows of K at the tile's begin", "tile + offset + at * Operand::kSwizzleBytes,", "tile + offset,"),
    ("pieces from the matrix's begin", "GroupScales<Config>::begin(item.k_first, item.batch) + k - item.k_first", "k"),
    ("pieces of a group's first stage", "item.batch) + k - item.k_first", "item.batch)"),
    ("instructions up to the end of all K", "kAlongK ? item.k_end : k_end", "k_end"),
    ("whole stages of scales", "kWholeBlocks || i == 0 || i * kMmaK < k", "true"),
    ("scales of the next group are not cleared", "clear_scales(scale_tiles, k);", ""),
    ("a group without K has somebody's elements", "if (k == work.k_end) {", "if (false) {"),
    ("a group without K has somebody's scales", ": k_ / Tiles::kPieceK + groups_;", ": k / Tiles::kPieceK;"),
]

# Tried in the kernels whose groups have matrices of their own.
POINTER_FAULTS = [
    ("the matrices of the first group", "pointers[group]", "pointers[0]"),
    ("the matrices of the next group", "pointers[group]", "pointers[group + 1]"),
    ("rows as far apart as the first group's", "lds[group]", "lds[0]"),
    ("rows as far apart as of all", "lds != nullptr ? lds[group] : param.ld", "param.ld"),
    ("an array of rows' distances that is none", "lds != nullptr ? lds[group] : param.ld", "lds[group]"),
    ("the array of addresses is A", "filler.begin(item);", ""),
    ("A of the first group", "group_matrix<Config>(params_a_, work.batch)", "group_matrix<Config>(params_a_, 0)"),
    ("B of the first group", "group_matrix<Config>(params_b_, work.batch)", "group_matrix<Config>(params_b_, 0)"),
    ("B is A", "group_matrix<Config>(params_b_,", "group_matrix<Config>(params_a_,"),
    ("rows of A beyond the group's", "kEndsA ? work.group_end :", ""),
    ("rows of A beyond the group's, transposed", "kEndsB ? work.group_end :", ""),
    ("columns of B end with the group's rows", "kEndsB = kHasPointers<Config> && Config::kTransposed",
     "kEndsB = kHasPointers<Config>"),
    ("C of the first group", "group_matrix<Config>(params.c, tile.batch)", "group_matrix<Config>(params.c, 0)"),
    ("D of the first group", "group_matrix<Config>(params.d, tile.batch)", "group_matrix<Config>(params.d, 0)"),
    ("rows of D as of all groups", "kPassRows * matrices.d.ld", "kPassRows * params.d.ld"),
    ("blocks of D to the array of addresses", "blocks.finish(params.d_scale, matrices.d,",
     "blocks.finish(params.d_scale, params.d,"),
    ("a group by pointers has a row more", "const u32 end = row(group);",
     "const u32 end = min_u32(row(group) + 1, rows_);"),
]

# Tried in the kernels with reductions.
REDUCED_FAULTS = [
    ("tiles of all groups have the same numbers", "first_row_tile + own_row_tile,\n                         first_row_tile,",
     "own_row_tile, 0,"),
    ("a group's tiles are counted from all groups' first", "first_row_tile + own_row_tile,\n                         first_row_tile,",
     "first_row_tile + own_row_tile, 0,"),
    ("both tiles of a cluster have one number", "at.m * Config::kClusterM + cluster_m_;", "at.m * Config::kClusterM;"),
    ("both tiles of a cluster have one number, transposed", "at.n * Config::kClusterN + cluster_n_",
     "at.n * Config::kClusterN"),
    ("numbers of a cluster's tiles overlap the next group's", "first_[piece] / across_ * kTilesAlong",
     "first_[piece] / across_"),
    ("the last tile of a group is not counted",
     "ceil_div(rows.count(), Config::kTransposed ? Config::kBlockN : Config::kBlockM);",
     "rows.count() / (Config::kTransposed ? Config::kBlockN : Config::kBlockM);"),
    ("one counter for the columns of all groups", "{tile_.batch * across + own,", "{own,"),
    ("one counter for all groups", "return {tile_.batch,\n", "return {0,\n"),
    ("columns of the next tile across", "static_cast<u64>(part) * block.part_step", "part"),
    ("each part of a column is the first", "(tiles.own - tiles.first) * kColumnParts", "0"),
    ("columns are folded in one tile across", "* block.part_step, values", ", values"),
    ("parts of all of a group begin with the first group's", "static_cast<u64>(tiles.first) * across",
     "static_cast<u64>(0) * across"),
    ("nothing of groups without rows", "if (!order.has_rows(group)) {", "if (false) {"),
    ("groups with rows are cleared", "if (!order.has_rows(group)) {", "if (true) {"),
    ("groups without rows of the first CTAs only", "group < Config::kGroups && blockIdx.x < ctas", "group < ctas"),
    ("groups without rows by CTAs that may not run", "kAllRun = Config::kScheduler != SchedulerKind::kClc",
     "kAllRun = true"),
]

# Tried in kernels that reduce over groups whose blocks lie apart.
SORTED_FAULTS = [
    ("blocks of a warp's load take one place", "return number + __popc(alike & lower);", "return number;"),
    ("a group's number is raised by one", "storage_.ends[group] = number + __popc(alike);",
     "storage_.ends[group] = number + 1;"),
    ("the highest lane raises the number", "(alike & lower) == 0", "(alike & ~lower) == 1"),
    ("numbers are not cleared", "ends[group] = 0;", ""),
    ("a group begins where it ends, sorted", "before + sums[i] - own[i];", "before + sums[i];"),
    ("32 groups begin at 0", "before += __shfl_sync(~0u, sums[i], 31);", ""),
    ("blocks of none are a group's", "return ends[kLast];", "return ends[kNone];"),
    ("blocks are not counted", "ptx::count_shared(&ends[storage_.groups[block]]);", ""),
    ("groups are alike whose lower bits are", "bit <= kNothing", "bit < 4"),
    ("every group's tiles begin at 0", "item.first_row_tile = first * kOfBlock;", "item.first_row_tile = 0;"),
    ("a group's last block only", "(end - first - 1) * kOfBlock + ceil_div(last", "ceil_div(last"),
    ("the short block counts as a whole one", "kOfBlock + ceil_div(last.count(), kTileRows)", "kOfBlock + kOfBlock"),
    ("tiles are numbered by their rows", "item.row_tile = step * (kClusterRows / kTileRows) + own;",
     "item.row_tile = row / kTileRows + own;"),
    ("each group has the first one's begin", "return group > 0 ? storage_.ends[group - 1] : 0;", "return 0;"),
    ("no group of blocks is empty", "return first_of(group) < storage_.ends[group];", "return true;"),
    ("every group of blocks is empty", "return first_of(group) < storage_.ends[group];", "return false;"),
]

# Tried in tests: of which program, which ones, what they say. What the kernel before writes is read too early, and
# numbers fall.
WAIT = "        ptx::grid_dependency_wait();\n"
IN_TESTS = [
    (0, "row_blocks/kernel_before*", "[race]", ("numbers of the launch before", WAIT, "")),
    (1, "pointer_groups/kernel_before*", "[race]", ("addresses of the launch before", WAIT, "")),
    (2, "group_launches/wrong*", "[race]", ("two groups have a row", "kRises && rows.begin < reached", "false")),
    (2, "group_launches/wrong*", "[race]", ("a lane begins anew", "> 0 ? before : reached", "> 0 ? 0 : 0")),
    (2, "group_launches/there*", "", ("so does each round", "reached = __shfl_sync(~0u, end, 31);", "")),
]


def main():
    tool, emulator, nvrtc, *programs = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    families = ((group_kernels.ROWS, FAULTS), (group_kernels.BLOCKS, BLOCK_FAULTS), (group_kernels.RESTS, REST_FAULTS),
                (group_kernels.DEPTHS, DEPTH_FAULTS), (group_kernels.POINTERS, POINTER_FAULTS),
                (group_kernels.REDUCED, REDUCED_FAULTS), (group_kernels.SORTED, SORTED_FAULTS))
    with tempfile.TemporaryDirectory(prefix="jit_gemm_group_faults_") as holder, pool() as workers:
        kernels = Kernels(tool, emulator, nvrtc, holder)
        jobs = [job for problems, _ in families for job in kernels.all_unchanged(problems, "GroupRows")]
        jobs += [(name, partial(kernels.seen_in, problems, before, after))
                 for problems, faults in families for name, before, after in faults[::EVERY]]
        jobs += [(fault[0], partial(seen_in_tests, programs[of], tests, nvrtc, (said,), *fault[1:]))
                 for of, tests, said, fault in IN_TESTS]
        sys.exit(report(workers, jobs, [fault for _, faults in families for fault in faults] +
                        [fault for *_, fault in IN_TESTS]))


if __name__ == "__main__":
    main()
