// SPDX-License-Identifier: MIT
// ScaledMmaOp: the products of a stage's tiles, each times the scales of its blocks of A
// and of B, by which the tensor core multiplies them.
//
// Called as MmaOp is. Where a gated D has the columns of acc0 and acc1 in two halves of B,
// they are multiplied by the same A one after the other: their scales lie in two places.
#pragma once
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/ptx/tcgen05_scaled.cuh>
#include <jg/ptx/tma.cuh>
#include <jg/sm100a/mma_op.cuh>
#include <jg/sm100a/scale_cells.cuh>
#include <jg/sm100a/scale_tiles.cuh>

namespace jg::sm100a {

template <class Config>
class ScaledMmaOp : MmaOp<Config> {
    using Base = MmaOp<Config>;
    using Base::kMmaK;
    using Base::kRowsStep;
    using typename Base::A;
    using typename Base::B;
    using typename Base::Layout;
    using Scales = ScaleTiles<Config>;
    enum : u32 { kN = Scales::kMmaColumns };
    // What to add to a descriptor for the columns of acc1.
    enum : u64 { kColumnsStep = InputB<Config>::kGateRows * 128 >> 4 };

  public:
    using Tiles = InputTiles<Config>;
    using Base::kClearsScales;

    // Issues the products of a stage of one block, times its scales, which are brought to
    // tensor memory before. `scales`: the cells of this stage, which its last
    // multiplications have read when the stage is filled again. These were committed to
    // whoever filled it, and a copy is not ordered behind them by itself: the fence makes
    // it come after the wait. `column`: of the product, the tile's first; `first_scale`: of
    // its piece, of the stage's first block; `k`: elements of K from the stage's first on.
    // Scales beyond the end of K, which may be anything, are not read, or are zeros.
    static JG_DEVICE void issue(const Tiles &tiles, const Scales &scale_tiles, u32 scales,
                                u32 accumulator, u32 column, u32 first_scale, u32 k,
                                bool is_first)
    {
        using Scale = typename Config::ABlockScale;
        const u32 b_scales =
            scales + InputB<Config>::row_of_half(column) % ScalePiece::kRows / 32;
        ptx::tcgen05_fence_after_sync();
        if constexpr (kClearsScales) {
            if (k < Config::kBlockK && k % kMmaK != 0) {
                clear_scales(scale_tiles, k);
            }
        }
        copy_scales(scales, scale_tiles);
        const u64 a = Base::template layout<InputA<Config>>() |
                      ptx::tcgen05_descriptor_address(tiles.a[0]);
        const u64 b = Base::template layout<InputB<Config>>() |
                      ptx::tcgen05_descriptor_address(tiles.b[0]);
#pragma unroll
        for (u32 i = 0; i < Config::kBlockK / kMmaK; ++i) {
            if (kWholeBlocks || i == 0 || i * kMmaK < k) {
                const u32 block = i * kMmaK / Scale::kBlockK; // the first of this K
                const u32 piece = block / ScalePiece::kBlocks;
#pragma unroll
                for (u32 j = 0; j < Scales::kAHalves * Scales::kBHalves; ++j) {
                    const u32 of_a = j / Scales::kBHalves, of_b = j % Scales::kBHalves;
                    ptx::tcgen05_mma_scaled<Config::kCtaGroup, A, B, typename Scale::Type>(
                        accumulator + j * kN,
                        a + i * Base::template k_step<InputA<Config>>() + of_a * kRowsStep,
                        b + i * Base::template k_step<InputB<Config>>() +
                            of_b * kColumnsStep,
                        ptx::tcgen05_scaled_instruction<A, B, typename Scale::Type>(
                            Config::kAKMajor, Config::kBKMajor, Base::kM, kN) |
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
    enum : bool { kWholeBlocks = Config::kK != 0 && Config::kK % Config::kBlockK == 0 };

    // The scales of the instruction in whose K the end lies, at `k` from the block's first
    // element on: elements beyond are zeros, which a NaN scale would make NaN, or with
    // groups along K the next group's, which are no NaN. So those scales become zero bytes,
    // in this CTA and in the pair's other one, whose pieces have come as this one's have.
    // Of ue8m0 that is 2^-127: what both scales leave of a product of the next group, less
    // than 2^-248, is less than any f32. One thread stores them all, row by row: once a
    // tile.
    static JG_DEVICE void clear_scales(const Scales &tiles, u32 k)
    {
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
        return 4 * (k_piece * Scales::kBands + band);
    }

    // Pieces are rows of 16 bytes, not swizzled.
    static JG_DEVICE void copy_scales(u32 address, const Scales &tiles)
    {
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
};

} // namespace jg::sm100a
