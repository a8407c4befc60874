# SPDX-License-Identifier: MIT
"""Faults in how sm_90a's math warpgroups multiply sums by scales of blocks, take blocks of K in turn and
hand sums over: jg/sm90a/scale_reader.cuh, scaled_blocks.cuh, k_turns.cuh, hand_over.cuh and mma_op.cuh; and in how
several warps copy them, each to slots of its own, or read words of them: jg/tile/block_scales.cuh, row_scales.cuh."""


def kernel(name, words, config):
    """What the kernel is called, and the words of its run."""
    return {name: [*words.split(), "--arch", "sm_90a", "--config", config]}


ROWS = "e4m3 d=f32 a_scale=1x128 b_scale=1x128"
BOTH = ROWS + " a_scale_layout=column"
FEW = "e4m3 d=f32 a_scale=1x128 b_scale=128x128"

# Several tiles for a CTA, so that a ring goes on from one to the next. Blocks of K: 12 in turn are a run of
# four and two more of each warpgroup; six; 11.
RUNS = kernel("runs, in turn", "70x330x1440 " + BOTH, "tile=64x96 swap_ab=1 stages=4")
ODD = kernel("an odd number of blocks in turn", "70x330x1400 " + BOTH, "tile=64x96 swap_ab=1 stages=4")
HALVES = kernel("runs, halves of rows", "270x330x1100 " + BOTH, "tile=128x64 cluster=1x1 stages=3")
THREADS = kernel("runs, loaded by threads", f"130x200x770 {BOTH} input_align=2", "tile=128x64 cluster=1x1 stages=3")
ONE_BY_ONE = kernel("one by one", "270x330x700 " + FEW, "tile=128x128 cluster=1x1 stages=3")
BEHIND = kernel("behind the products", "270x330x1100 " + BOTH, "tile=128x96 cluster=1x1 stages=3")
# Both by columns: a stage has the tiles and the scales.
STAGES = kernel("in stages", f"270x330x1100 {BOTH} b_scale_layout=column", "tile=128x96 cluster=1x1 stages=3")
PARTS = kernel("in stages, two blocks of rows", f"512x128x600 {BOTH} b_scale_layout=column", "tile=256x128 cluster=1x2 stages=2")
WIDE = kernel("the same, in turn", f"70x330x1400 {BOTH} b_scale_layout=column", "tile=64x128 k_turns=1 stages=4")
NO_OVERLAP = kernel("in turn, without overlap", "70x330x700 " + BOTH, "tile=64x160 swap_ab=1 stages=2")
AHEAD = kernel("two blocks of rows", "270x330x450 " + FEW, "tile=256x128 cluster=1x1 stages=2")
# Scales by rows, which three warps copy; 11 blocks for each of a CTA's tiles.
SHARED = kernel("copies by three warps", "70x330x1400 " + ROWS, "tile=64x64 swap_ab=1 stages=4")
# The same, which warps of rows read, four blocks at once though they lie in no whole words: 11 of a row.
APART = kernel("words apart", "270x330x1400 " + ROWS, "tile=128x96 cluster=1x1 stages=3")
# Tiles that one warpgroup multiplies: one for each of four multiprocessors, or as many as four, as it was planned.
LONE = kernel("one multiplies", "60x120x264 bf16", "tile=64x32 swap_ab=1 stages=2")
LONE_TILES = kernel("one multiplies, several tiles", "32x256x8 bf16 dynamic=m --m 200", "tile=64x32 swap_ab=1 out_stages=2")

