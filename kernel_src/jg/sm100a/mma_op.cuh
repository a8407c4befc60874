// SPDX-License-Identifier: MIT
// MmaOp: the products of a stage's tiles, added up in an accumulator of tensor memory by
// tcgen05.mma.
//
// Called by the MMA thread; in a pair, by that of the leader CTA, for both CTAs. Each has
// its half of the rows of A and of D, and its half of the columns of B at the same offset
// of its shared memory. With Config::kGateInA the rows of acc0 and those of acc1 are
// multiplied by the same B, one after the other; so are the columns of acc0 and acc1 by the
// same A where these have scales, which lie in two places.
#pragma once
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/ptx/tcgen05.cuh>
#include <jg/ptx/tma.cuh>
#include <jg/sm100a/epilogue_partition.cuh>
#include <jg/sm100a/scale_tiles.cuh>
#include <jg/tile/input_tiles.cuh>

namespace jg::sm100a {

template <class Config>
class MmaOp {
    using Layout = LaneLayout<Config>;
    static constexpr u32 kM = Layout::kRows * Config::kCtaGroup;
    static constexpr u32 kBHalves = ScaleTiles<Config>::kBHalves;
    static constexpr u32 kN = Config::kBlockN / kBHalves;
    using A = typename Config::A;
    using B = typename Config::B;
    static_assert(Config::kBlockK * kTileBits<Config> == 8 * 128,
                  "a block is 128 bytes of K");
    static_assert(kN % (kM == 64 ? 8 : 16) == 0 && kN <= 256, "what the MMA takes");

    static constexpr u32 kMmaK = 8 * 32 / kTileBits<Config>; // of one instruction

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
    static constexpr u64 kRowsStep = Layout::kRows * 128 >> 4;
    // The same for the columns of acc1.
    static constexpr u64 kColumnsStep = InputB<Config>::kGateRows * 128 >> 4;

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
    static constexpr bool kClearsScales = is_block_scaled<Config>() && kMmaK == 64 &&
                                          (Config::kK == 0 || Config::kK % kMmaK != 0);

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

    // The same for a stage of one block, times its scales, which are brought to tensor
    // memory before. `scales`: the cells of this stage, which its last multiplications have
    // read when the stage is filled again. These were committed to whoever filled it, and a
    // copy is not ordered behind them by itself: the fence makes it come after the wait.
    // `column`: of the product, the tile's first; `first_scale`: of its piece, of the
    // stage's first block; `k`: elements of K from the stage's first on. Scales beyond the
    // end of K, which may be anything, are not read, or are zeros.
    static JG_DEVICE void issue_scaled(const Tiles &tiles,
                                       const ScaleTiles<Config> &scale_tiles, u32 scales,
                                       u32 accumulator, u32 column, u32 first_scale, u32 k,
                                       bool is_first)
    {
        using Scale = typename Config::ABlockScale;
        using Scales = ScaleTiles<Config>;
        const u32 b_scales =
            scales + InputB<Config>::row_of_half(column) % ScalePiece::kRows / 32;
        ptx::tcgen05_fence_after_sync();
        if constexpr (kClearsScales) {
            if (k < Config::kBlockK && k % kMmaK != 0) {
                clear_scales(scale_tiles, k);
            }
        }
        copy_scales(scales, scale_tiles);
        const u64 a =
            layout<InputA<Config>>() | ptx::tcgen05_descriptor_address(tiles.a[0]);
        const u64 b =
            layout<InputB<Config>>() | ptx::tcgen05_descriptor_address(tiles.b[0]);
#pragma unroll
        for (u32 i = 0; i < Config::kBlockK / kMmaK; ++i) {
            if (kWholeBlocks || i == 0 || i * kMmaK < k) {
                const u32 block = i * kMmaK / Scale::kBlockK; // the first of this K
                const u32 piece = block / ScalePiece::kBlocks;
#pragma unroll
                for (u32 j = 0; j < Scales::kAHalves * kBHalves; ++j) {
                    const u32 of_a = j / kBHalves, of_b = j % kBHalves;
                    ptx::tcgen05_mma_scaled<Config::kCtaGroup, A, B, typename Scale::Type>(
                        accumulator + j * kN,
                        a + i * k_step<InputA<Config>>() + of_a * kRowsStep,
                        b + i * k_step<InputB<Config>>() + of_b * kColumnsStep,
                        ptx::tcgen05_scaled_instruction<A, B, typename Scale::Type>(
                            Config::kAKMajor, Config::kBKMajor, kM, kN) |
                            ptx::tcgen05_scale_id((block + first_scale) %
                                                  ScalePiece::kBlocks),
                        scales + cell(piece, Scales::band_of_a(of_a)),
                        b_scales + cell(piece, Scales::band_of_b(of_b)),
                        i > 0 || !is_first);
                }
            }
        }
    }

