// SPDX-License-Identifier: MIT
// FragmentEpilogue: accumulators to D for epilogues of scalars alone, where N is known to
// end on a 16-byte boundary of D: a TMA store clips at N rounded up to 16 bytes (measured
// on an H200).
//
// Applies alpha and the snippet in registers, in the accumulator's own layout; converts;
// stores fragments to shared memory (stmatrix, 128-byte swizzle) and hands slabs to the
// TileWriter. Called by all 128 threads of a warpgroup that holds accumulators.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/step_rows.cuh>
#include <jg/epilogue/sums.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/tile/tile_writer.cuh>

namespace jg {

// Stores two groups (16 columns) of a fragment, 16 rows, into a slab: rows of 128 bytes,
// 16-byte chunks permuted by the row. 16-bit types by one stmatrix. `slab` may be moved by
// whole fragments: the permutation repeats every 8 rows.
template <class T>
struct SlabWriter {
    static constexpr u32 kColumns = 64;

    u32 address_; // of this lane's row, for stmatrix
    u32 chunk_;   // 0 or 1: second group of the pair
    u32 swizzle_;

    // `first_row`: the warp's first row in its slab.
    JG_DEVICE explicit SlabWriter(u32 first_row)
    {
        const u32 lane = threadIdx.x % 32;
        const u32 row = first_row + lane % 16;
        address_ = row * 128;
        chunk_ = lane / 16;
        swizzle_ = row % 8;
    }
    // values[group][half][element] of groups 2 * pair and 2 * pair + 1.
    JG_DEVICE void store(u32 slab, u32 pair, const f32 (&v)[2][2][2]) const
    {
        const u32 chunk = (2 * pair + chunk_) ^ swizzle_;
        ptx::stmatrix_x4(slab + address_ + chunk * 16,
                         Convert<T>::pack(v[0][0][0], v[0][0][1]),
                         Convert<T>::pack(v[0][1][0], v[0][1][1]),
                         Convert<T>::pack(v[1][0][0], v[1][0][1]),
                         Convert<T>::pack(v[1][1][0], v[1][1][1]));
    }
};

template <>
struct SlabWriter<f32> {
    static constexpr u32 kColumns = 32;

    u32 row_, column_bytes_;

    JG_DEVICE explicit SlabWriter(u32 first_row)
    {
        const u32 lane = threadIdx.x % 32;
        row_ = first_row + lane / 4;
        column_bytes_ = lane % 4 * 8;
    }
    JG_DEVICE void store(u32 slab, u32 pair, const f32 (&v)[2][2][2]) const
    {
#pragma unroll
        for (u32 group = 0; group < 2; ++group) {
            const u32 bytes = (2 * pair + group) * 32 + column_bytes_;
            const u32 swizzled = bytes ^ (row_ % 8 * 16);
#pragma unroll
            for (u32 half = 0; half < 2; ++half) { // 8 rows on, the swizzle is the same
                ptx::store_shared_pair(slab + (row_ + 8 * half) * 128 + swizzled,
                                       v[group][half][0], v[group][half][1]);
            }
        }
    }
};

template <>
struct SlabWriter<s32> : SlabWriter<f32> { // values hold its bits (DElement)
    using SlabWriter<f32>::SlabWriter;
};

template <class Config, class Epilogue, class Share>
class FragmentEpilogue {
    using D = typename Config::D;
    static constexpr u32 kRows = Share::kRows;
    static constexpr u32 kCols = Share::kCols;

    static constexpr u32 kSlabCols = SlabWriter<D>::kColumns;
    static constexpr u32 kGroups = kSlabCols / 8;
    static constexpr u32 kSlabsAcross = kCols / kSlabCols;
    static constexpr u32 kSlabs = kRows / Share::kStepRows * kSlabsAcross;
    static constexpr u32 kFragmentBytes = 16 * 128;
    using Writer = TileWriter<Config::kOutStages, Share::kSlabBytes, Share::kSlabWarps>;
    static constexpr bool kExactRows =
        Config::kM && Config::kM % (Config::kBlockM * Config::kClusterM) == 0;
    static constexpr bool kExactCols =
        Config::kN && Config::kN % (Config::kBlockN * Config::kClusterN) == 0;

  public:
    template <class Params, class ShapeT>
    JG_DEVICE FragmentEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 consumer)
        : alpha_(params.load_alpha()), consumer_(consumer),
          writer_(smem + Share::slab() * Config::kOutStages * Share::kSlabBytes,
                  &params.d_map, 1 + consumer),
          slab_writer_(Share::row_in_slab())
    {
    }

    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void run(const Params &params, const ShapeT &shape, Accumulators &acc,
                       const Smem &, Consumer &, const WorkTile &tile)
    {
        const u32 row =
            tile.row + Share::first_row(consumer_) + Share::slab() * Share::kSlabRows;
        const u32 col = tile.col + Share::first_col(consumer_);
#pragma unroll(Accumulators::kIndexed ? 1 : kSlabs)
        for (u32 i = 0; i < kSlabs; ++i) {
            const u32 slab_row = row + i / kSlabsAcross * Share::kStepRows;
            const u32 slab_col = col + i % kSlabsAcross * kSlabCols;
            f32 values[Share::kFragments][4 * kGroups];
            acc.read(i / kSlabsAcross, i % kSlabsAcross * kSlabCols, values);
            if (i + 1 == kSlabs) {
                acc.release();
            }
            // The same for all who fill the slab.
            const bool inside =
                (kExactRows || slab_row < shape.m) && (kExactCols || slab_col < shape.n);
            if (inside) {
                write_slab(params, shape, values, slab_row, slab_col, tile.batch);
            }
        }
    }

    JG_DEVICE void drain()
    {
        writer_.drain();
    }

  private:
    template <class Params, class ShapeT>
    JG_DEVICE void write_slab(const Params &params, const ShapeT &shape,
                              const f32 (&acc)[Share::kFragments][4 * kGroups], u32 row,
                              u32 col, u32 batch)
    {
        const u32 lane = threadIdx.x % 32;
        const u32 first_row = row + Share::row_in_slab() + lane / 4;
        const u32 first_col = col + lane % 4 * 2;
        typename Epilogue::template Fragment<Epilogue::kScalarsOnly> operands;
        operands.load(params.operands, batch);
        typename Scales<Config>::template Fragment<Scales<Config>::kScalarsOnly> scales;
        scales.load(params, batch);
        const f32 factor = scales.factor(alpha_);

        const DElement<Config> d_element(alpha_);
        const u32 slab = ptx::shared_address(writer_.acquire());
#pragma unroll
        for (u32 fragment = 0; fragment < Share::kFragments; ++fragment) {
#pragma unroll
            for (u32 pair = 0; pair < kGroups / 2; ++pair) {
                f32 values[2][2][2];
#pragma unroll
                for (u32 i = 0; i < 8; ++i) {
                    const u32 group = 2 * pair + i / 4, half = i / 2 % 2, element = i % 2;
                    const f32 sum = acc[fragment][4 * group + 2 * half + element];
                    const f32 value =
                        operands.apply(factor * sum_value<typename Config::A>(sum), shape,
                                       first_row + 16 * fragment + 8 * half,
                                       first_col + 8 * group + element, batch);
                    values[i / 4][half][element] = d_element.finish(value, sum);
                }
                slab_writer_.store(slab + fragment * kFragmentBytes, pair, values);
            }
        }
        writer_.store(row, col, batch);
    }

    f32 alpha_;
    u32 consumer_;
    Writer writer_;
    SlabWriter<D> slab_writer_;
};

} // namespace jg
