// SPDX-License-Identifier: MIT
// FragmentEpilogue: accumulators to D for epilogues of scalars alone, where N is known to
// end on a 16-byte boundary of D: a TMA store clips at N rounded up to 16 bytes (measured
// on an H200).
//
// Applies alpha and the snippet in registers, in the accumulator's own layout; converts;
// stores fragments to shared memory (stmatrix, swizzled) and hands slabs to the TmaStore.
// Called by all 128 threads of a warpgroup that holds accumulators.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/fragment_store.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/tma_store.cuh>
#include <jg/epilogue/user_epilogue.cuh>

namespace jg {

template <class Config, class Epilogue, class Partition>
class FragmentEpilogue {
    using D = typename Config::D;
    static constexpr u32 kStoreTileCols = Partition::kStoreTileSwizzleBytes / sizeof(D);
    static constexpr u32 kStoreTileBytes =
        Partition::kStoreTileRows * Partition::kStoreTileSwizzleBytes;
    static constexpr u32 kStoreTilesAcross =
        Partition::kTransposed ? 1 : Partition::kCols / kStoreTileCols;
    static constexpr u32 kStoreTilesDown =
        Partition::kRows /
        (Partition::kTransposed ? Partition::kStoreTileRows : Partition::kStepRows);
    static constexpr u32 kStoreTiles =
        kStoreTilesDown * kStoreTilesAcross; // that a warp helps to fill
    // Groups of 8 columns of the accumulator, a slab's.
    static constexpr u32 kGroups =
        (Partition::kTransposed ? Partition::kStoreTileRows : kStoreTileCols) / 8;
    using Store = TmaStore<Config::kOutStages, kStoreTileBytes, Partition::kStoreTileWarps>;
    static constexpr bool kExactRows = WholeTiles<Config>::kRows;
    static constexpr bool kExactCols = WholeTiles<Config>::kCols;

  public:
    template <class Params, class ShapeT>
    JG_DEVICE FragmentEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 team)
        : alpha_(params.alpha.load()), team_(team),
          store_(smem + store_tile() * Config::kOutStages * kStoreTileBytes,
                 &params.maps[kMapD], 1 + team + store_tile()),
          fragments_(first_in_store_tile())
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
        const u32 row =
            tile.row + Partition::first_row(team_) +
            (Partition::kTransposed ? 0
                                    : Partition::team_warp() / Partition::kStoreTileWarps *
                                          Partition::kStoreTileRows);
        const u32 col =
            tile.col + Partition::first_col(team_) +
            (Partition::kTransposed
                 ? Partition::team_warp() / Partition::kStoreTileWarps * kStoreTileCols
                 : 0);
#pragma unroll(Accumulators::kIndexed ? 1 : kStoreTiles)
        for (u32 i = 0; i < kStoreTiles; ++i) {
            const u32 down = i / kStoreTilesAcross, across = i % kStoreTilesAcross;
            u32 tile_row = row, tile_col = col;
            f32 values[Partition::kFragments][4 * kGroups];
            if constexpr (Partition::kTransposed) {
                tile_row += i * Partition::kStoreTileRows;
                acc.read(0, i * Partition::kStoreTileRows, values);
            } else {
                tile_row += down * Partition::kStepRows;
                tile_col += across * kStoreTileCols;
                acc.read(down, across * kStoreTileCols, values);
            }
            // The same for all who fill the slab.
            const bool inside =
                (kExactRows || tile_row < shape.m) && (kExactCols || tile_col < shape.n);
            if (inside) {
                write_store_tile(params, shape, values, tile_row, tile_col, tile.batch);
            }
        }
    }

    JG_DEVICE void drain()
    {
        store_.drain();
    }

  private:
    // The slab that this warp helps to fill.
    static JG_DEVICE u32 store_tile()
    {
        return Partition::warp() / Partition::kStoreTileWarps;
    }
    // The warp's first row in the slab, or column.
    static JG_DEVICE u32 first_in_store_tile()
    {
        return Partition::warp() % Partition::kStoreTileWarps *
               (Partition::kTransposed ? Partition::kWarpCols : Partition::kWarpRows);
    }

    template <class Params, class ShapeT>
    JG_DEVICE void write_store_tile(const Params &params, const ShapeT &shape,
                                    const f32 (&acc)[Partition::kFragments][4 * kGroups],
                                    u32 row, u32 col, u32 batch)
    {
        const u32 lane = threadIdx.x % 32;
        const u32 first_lane = first_in_store_tile() + lane / 4;
        const u32 first_row = row + (Partition::kTransposed ? lane % 4 * 2 : first_lane);
        const u32 first_col = col + (Partition::kTransposed ? first_lane : lane % 4 * 2);
        typename Epilogue::template Fragment<Epilogue::kScalarsOnly> operands;
        operands.load(params.operands, batch);
        typename Scales<Config>::template Fragment<Scales<Config>::kScalarsOnly> scales;
        scales.load(params, batch);
        const f32 factor = scales.factor(alpha_);

        const DElement<Config> d_element(alpha_);
        const u32 buffer = ptx::shared_address(store_.acquire());
#pragma unroll
        for (u32 fragment = 0; fragment < Partition::kFragments; ++fragment) {
#pragma unroll
            for (u32 pair = 0; pair < kGroups / 2; ++pair) {
                f32 values[2][2][2];
#pragma unroll
                for (u32 i = 0; i < 8; ++i) {
                    const u32 group = 2 * pair + i / 4, half = i / 2 % 2, element = i % 2;
                    const u32 along_lanes = 16 * fragment + 8 * half;
                    const u32 along_columns = 8 * group + element;
                    const f32 accumulator = acc[fragment][4 * group + 2 * half + element];
                    const f32 value = operands.apply(
                        factor * accumulator_value<typename Config::A>(accumulator), shape,
                        first_row + (Partition::kTransposed ? along_columns : along_lanes),
                        first_col + (Partition::kTransposed ? along_lanes : along_columns),
                        batch);
                    values[i / 4][half][element] = d_element.finish(value, accumulator);
                }
                fragments_.store(buffer, fragment, pair, values);
            }
        }
        store_.store(row, col, batch);
    }

    f32 alpha_;
    u32 team_;
    Store store_;
    FragmentStore<D, Partition> fragments_;
};

} // namespace jg
