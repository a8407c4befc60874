// SPDX-License-Identifier: MIT
// MmaOp: a math warpgroup's share of the tile, accumulated in registers by wgmma.
//
// The two warpgroups split the tile's rows, or its columns where it has only 64 rows.
#pragma once
#include <jg/ptx/wgmma.cuh>
#include <jg/sm90a/roles.cuh>
#include <jg/sm90a/smem.cuh>

namespace jg::sm90a {

template <class Config>
struct MmaOp {
    static constexpr bool kSplitRows = Config::kBlockM >= 128;
    static constexpr u32 kRows = kSplitRows ? Config::kBlockM / 2 : Config::kBlockM;
    static constexpr u32 kCols = kSplitRows ? Config::kBlockN : Config::kBlockN / 2;
    static constexpr u32 kRowBlocks = kRows / 64;
    static_assert(Config::kBlockK == 64, "a stage is 64 elements of K");
    using Instruction = ptx::Wgmma<typename Config::A, kCols, Config::kAKMajor ? 0 : 1,
                                   Config::kBKMajor ? 0 : 1>;

    f32 acc[kRowBlocks][kCols / 2];
    u32 consumer_;

    JG_DEVICE explicit MmaOp(u32 consumer) : consumer_(consumer) {}

    // First row and column of this warpgroup within the tile.
    JG_DEVICE u32 first_row() const
    {
        return kSplitRows ? consumer_ * kRows : 0;
    }
    JG_DEVICE u32 first_col() const
    {
        return kSplitRows ? 0 : consumer_ * kCols;
    }

    // Issues the products of one stage as one group; `first` starts the sum.
    JG_DEVICE void issue(const Smem<Config> &smem, u32 stage, bool first)
    {
        const u64 a =
            ptx::wgmma_descriptor<Config::kAKMajor>(smem.a[stage] + first_row() * 128);
        const u64 b =
            ptx::wgmma_descriptor<Config::kBKMajor>(smem.b[stage] + first_col() * 128);
        constexpr u64 kRowBlockStep = 8192 >> 4;
        ptx::wgmma_fence();
#pragma unroll
        for (u32 i = 0; i < kRowBlocks; ++i) {
            Instruction::issue(acc[i], a + i * kRowBlockStep, b, !first);
        }
        ptx::wgmma_commit();
    }

    // Adds up all of a tile's K, at least one block. One group stays in flight while the
    // next stage is awaited.
    template <class Consumer>
    JG_DEVICE void run(const Smem<Config> &smem, Consumer &consumer, u32 k_blocks)
    {
        ConsumerStage held{0};
#pragma unroll 1
        for (u32 k = 0; k < k_blocks; ++k) {
            const ConsumerStage stage = consumer.acquire();
            issue(smem, stage.index, k == 0);
            ptx::wgmma_wait<1>();
            if (k > 0) {
                consumer.release(held);
            }
            held = stage;
        }
        ptx::wgmma_wait<0>();
        consumer.release(held);
    }
};

} // namespace jg::sm90a
