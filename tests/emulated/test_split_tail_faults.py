#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in the list of work in which only tiles beyond whole waves have parts of K, and in who adds
them up; in who finds items of groups for others; and in what warpgroups have of tiles of which a group
has few rows: each planted in the device code before NVRTC compiles it: `run --verify` on the emulator has
to see them, by a finding, by wrong numbers or by no end.

Usage: test_split_tail_faults.py JIT_GEMM EMULATOR NVRTC

Each fault is tried in one kernel after the other until one shows it. Every other fault is planted;
JIT_GEMM_TEST_EVERY=1 plants all. Prints TAP.
"""
from functools import partial
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
# Groups whose items a warp finds, 24 cluster tiles on 2 clusters.
PASSED_KERNELS = {
    "items of offsets": ["m=700", "n=520", "k=320", "a=e4m3", "d=bf16", "accumulate=fast", "groups=5", "--group-sizes", "0,330,1,269,33",
                         "--arch", "sm_90a", "--config", "tile=128x128 pingpong=1 cluster=2x1"],
    "items of both warpgroups": ["m=700", "n=520", "k=64", "a=e4m3", "d=bf16", "a_scale=1x128",
                                 "b_scale=128x128", "groups=5", "--group-sizes", "0,330,1,269,33",
                                 "--arch", "sm_90a", "--config", "tile=128x128 cluster=2x1"],
}
PASSED_FAULTS = [
    ("the other warpgroup's item", "slots_.items[slot_] = item;", "slots_.items[slot_ ^ 1] = item;"),
    ("all items are the first one's", "        slot_ ^= 1;\n", ""),
    ("an item before the one before is read", "        ptx::mbarrier_wait(&slots_.empty[slot_], parity_ ^ 1);\n", ""),
    ("an item before it is there", "        ptx::mbarrier_wait(&slots_.full[slot_], parity_);\n", ""),
    ("a slot is never given back", "            ptx::mbarrier_arrive(&slots_.empty[slot_]);\n", ""),
    ("one warp gives the slot back for all", "ptx::mbarrier_init(&empty[i], kReaders);", "ptx::mbarrier_init(&empty[i], 1);"),
    ("items that others have are not passed over", "            work.skip();\n            return KRange",
     "            return KRange"),
    ("a block more of K is passed over", "part(0, 0).blocks;", "part(0, 0).blocks + 1;"),
    ("both read one slot", "slot_ ^= kKeepsSlot ? 0 : 1;", ""),
    ("both wait for the round before", "parity_ ^= kKeepsSlot ? 1 : slot_;", "parity_ ^= kKeepsSlot ? 1 : 0;"),
    ("an item is taken and not counted", "        iterator_.skip();\n        return hold(item);",
     "        return hold(item);"),
]
# Short tiles of 64, 65 and 128 rows, and rests of 129 and 192.
SHORT = ["k=256", "a=e4m3", "d=bf16", "groups=7", "--group-sizes", "64,65,0,128,129,449,7", "--arch", "sm_90a"]
SHORT_KERNELS = {
    "short tiles, scales of blocks": ["m=900", "n=264", "a_scale=1x128", "b_scale=128x128", *SHORT, "--config",
                                      "tile=256x128 cluster=1x2"],
    "short tiles, turned": ["m=900", "n=256", *SHORT, "--config", "tile=256x128 cluster=2x1"],
}
SHORT_FAULTS = [
    ("the second warpgroup begins where the first one does", "item.row -= before;", ""),
    ("the second warpgroup multiplies rows beyond", "first_row -= before;", ""),
    ("the first warpgroup writes the second one's rows", "whole.row + before + kRows);", "whole.row + before + 2 * kRows);"),
    ("a short tile has a row more", "whole.group_end - whole.row <= kHalf", "whole.group_end - whole.row <= kHalf + 1"),
    ("one block for 65 rows", "MmaPartition<Config>::first_row(consumer) + kRows;",
     "MmaPartition<Config>::first_row(consumer) + kRows + 1;"),
    ("scales of the rows that a warpgroup has else", "RowsOfThread{first_row}, Partition::first_column(consumer));",
     "RowsOfThread{Partition::first_row(consumer)}, Partition::first_column(consumer));"),
    ("a slice is left out that has rows", "work.row + slice * kSliceRows < work.group_end",
     "work.row + slice * kSliceRows + 1 < work.group_end"),
    ("bytes of a slice that does not come", "has_slice(work, slice) ? 0 : InputA<Config>::kLoadedBytes / kSlices", "0"),
]


def main():
    tool, emulator, nvrtc = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    with tempfile.TemporaryDirectory(prefix="jit_gemm_split_tail_faults_") as holder, pool() as workers:
        kernels = Kernels(tool, emulator, nvrtc, holder)
        jobs = kernels.all_unchanged(KERNELS, "count_split")
        jobs += kernels.all_unchanged(PASSED_KERNELS, "ItemSlots")
        jobs += kernels.all_unchanged(SHORT_KERNELS, "TileShare")
        jobs += [(name, partial(kernels.seen_in, problems, before, after))
                 for problems, faults in ((KERNELS, FAULTS), (PASSED_KERNELS, PASSED_FAULTS),
                                          (SHORT_KERNELS, SHORT_FAULTS))
                 for name, before, after in faults[::EVERY]]
        sys.exit(report(workers, jobs, [*FAULTS, *PASSED_FAULTS, *SHORT_FAULTS]))


main()
