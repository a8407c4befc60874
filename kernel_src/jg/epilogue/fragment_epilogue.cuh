// SPDX-License-Identifier: MIT
// FragmentEpilogue: accumulators to D for epilogues of scalars alone, where N is known to
// end on a 16-byte boundary of D: a TMA store clips at N rounded up to 16 bytes (measured
// on an H200).
//
// Applies alpha and the snippet in registers, in the accumulator's own layout; converts;
// stores fragments to shared memory (stmatrix, swizzled) and hands slabs to the TileWriter.
// Called by all 128 threads of a warpgroup that holds accumulators.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/slab_writer.cuh>
#include <jg/epilogue/sums.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/tile/tile_writer.cuh>

namespace jg {

template <class Config, class Epilogue, class Share>
class FragmentEpilogue {
    using D = typename Config::D;
    static constexpr u32 kSlabCols = Share::kSlabSpan / sizeof(D);
    static constexpr u32 kSlabBytes = Share::kSlabRows * Share::kSlabSpan;
    static constexpr u32 kSlabsAcross = Share::kTransposed ? 1 : Share::kCols / kSlabCols;
    static constexpr u32 kSlabsDown =
        Share::kRows / (Share::kTransposed ? Share::kSlabRows : Share::kStepRows);
    static constexpr u32 kSlabs = kSlabsDown * kSlabsAcross; // that a warp helps to fill
    // Groups of 8 columns of the accumulator, a slab's.
    static constexpr u32 kGroups = (Share::kTransposed ? Share::kSlabRows : kSlabCols) / 8;
    using Writer = TileWriter<Config::kOutStages, kSlabBytes, Share::kSlabWarps>;
    static constexpr bool kExactRows = WholeTiles<Config>::kRows;
    static constexpr bool kExactCols = WholeTiles<Config>::kCols;

  public:
    template <class Params, class ShapeT>
    JG_DEVICE FragmentEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 consumer)
        : alpha_(params.alpha.load()), consumer_(consumer),
          writer_(smem + slab() * Config::kOutStages * kSlabBytes, &params.maps[kMapD],
                  1 + consumer + slab()),
          slab_writer_(first_in_slab())
    {
    }

    template <class Params>
    static JG_DEVICE void prefetch_maps(const Params &params)
    {
        ptx::prefetch_tensor_map(&params.maps[kMapD]);
    }

    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void run(const Params &params, const ShapeT &shape, Accumulators &acc,
                       const Smem &, Consumer &, const WorkTile &tile)
    {
        const u32 row = tile.row + Share::first_row(consumer_) +
                        (Share::kTransposed
                             ? 0
                             : Share::team_warp() / Share::kSlabWarps * Share::kSlabRows);
        const u32 col =
            tile.col + Share::first_col(consumer_) +
            (Share::kTransposed ? Share::team_warp() / Share::kSlabWarps * kSlabCols : 0);
#pragma unroll(Accumulators::kIndexed ? 1 : kSlabs)
        for (u32 i = 0; i < kSlabs; ++i) {
            const u32 down = i / kSlabsAcross, across = i % kSlabsAcross;
            u32 slab_row = row, slab_col = col;
            f32 values[Share::kFragments][4 * kGroups];
            if constexpr (Share::kTransposed) {
                slab_row += i * Share::kSlabRows;
                acc.read(0, i * Share::kSlabRows, values);
            } else {
                slab_row += down * Share::kStepRows;
                slab_col += across * kSlabCols;
                acc.read(down, across * kSlabCols, values);
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
    // The slab that this warp helps to fill.
    static JG_DEVICE u32 slab()
    {
        return Share::warp() / Share::kSlabWarps;
    }
    // The warp's first row in the slab, or column.
    static JG_DEVICE u32 first_in_slab()
    {
        return Share::warp() % Share::kSlabWarps *
               (Share::kTransposed ? Share::kWarpCols : Share::kWarpRows);
    }

    template <class Params, class ShapeT>
    JG_DEVICE void write_slab(const Params &params, const ShapeT &shape,
                              const f32 (&acc)[Share::kFragments][4 * kGroups], u32 row,
                              u32 col, u32 batch)
    {
        const u32 lane = threadIdx.x % 32;
        const u32 first_lane = first_in_slab() + lane / 4;
        const u32 first_row = row + (Share::kTransposed ? lane % 4 * 2 : first_lane);
        const u32 first_col = col + (Share::kTransposed ? first_lane : lane % 4 * 2);
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
                    const u32 along_lanes = 16 * fragment + 8 * half;
                    const u32 along_columns = 8 * group + element;
                    const f32 sum = acc[fragment][4 * group + 2 * half + element];
                    const f32 value = operands.apply(
                        factor * sum_value<typename Config::A>(sum), shape,
                        first_row + (Share::kTransposed ? along_columns : along_lanes),
                        first_col + (Share::kTransposed ? along_lanes : along_columns),
                        batch);
                    values[i / 4][half][element] = d_element.finish(value, sum);
                }
                slab_writer_.store(slab, fragment, pair, values);
            }
        }
        writer_.store(row, col, batch);
    }

    f32 alpha_;
    u32 consumer_;
    Writer writer_;
    SlabWriter<D, Share> slab_writer_;
};

} // namespace jg
