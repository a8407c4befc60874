// SPDX-License-Identifier: MIT
// MmaOp: the products of a tile, accumulated in tensor memory by tcgen05.mma.
//
// Called by the MMA thread; in a pair, by that of the even CTA, for both CTAs. Each has its
// 128 rows of A and of D, and its half of the columns of B at the same offset of its shared
// memory.
#pragma once
#include <jg/sm100a/smem.cuh>

namespace jg::sm100a {

template <class Config>
struct MmaOp {
    static constexpr u32 kM = Config::kBlockM * Config::kCtaGroup;
    static constexpr u32 kN = Config::kBlockN;
    static_assert(Config::kBlockM == 128, "a CTA has 128 lanes");
    static_assert(Config::kBlockK == 64, "a stage is 64 elements of K");
    static_assert(kN % (16 * Config::kCtaGroup) == 0 && kN <= 256, "what the MMA takes");

    static constexpr bool kIsBf16 = IsSame<typename Config::A, bf16>::value;
    static_assert(kIsBf16 || IsSame<typename Config::A, f16>::value,
                  "inputs are bf16 or f16");
    static constexpr u32 kInstruction =
        ptx::tcgen05_instruction(kIsBf16 ? ptx::Tcgen05Type::kBf16 : ptx::Tcgen05Type::kF16,
                                 Config::kAKMajor, Config::kBKMajor, kM, kN);

    // Tiles are panels of 64 rows of 128 bytes (tile_loader.cuh). K-major: 8 rows of M or N
    // are 1024 bytes, and panels follow each other without a gap. MN-major: 8 rows of K are
    // 1024 bytes, the next 64 elements of M or N are a panel further.
    template <bool kKMajor>
    static constexpr JG_DEVICE u64 layout()
    {
        return ptx::tcgen05_descriptor(kKMajor ? 16 : 8192, 1024,
                                       ptx::Tcgen05Swizzle::k128);
    }
    // What to add to a descriptor for the next 16 elements of K.
    template <bool kKMajor>
    static constexpr JG_DEVICE u64 k_step()
    {
        return (kKMajor ? 32 : 16 * 128) >> 4;
    }

    // Issues the products of one stage; `first` starts the sum.
    static JG_DEVICE void issue(const Smem<Config> &smem, u32 stage, u32 accumulator,
                                bool first)
    {
        const u64 a =
            layout<Config::kAKMajor>() | ptx::tcgen05_descriptor_address(smem.a[stage]);
        const u64 b =
            layout<Config::kBKMajor>() | ptx::tcgen05_descriptor_address(smem.b[stage]);
#pragma unroll
        for (u32 i = 0; i < Config::kBlockK / 16; ++i) {
            ptx::tcgen05_mma<Config::kCtaGroup>(
                accumulator, a + i * k_step<Config::kAKMajor>(),
                b + i * k_step<Config::kBKMajor>(), kInstruction, i > 0 || !first);
        }
    }

    // Adds up all of a tile's K, at least one block, in the columns from `accumulator` on.
    template <class Consumer>
    static JG_DEVICE void run(const Smem<Config> &smem, Consumer &consumer, u32 accumulator,
                              u32 k_blocks)
    {
#pragma unroll 1
        for (u32 k = 0; k < k_blocks; ++k) {
            const ConsumerStage stage = consumer.acquire();
            issue(smem, stage.index, accumulator, k == 0);
            consumer.release(stage);
        }
    }
};

} // namespace jg::sm100a