  private:
    static constexpr bool kWholeBlocks =
        Config::kK != 0 && Config::kK % Config::kBlockK == 0;

    // The scales of the instruction in whose K the end lies, at `k` from the block's first
    // element on: elements beyond are zeros, which a NaN scale would make NaN. So those
    // scales become zeros, too, in this CTA and in the pair's other one, whose pieces have
    // come as this one's have. One thread stores them all, row by row: once a tile.
    static JG_DEVICE void clear_scales(const ScaleTiles<Config> &tiles, u32 k)
    {
        using Scales = ScaleTiles<Config>;
        constexpr u32 kBlockK = Config::ABlockScale::kBlockK;
        constexpr u32 kCleared = kMmaK / 2 / kBlockK; // of a row
        const u32 block = k / kBlockK;
        const u32 piece = block / ScalePiece::kBlocks;
        const u32 byte = block % ScalePiece::kBlocks;
#pragma unroll 1
        for (u32 band = 0; band < Scales::kBands; ++band) {
            clear_piece<kCleared>(tiles.pieces[band][piece], byte);
        }
        if constexpr (Config::kCtaGroup == 2) {
            ptx::fence_proxy_async_cluster();
            ptx::fence_cluster(); // released with the stage
        } else {
            ptx::fence_proxy_async_shared();
        }
    }
    template <u32 kBytes>
    static JG_DEVICE void clear_piece(const u8 *piece, u32 byte)
    {
        constexpr bool kPair = Config::kCtaGroup == 2;
        const u32 address = ptx::shared_address(piece) + byte;
#pragma unroll 1
        for (u32 i = 0; i < Config::kCtaGroup; ++i) {
            const u32 first =
                kPair ? ptx::address_in_cluster(address, ptx::cluster_cta_rank() + i)
                      : address;
#pragma unroll 16
            for (u32 row = 0; row < ScalePiece::kRows; ++row) {
                ptx::clear_shared<kBytes, kPair>(first + row * ScalePiece::kBlocks);
            }
        }
    }

    // Column of a piece's cells: bands side by side, as an instruction reads those of B.
    static constexpr JG_DEVICE u32 cell(u32 k_piece, u32 band)
    {
        return 4 * (k_piece * ScaleTiles<Config>::kBands + band);
    }

    // Pieces are rows of 16 bytes, not swizzled.
    static JG_DEVICE void copy_scales(u32 address, const ScaleTiles<Config> &tiles)
    {
        using Scales = ScaleTiles<Config>;
        const u64 first = ptx::tcgen05_descriptor(16, 128, ptx::Tcgen05Swizzle::kNone) |
                          ptx::tcgen05_descriptor_address(&tiles);
#pragma unroll
        for (u32 i = 0; i < Scales::kKPieces; ++i) {
#pragma unroll
            for (u32 band = 0; band < Scales::kBands; ++band) {
                ptx::tcgen05_copy_scales<Config::kCtaGroup>(
                    address + cell(i, band),
                    first + ((band * Scales::kKPieces + i) * ScalePiece::kBytes >> 4));
            }
        }
    }

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