# The kernel that has to show it, what it is, the device code, and what stands in its place.
FAULTS = [
    (RUNS, "scales of the next slot", "slots_.slot[slot_.index()]",
     "slots_.slot[(slot_.index() + 1) % Config::kScaleSlots]"),
    (ONE_BY_ONE, "scales of the first slot", "slots_.slot[slot_.index()]", "slots_.slot[0]"),
    (RUNS, "a slot goes back before its scales are read", "slot_.replace_by(taken);",
     "slot_.replace_by(taken);\n        slot_.release();"),
    (AHEAD, "the same of scales that are read ahead", "slot_.replace_by(taken);",
     "slot_.replace_by(taken);\n        slot_.release();"),
    (RUNS, "scales of the other's blocks", "Turns::next(ring_, k_, k_blocks_);", ""),
    (ODD, "scales: the other's last slot is not passed", "        k_ += Turns::kWays;", "        k_ += Turns::kWays + 1;"),
    (RUNS, "scales: a slot of the next tile is passed", "        k_ += Turns::kWays;", ""),
    (RUNS, "both begin with the first block's scales", "k_(Turns::first(consumer))", "k_(0)"),
    (HALVES, "the first block has no scales", "            scales = take();\n        }", "        }"),
    (HALVES, "scales of the first warpgroup's rows", "return first_row + threadIdx.x / 32", "return threadIdx.x / 32"),
    (RUNS, "scales of two warps' rows", "threadIdx.x / 32 % 4 * 16", "threadIdx.x / 32 % 2 * 16"),
    (RUNS, "one scale for both rows of a thread", "Partition::kMmaRows + i % 2 * 8;", "Partition::kMmaRows;"),
    (AHEAD, "the second rows have the first ones' scales", "return mma / kMmas * 64 +", "return"),
    (RUNS, "the second's scales are of other columns",
     "return Scales(slot, RowsOfThread{first_row}, Partition::first_column(consumer));",
     "return Scales(slot, RowsOfThread{first_row}, 8 * consumer);"),

    (RUNS, "stages of the other's blocks", "        Turns::next(tiles, taken, k_blocks);\n", ""),
    (ODD, "a stage of the next tile is passed", "        taken += Turns::kWays;\n", ""),
    (RUNS, "a run beyond the last block", "k + kRun - Turns::kWays < k_blocks; k += kRun", "k < k_blocks; k += kRun"),
    (RUNS, "blocks behind the last run are left out",
     "            mma.template issue_run<1>(reader, settle, k + Turns::kWays < k_blocks);\n", ""),
    (RUNS, "scales behind a run are not read", "settle, k + kRun < k_blocks);", "settle, false);"),
    (RUNS, "scales behind the last block are waited for", "issue_run<1>(reader, settle, k + Turns::kWays < k_blocks);",
     "issue_run<1>(reader, settle, true);"),
    (NO_OVERLAP, "the other's stages, without overlap", "            Turns::next(tiles, k, k_blocks);\n", ""),
    (NO_OVERLAP, "scales behind the last block, without overlap",
     "                                                  k + Turns::kWays < k_blocks);", "                                                  true);"),
    (THREADS, "copies of threads are not settled", "        settle_copies<Config>();\n    };", "    };"),

    (BEHIND, "behind: a slot is read before it is full", "            reader.await_next(stages_);\n            scales =", "            scales ="),
    (BEHIND, "behind: the first slot is read before it is full", "        reader.await_next(stages_);\n        auto scales", "        auto scales"),
    (BEHIND, "behind: the next block's factors", "            add_waited(factors);", "            add_waited(scales.factors());"),
    (BEHIND, "behind: sums are read before they are there",
     "        ptx::wgmma_wait<0>();\n        in_flight_.release();\n        Instruction", "        in_flight_.release();\n        Instruction"),
    (BEHIND, "behind: a stage goes back while it is multiplied",
     "        ptx::wgmma_wait<0>();\n        in_flight_.release();\n        Instruction",
     "        in_flight_.release();\n        ptx::wgmma_wait<0>();\n        Instruction"),
    (BEHIND, "behind: the last block is left out", "        add_waited(scales.factors());\n    }", "    }"),
    (BEHIND, "behind: scales of the first rows", "(bytes + place.rows)", "(bytes)"),
    (STAGES, "stages: full without their scales", "(kScales ? scale_fillers<Config>() : 0)", "0"),
    (STAGES, "stages: one warp of each warpgroup gives them back", "WarpSignals<4 * kReaders, Cluster>",
     "WarpSignals<kReaders, Cluster>"),
    (STAGES, "stages: scales of the stage before", "return take(stages.next());",
     "return take((stages.next() + Config::kStages - 1) % Config::kStages);"),
    (STAGES, "stages: scales are read before they are there", "        stages.peek();\n", ""),
    (STAGES, "stages: descriptors of the first one", "a_low_ + stage * kStep", "a_low_"),
    (PARTS, "stages: scales of the first stage", "return this->of(slots_.slot[stage]);", "return this->of(slots_.slot[0]);"),
    (WIDE, "behind, in turn: the last block of one is left out", "(k_blocks - k + Turns::kWays - 1) / Turns::kWays",
     "(k_blocks - k) / Turns::kWays"),
    (WIDE, "behind, in turn: one has a block that there is not", "(k_blocks - k + Turns::kWays - 1) / Turns::kWays",
     "(k_blocks - k + Turns::kWays) / Turns::kWays"),
    (WIDE, "behind, in turn: the other's columns", "(Slot::kACount + own)", "(Slot::kACount)"),

    (RUNS, "both have the first blocks", "return kTakes ? consumer : 0;", "return 0;"),
    (RUNS, "the second does not pass the first stage", "            ring.pass(consumer);\n", ""),
    (ODD, "the last block's next is passed", "if (k + 1 < k_blocks) {", "if (true) {"),
    (RUNS, "sums are added before the other's are there",
     "            ptx::named_barrier_sync(barrier, kThreads);\n#pragma unroll", "#pragma unroll"),
    (RUNS, "sums are overwritten before they are added",
     "            ptx::named_barrier_sync(barrier, kThreads); // the next may be written\n", ""),
    (RUNS, "each warpgroup waits for itself", "kThreads = 128 * Roles::kConsumers,\n        kRounds",
     "kThreads = 128,\n        kRounds"),
    (RUNS, "the half that the warpgroup keeps is sent", "all[0][(1 - kHalf) * kOwn + round + i];",
     "all[0][kHalf * kOwn + round + i];"),
    (RUNS, "own sums are added twice", "sums[((1 - kHalf) * kCount + i) * 128]", "sums[(kHalf * kCount + i) * 128]"),
    (RUNS, "the first round is sent twice", "all[0][(1 - kHalf) * kOwn + round + i]", "all[0][(1 - kHalf) * kOwn + i]"),
    (RUNS, "the first round is kept twice", "own[0][round + i] = all[0][kHalf * kOwn + round + i] +",
     "own[0][round + i] = all[0][kHalf * kOwn + i] +"),
    (RUNS, "sums of two threads in one place", "storage.sums + threadIdx.x % 128", "storage.sums + threadIdx.x % 64"),

    (LONE, "sums are taken before they are there", "            ptx::named_barrier_sync(kBarrier, kThreads);\n            if", "            if"),
    (LONE_TILES, "D over sums that are not taken yet",
     "            ptx::named_barrier_sync(kBarrier, kThreads); // they may be written again\n", ""),
    (LONE_TILES, "sums over what the other one still writes",
     "        ptx::named_barrier_sync(kBarrier, kThreads); // both are done with the buffers\n", ""),
    (LONE_TILES, "sums over what stores still read", "        epilogue.drain();\n        HandOver", "        HandOver"),
    (LONE, "the half that the first one writes is handed over", "passed[i * 128] = all[0][kOwn + round + i];",
     "passed[i * 128] = all[0][round + i];"),
    (LONE, "the first one writes the other half", "own[0][round + i] = all[0][round + i];",
     "own[0][round + i] = all[0][kOwn + round + i];"),
    (LONE, "handed over to another thread", "passed[i * 128];", "passed[i * 128 ^ 1];"),

    (SHARED, "copies: those of A of the warp's block before", "                a_.skip();\n", ""),
    (SHARED, "copies: those of B of the warp's block before", "                b_.skip();\n", ""),
    (SHARED, "copies: a warp stays at another's slot", "                ring_.pass();\n                a_.skip();",
     "                a_.skip();"),
    (SHARED, "copies: all warps have all slots", "if (ring_.next() % kWarps != warp_)", "if (false)"),
    (SHARED, "copies: the last warp's slots are nobody's", "if (warp < copying_warps<Config>()) {",
     "if (warp + 1 == copying_warps<Config>()) {\n            return;\n        }\n        if (warp < copying_warps<Config>()) {"),
    (SHARED, "copies: a slot waits for all warps", "(copies_scales<Config>() ? 32 : 0)", "32 * copying_warps<Config>()"),

    (APART, "apart: a word's first scale four times", "of_row + j * sizeof(f32)", "of_row"),
    (APART, "apart: four blocks, of which one is read", "j < kApart", "j < 1"),
    (APART, "order: rows as they come", "place_of_scale<kOrder>(first_)", "first_"),
    (RUNS, "order: columns as they come", "place_of_scale<kOrder>(place(i))", "place(i)"),
    (RUNS, "order: two columns of a thread are the next one's", "(kReadsSixteens ? 4 : 2)", "2"),
    (RUNS, "order: the second rows' scales are the first ones'", "place_of_scale<Slot::kAOrder>(Rows::step(i))", "0"),

    (RUNS, "a block's sums are read while the next one's are added", "            ptx::wgmma_wait<1>();\n            in_flight_.replace_by",
     "            ptx::wgmma_wait<2>();\n            in_flight_.replace_by"),
    (HALVES, "a stage goes back while it is multiplied", "            ptx::wgmma_wait<1>();\n            in_flight_.replace_by(stage);",
     "            in_flight_.replace_by(stage);\n            ptx::wgmma_wait<1>();"),
    (RUNS, "both blocks in one set of sums", "start_next<(kBlock + 1) % 2>();", "start_next<kBlock % 2>();"),
    (HALVES, "the scales of the block before", "            reader.scales = reader.take();\n            add_run", "            add_run"),
    (ONE_BY_ONE, "one by one: a stage goes back while it is multiplied",
     "        ptx::wgmma_wait<0>();\n        in_flight_.release();\n        hold_next", "        in_flight_.release();\n        ptx::wgmma_wait<0>();\n        hold_next"),
    (ONE_BY_ONE, "one by one: both blocks in one set of sums", "start_next<1 - kWhich>();", "start_next<kWhich>();"),
    (ONE_BY_ONE, "the last block's sums are read while they are added", "        ptx::wgmma_wait<0>();\n        in_flight_.release();\n        add_done",
     "        in_flight_.release();\n        add_done"),
    (ONE_BY_ONE, "the stage before is multiplied again", "        stages_.look_ahead();\n        describe_next();\n    }", "        stages_.look_ahead();\n    }"),
]
