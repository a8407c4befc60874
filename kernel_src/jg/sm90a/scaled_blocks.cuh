// SPDX-License-Identifier: MIT
// multiply_scaled: an item's blocks of K, times scales of blocks, added up by a math
// warpgroup. Called by all of its threads. The warpgroups end a tile as they come.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/sm90a/k_turns.cuh>
#include <jg/sm90a/scale_reader.cuh>
#include <jg/tile/filled_stage.cuh>

namespace jg::sm90a {

// Blocks of K whose products overlap until all are done once. On an H200 two took 1.00 to
// 1.04 of four.
enum : u32 { kBlocksOfRun = 4 };

// Has an item one run of its blocks, and a few more, which the compiler knows? It makes one
// piece of code of both loops then, in which 112 columns were seen to spill.
template <class Config>
constexpr JG_DEVICE bool has_one_run()
{
    using Partition = MmaPartition<Config>;
    enum : u32 {
        kPart = Config::kBlockK * Config::kSplitK,
        kBlocks = (Config::kK + kPart - 1) / kPart,
    };
    return kBlocksOfRun < kBlocks && kBlocks < 2 * kBlocksOfRun && !Partition::kTurns &&
           Partition::kMmaColumns == 112;
}

// `kRowBlocks`: of 64 rows, the first ones; `slots`: where `scales` reads them; `k_blocks`:
// one at least.
template <class Config, u32 kRowBlocks, class Mma, class Tiles, class Scales>
JG_DEVICE void multiply_scaled(Mma &mma, Tiles &tiles, Scales &scales,
                               const ScaleSlots<Config> &slots, u32 consumer, u32 first_row,
                               u32 k_blocks)
{
    using Turns = KTurns<Config>;
    static_assert(!promotes_block_scales<Config>() || Config::kLeadStages == 0,
                  "nobody is held back here");
    ScaleReader<Config, ScaleSlots<Config>, Scales> reader(consumer, first_row, slots,
                                                           scales, k_blocks);
    u32 k = Turns::first(consumer);
    u32 taken = k;
    const auto settle = [&] {
        Turns::next(tiles, taken, k_blocks);
        taken += Turns::kWays;
        settle_copies<Config>();
    };
    if constexpr (decltype(reader)::kBehind) {
        if (k < k_blocks) {
            mma.issue_behind_scales(reader, settle,
                                    (k_blocks - k + Turns::kWays - 1) / Turns::kWays);
        }
    } else if constexpr (Mma::kAwaitsAtEnd) {
        mma.template issue_stages<kRowBlocks>(reader, settle, k_blocks);
    } else if constexpr (Mma::kOverlaps) {
        enum : u32 { kRun = kBlocksOfRun * Turns::kWays };
        if constexpr (!Mma::kInRuns) {
            mma.issue_all(reader, settle, k_blocks);
            return;
        }
        if constexpr (has_one_run<Config>()) {
            ptx::hold(k_blocks);
        }
#pragma unroll 1
        for (; k + kRun - Turns::kWays < k_blocks; k += kRun) {
            mma.template issue_run<kBlocksOfRun>(reader, settle, k + kRun < k_blocks);
        }
#pragma unroll 1
        for (; k < k_blocks; k += Turns::kWays) {
            mma.template issue_run<1>(reader, settle, k + Turns::kWays < k_blocks);
        }
    } else {
#pragma unroll 1
        for (; k < k_blocks; k += Turns::kWays) {
            auto stage = tiles.acquire();
            Turns::next(tiles, k, k_blocks);
            settle_copies<Config>();
            mma.template issue_scaled<kRowBlocks>(stage, reader,
                                                  k + Turns::kWays < k_blocks);
        }
    }
}

} // namespace jg::sm90a
