// SPDX-License-Identifier: MIT
// MmaOp: the products of a stage's tiles, added up in an accumulator of tensor memory by
// tcgen05.mma.
//
// Called by the MMA thread; in a pair, by that of the leader CTA, for both CTAs. Each has
// its half of the rows of A and of D, and its half of the columns of B at the same offset
// of its shared memory. With Config::kGateInA the rows of acc0 and those of acc1 are
// multiplied by the same B, one after the other.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/ptx/tcgen05.cuh>
#include <jg/sm100a/epilogue_partition.cuh>
#include <jg/tile/input_tiles.cuh>

namespace jg::sm100a {

template <class Config>
class MmaOp {
  protected:
    using Layout = LaneLayout<Config>;
    enum : u32 {
        kM = Layout::kRows * Config::kCtaGroup,
        kN = Config::kBlockN,
    };
    using A = typename Config::A;
    using B = typename Config::B;
    static_assert(Config::kBlockK * kTileBits<Config> == 8 * 128,
                  "a block is 128 bytes of K");
    static_assert(kN % (kM == 64 ? 8 : 16) == 0 && kN <= 256, "what the MMA takes");

    enum : u32 { kMmaK = 8 * 32 / kTileBits<Config> }; // of one instruction

    // From one group of rows to the next a swizzle's period; along M or N, where a row ends
    // inside the tile, a panel.
    template <class Operand>
    static constexpr JG_DEVICE u64 layout()
    {
        using Swizzle = typename Operand::Swizzle;
        return ptx::tcgen05_descriptor(Operand::kKMajor ? 16 : Operand::kPanelBytes,
                                       Swizzle::kGroupRows * Swizzle::kBytes,
                                       Swizzle::kAtom == 32 ? ptx::Tcgen05Swizzle::k128Of32
                                       : Swizzle::kBytes == 128 ? ptx::Tcgen05Swizzle::k128
                                       : Swizzle::kBytes == 64  ? ptx::Tcgen05Swizzle::k64
                                                                : ptx::Tcgen05Swizzle::k32);
    }
    // What to add to a descriptor for the rows of acc1: all of a block's K, of those of
    // acc0.
    enum : u64 { kRowsStep = Layout::kRows * 128 >> 4 };

    // What to add to a descriptor for the next instruction's K.
    template <class Operand>
    static constexpr JG_DEVICE u64 k_step()
    {
        return (Operand::kKMajor ? 32 : kMmaK * Operand::kSwizzleBytes) >> 4;
    }

  public:
    using Tiles = InputTiles<Config>;

    // Half of an instruction's K, 64 elements of 4 bits, may lie beyond the end. Then the
    // thread writes to its stages.
    enum : bool {
        kClearsScales = is_block_scaled<Config>() && kMmaK == 64 &&
                        (Config::kK == 0 || Config::kK % kMmaK != 0)
    };

    // Issues the products of the first `blocks` of a stage's blocks; `is_first` starts the
    // accumulator.
    static JG_DEVICE void issue(const Tiles &tiles, u32 blocks, u32 accumulator,
                                bool is_first)
    {
#pragma unroll
        for (u32 i = 0; i < Config::kKGroup; ++i) {
            if (i < blocks) {
                issue_block(tiles.a[i], tiles.b[i], accumulator, is_first && i == 0);
            }
        }
    }

  private:
    static JG_DEVICE void issue_block(const u8 *a_tile, const u8 *b_tile, u32 accumulator,
                                      bool is_first)
    {
        const u64 a = layout<InputA<Config>>() | ptx::tcgen05_descriptor_address(a_tile);
        const u64 b = layout<InputB<Config>>() | ptx::tcgen05_descriptor_address(b_tile);
        constexpr u32 kInstruction =
            ptx::tcgen05_instruction<A, B>(Config::kAKMajor, Config::kBKMajor, kM, kN);
#pragma unroll
        for (u32 i = 0; i < Config::kBlockK / kMmaK; ++i) {
#pragma unroll
            for (u32 j = 0; j < Layout::kMmas; ++j) {
                ptx::tcgen05_mma<Config::kCtaGroup, ptx::Tcgen05Type<A>::kKind>(
                    accumulator + j * Layout::kMmaColumns,
                    a + i * k_step<InputA<Config>>() + j * kRowsStep,
                    b + i * k_step<InputB<Config>>(), kInstruction, i > 0 || !is_first);
            }
        }
    }
};

} // namespace jg::sm100a
