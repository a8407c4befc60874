// SPDX-License-Identifier: MIT
// MmaOp: the products of a tile, accumulated in tensor memory by tcgen05.mma.
//
// Called by the MMA thread; in a pair, by that of the even CTA, for both CTAs. Each has its
// half of the rows of A and of D, and its half of the columns of B at the same offset of
// its shared memory.
#pragma once
#include <jg/sm100a/k_group.cuh>
#include <jg/sm100a/smem.cuh>
#include <jg/tile/tile_swizzle.cuh>

namespace jg::sm100a {

template <class Config>
struct MmaOp {
    static constexpr u32 kM = Config::kBlockM * Config::kCtaGroup;
    static constexpr u32 kN = Config::kBlockN;
    static constexpr u32 kColumns = LaneLayout<Config>::kPitch; // of tensor memory
    using A = typename Config::A;
    using B = typename Config::B;
    static_assert(Config::kBlockK * sizeof(A) == 128 && sizeof(A) == sizeof(B),
                  "a block is 128 bytes of K");
    static_assert(kN % (kM == 64 ? 8 : 16) == 0 && kN <= 256, "what the MMA takes");

    static constexpr u32 kInstruction =
        ptx::tcgen05_instruction<A, B>(Config::kAKMajor, Config::kBKMajor, kM, kN);
    static constexpr u32 kMmaK = 32 / sizeof(A); // of one instruction

    // Tiles are rows of kSpan bytes (tile_loader.cuh). K-major: 8 rows of M or N are 1024
    // bytes. MN-major: 8 rows of K are 8 spans, 4 of them where elements have 32 bits, and
    // the elements of M or N that follow those of a row are a panel further.
    template <class T, bool kKMajor, u32 kSpan>
    static constexpr JG_DEVICE u64 layout()
    {
        using Swizzle = TileSwizzle<T, kKMajor, kSpan>;
        return ptx::tcgen05_descriptor(kKMajor ? 16 : Config::kBlockK * kSpan,
                                       Swizzle::kGroupRows * kSpan,
                                       Swizzle::kUnit == 32 ? ptx::Tcgen05Swizzle::k128Of32
                                       : kSpan == 128       ? ptx::Tcgen05Swizzle::k128
                                       : kSpan == 64        ? ptx::Tcgen05Swizzle::k64
                                                            : ptx::Tcgen05Swizzle::k32);
    }
    // What to add to a descriptor for the next instruction's K.
    template <bool kKMajor, u32 kSpan>
    static constexpr JG_DEVICE u64 k_step()
    {
        return (kKMajor ? 32 : kMmaK * kSpan) >> 4;
    }

    // Issues the products of one block; `first` starts the sum.
    template <class SmemT>
    static JG_DEVICE void issue(const SmemT &smem, u32 block, u32 accumulator, bool first)
    {
        const u64 a = layout<A, Config::kAKMajor, Config::kASpan>() |
                      ptx::tcgen05_descriptor_address(smem.a[block]);
        const u64 b = layout<B, Config::kBKMajor, Config::kBSpan>() |
                      ptx::tcgen05_descriptor_address(smem.b[block]);
#pragma unroll
        for (u32 i = 0; i < Config::kBlockK / kMmaK; ++i) {
            ptx::tcgen05_mma<Config::kCtaGroup, ptx::Tcgen05Type<A>::kKind>(
                accumulator, a + i * k_step<Config::kAKMajor, Config::kASpan>(),
                b + i * k_step<Config::kBKMajor, Config::kBSpan>(), kInstruction,
                i > 0 || !first);
        }
    }

    // Adds up all of a tile's K, at least one block, in the columns from `accumulator` on.
    template <class SmemT, class Consumer>
    static JG_DEVICE void run(const SmemT &smem, Consumer &consumer, u32 accumulator,
                              u32 k_blocks)
    {
#pragma unroll 1
        for (u32 k = 0; k < k_blocks; k += Config::kKGroup) {
            const u32 blocks = KGroup<Config>::blocks(k_blocks - k);
            const auto stage = consumer.acquire();
#pragma unroll
            for (u32 i = 0; i < Config::kKGroup; ++i) {
                if (i < blocks) {
                    issue(smem, stage.index() * Config::kKGroup + i, accumulator,
                          k + i == 0);
                }
            }
        }
    }
};

} // namespace jg::sm100a
