// SPDX-License-Identifier: MIT
// FragmentEpilogue: accumulators to D for epilogues of scalars only, where N is known to
// end on a 16-byte boundary of D: a TMA store clips at N rounded up to 16 bytes (measured
// on an H200).
//
// Applies alpha and the snippet in registers, in the accumulator's own layout; converts;
// stores fragments to store tiles in shared memory (FragmentStore) and has them sent to D
// (TmaStore). Called by all 128 threads of a warpgroup that holds accumulators. Waits for
// accumulators, which `acc` gives back, and for buffers of store tiles; signals nobody.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/fragment_store.cuh>
#include <jg/epilogue/partition.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/tma_store.cuh>
#include <jg/epilogue/user_epilogue.cuh>

namespace jg {

template <class Config, class Epilogue, class Partition>
class FragmentEpilogue {
    using D = typename Config::D;
    static constexpr bool kTransposed = Partition::kTransposed;
    static constexpr u32 kFragments = Partition::kFragments;
    // A store tile, and the warps that fill it.
    static constexpr u32 kTileRows = Config::kStoreTileRows;
    static constexpr u32 kTileCols = Config::kStoreTileSwizzleBytes / sizeof(D);
    static constexpr u32 kTileBytes = kTileRows * Config::kStoreTileSwizzleBytes;
    static constexpr u32 kTileWarps = Partition::kStoreTileWarps;
    // Groups of 8 columns of the accumulator in it.
    static constexpr u32 kGroups = (kTransposed ? kTileRows : kTileCols) / 8;
    // Store tiles that a warp helps to fill.
    static constexpr u32 kAcross = kTransposed ? 1 : Partition::kCols / kTileCols;
    static constexpr u32 kDown =
        Partition::kRows / (kTransposed ? kTileRows : Partition::kStepRows);
    static_assert(Epilogue::kScalarsOnly && Scales<Config>::kScalarsOnly && !Config::kHasC,
                  "the plan chose fragments for what needs vectors");
    static_assert(kTransposed ? Partition::kRows % kTileRows == 0
                              : Partition::kCols % kTileCols == 0,
                  "store tiles fill a team's part");
    static_assert(kTransposed ? kTileCols == kTileWarps * Partition::kWarpCols
                              : kTileRows == kTileWarps * Partition::kWarpRows,
                  "whole warps fill a store tile");
    static_assert(4 % kTileWarps == 0 && kGroups % 2 == 0, "of a warpgroup, in pairs");
    using Operands = typename Epilogue::template Fragment<Epilogue::kScalarsOnly>;
    using CoordT = VectorCoord<false, Config::kOutputAlignment>;
    using Store = TmaStore<Config::kOutStages, kTileBytes, kTileWarps>;

  public:
    template <class Params, class ShapeT>
    JG_DEVICE FragmentEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 team)
        : alpha_(params.alpha.load()), team_(team),
          store_(smem + store_tile() * Config::kOutStages * kTileBytes, &params.maps[kMapD],
                 1 + team + store_tile()),
          fragments_(first_lane())
    {
    }

    template <class Params>
    static JG_DEVICE void prefetch_maps(const Params &params)
    {
        ptx::prefetch_tensor_map(&params.maps[kMapD]);
    }

    // A tile. C and matrices would come through a ring, which is not looked at.
    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void run(const Params &params, const ShapeT &shape, Accumulators &acc,
                       const Smem &, Consumer &, const WorkTile &tile)
    {
        const u32 ahead = Partition::team_warp() / kTileWarps; // tiles of lower warps
        const u32 row =
            tile.row + Partition::first_row(team_) + (kTransposed ? 0 : ahead * kTileRows);
        const u32 col =
            tile.col + Partition::first_col(team_) + (kTransposed ? ahead * kTileCols : 0);
        Operands operands;
#pragma unroll(Accumulators::kIndexed ? 1 : kDown *kAcross)
        for (u32 i = 0; i < kDown * kAcross; ++i) {
            const u32 down = i / kAcross, across = i % kAcross;
            u32 tile_row = row, tile_col = col;
            Values values;
            if constexpr (kTransposed) {
                tile_row += i * kTileRows;
                acc.read(0, i * kTileRows, values.acc);
            } else {
                tile_row += down * Partition::kStepRows;
                tile_col += across * kTileCols;
                acc.read(down, across * kTileCols, values.acc);
            }
            if constexpr (Config::kGated) {
                acc.read(down, Partition::kGateColumns + across * kTileCols, values.gated);
            }
            // The same for all who fill the store tile.
            const bool inside = (Config::kWholeRows || tile_row < shape.m) &&
                                (Config::kWholeCols || tile_col < shape.n);
            if (inside) {
                write_store_tile(params, shape, operands, values, tile_row, tile_col,
                                 tile.batch);
            }
        }
    }

    JG_DEVICE void drain()
    {
        store_.drain();
    }

  private:
    // Accumulators of a store tile; of a gated D those of acc0, and those of acc1.
    struct Values {
        f32 acc[kFragments][4 * kGroups];
        f32 gated[Config::kGated ? kFragments : 1][4 * kGroups];
    };

    // The store tile that this warp helps to fill.
    static JG_DEVICE u32 store_tile()
    {
        return Partition::warp() / kTileWarps;
    }
    // The warp's first row in it, or column.
    static JG_DEVICE u32 first_lane()
    {
        return Partition::warp() % kTileWarps *
               (kTransposed ? Partition::kWarpCols : Partition::kWarpRows);
    }

    template <class Params, class ShapeT>
    JG_DEVICE void write_store_tile(const Params &params, const ShapeT &shape,
                                    Operands &operands, const Values &acc, u32 row, u32 col,
                                    u32 batch)
    {
        // Load: scalars.
        operands.load(params.operands, batch);
        typename Scales<Config>::template Fragment<Scales<Config>::kScalarsOnly> scales;
        scales.load(params, batch);
        const DElement<Config> d_element(alpha_);
        const CoordT first = first_coord(row, col, batch);
        const u32 buffer = ptx::shared_address(store_.acquire());
#pragma unroll
        for (u32 fragment = 0; fragment < kFragments; ++fragment) {
#pragma unroll
            for (u32 pair = 0; pair < kGroups / 2; ++pair) {
                // Compute: two groups of 8 columns of the accumulator.
                f32 values[2][2][2];
                compute(shape, operands, d_element, scales, acc.acc[fragment] + 8 * pair,
                        acc.gated[Config::kGated ? fragment : 0] + 8 * pair,
                        at(first, 16 * fragment, 16 * pair), values);
                // Store: to shared memory.
                fragments_.store(buffer, fragment, pair, values);
            }
        }
        // Store: to D.
        store_.store(row, col, batch);
    }

    // This thread's first element of a store tile.
    static JG_DEVICE CoordT first_coord(u32 row, u32 col, u32 batch)
    {
        const u32 lane = threadIdx.x % 32;
        CoordT coord{row, col, batch, 0};
        return at(coord, first_lane() + lane / 4, lane % 4 * 2);
    }
    // So many lanes and columns of the accumulator on.
    static JG_DEVICE CoordT at(CoordT coord, u32 lanes, u32 columns)
    {
        coord.row += kTransposed ? columns : lanes;
        coord.col += kTransposed ? lanes : columns;
        return coord;
    }

    // values[group][half][element] of 8 accumulators: two groups of 8 columns, of each two
    // neighbouring elements of lanes that are 8 apart.
    template <class ShapeT, class ScalesT>
    JG_DEVICE void compute(const ShapeT &shape, Operands &operands,
                           const DElement<Config> &d_element, const ScalesT &scales,
                           const f32 *acc, const f32 *gated, const CoordT &first,
                           f32 (&values)[2][2][2]) const
    {
        using A = typename Config::A;
        const f32 factor = scales.factor(alpha_);
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
            const u32 group = i / 4, half = i / 2 % 2, element = i % 2;
            const CoordT coord = at(first, 8 * half, 8 * group + element);
            f32 value = factor * accumulator_value<A>(acc[i]);
            if constexpr (Config::kGated) {
                const f32 acc1 =
                    scales.gated_factor(alpha_) * accumulator_value<A>(gated[i]);
                value =
                    operands.apply(value, acc1, shape, coord.row, coord.col, coord.batch);
            } else {
                value = operands.apply(value, shape, coord.row, coord.col, coord.batch);
            }
            values[group][half][element] = d_element.finish(value, acc[i]);
        }
    }

    f32 alpha_;
    u32 team_;
    Store store_;
    FragmentStore<typename Select<IsSame<D, s32>::value, f32, D>::Type,
                  Config::kStoreTileSwizzleBytes, kTransposed>
        fragments_;
};

} // namespace jg
