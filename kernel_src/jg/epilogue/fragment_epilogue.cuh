// SPDX-License-Identifier: MIT
// FragmentEpilogue: accumulators to D for epilogues of scalars and vectors, and of matrices
// of 16 bits that come through a ring, or of one that is assigned, where N is known to end
// on a 16-byte boundary of D: a TMA store clips at N rounded up to 16 bytes (measured on an
// H200).
//
// Applies alpha and the snippet in registers, in the accumulator's own layout, in which
// matrices are read too; converts; stores fragments to store tiles in shared memory
// (FragmentStore) and has them sent to D (TmaStore). Vectors are read a store tile ahead
// where registers allow it. What is assigned waits in registers until D's store tile is
// sent, and takes the next buffer. Where a CTA has one tile (Config::kStoresByWarps), each
// warp stores its rows itself, and none waits for another. With maps of each group D goes
// out by these. Called by all 128 threads of a warpgroup that holds accumulators. Waits for
// accumulators, which `acc` gives back, for buffers of store tiles and for the stages of
// matrices (EpilogueLoad::Reader), which it releases.
#pragma once
#include <jg/common/group_matrix.cuh>
#include <jg/common/math.cuh>
#include <jg/common/work_tile.cuh>
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/epilogue_for.cuh>
#include <jg/epilogue/epilogue_load.cuh>
#include <jg/epilogue/fragment_store.cuh>
#include <jg/epilogue/partition.cuh>
#include <jg/epilogue/row_store.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/tma_store.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/ptx/arithmetic.cuh>

namespace jg {

template <class Config, class Epilogue, class Partition>
class FragmentEpilogue : public NothingDrawnAhead {
    using D = typename Config::D;
    enum : bool { kTransposed = Partition::kTransposed };
    enum : u32 {
        kFragments = Partition::kFragments,
        // A store tile, and the warps that fill it.
        kTileRows = Config::kStoreTileRows,
        kTileCols = Config::kStoreTileSwizzleBytes / sizeof(D),
        kTileBytes = kTileRows * Config::kStoreTileSwizzleBytes,
        kTileWarps = Partition::kStoreTileWarps,
        // Groups of 8 columns of the accumulator in it.
        kGroups = (kTransposed ? kTileRows : kTileCols) / 8,
        // Store tiles that a warp helps to fill.
        kAcross = Partition::kCols / (kTransposed ? Partition::kStepCols : kTileCols),
        kDown = Partition::kRows / (kTransposed ? kTileRows : Partition::kStepRows),
        kStoreTiles = kDown * kAcross,
        // Of a step's lanes.
        kSteps = kTransposed ? kDown : kAcross,
    };
    // Vectors are read a store tile ahead, or where they are needed if the accumulators
    // leave no registers for that.
    enum : bool { kReadsAhead = !Config::kPlain && !Partition::kFewRegisters };
    using Load = EpilogueLoad<Config, Epilogue, Partition>;
    using C = typename Config::C;
    static_assert(Epilogue::kHasFragments && (!Config::kHasC || Load::kLoadsOfC == 1),
                  "the plan chose fragments for what needs vectors");
    static_assert(Load::kLoads == 0 || (!kTransposed && kTileCols == Load::kCols &&
                                        kStoreTiles == Load::kSteps),
                  "a step's boxes are those of the store tiles that a team fills at once");
    static_assert(kTransposed ? Partition::kRows % kTileRows == 0
                              : Partition::kCols % kTileCols == 0,
                  "store tiles fill a team's part");
    static_assert(kTransposed ? kTileCols == kTileWarps * Partition::kWarpCols
                              : kTileRows == kTileWarps * Partition::kWarpRows,
                  "whole warps fill a store tile");
    static_assert(4 % kTileWarps == 0 && kGroups % 2 == 0, "of a warpgroup, in pairs");
    template <u32 kGroupCount>
    using Coord = FragmentCoord<kTransposed, kFragments, kGroupCount, Config::kWholeRows,
                                Config::kWholeCols>;
    using CoordT = Coord<kGroups>;
    using PairCoordT = Coord<2>;
    using Store = TmaStore<Config::kOutStages, kTileBytes, kTileWarps>;

    // What a thread reads beside accumulators, for the elements of a coordinate; of C and
    // matrices, for two groups of columns of them.
    template <class Place>
    struct Inputs {
        typename MatrixInput<C>::template Fragment<Place> c;
        typename Epilogue::template Fragment<Place> operands;
        typename Scales<Config>::template Fragment<Place> scales;

        template <class Params>
        JG_DEVICE void load(const Params &params, const Place &coord)
        {
            operands.load(params.operands, coord);
            scales.load(params, coord);
        }
        template <class Reader>
        JG_DEVICE void read(Reader &reader, f32 beta, u32 fragment, u32 pair)
        {
            if constexpr (Load::kLoads > 0) {
                reader.seek_fragment(fragment, pair);
                if (Config::kHasC && beta != 0.0f) {
                    reader.read_c_fragment(c.words);
                }
                operands.read_boxes(reader);
            }
        }
    };

    // Store tiles whose vectors are read before accumulators are there: all, where few
    // registers hold them, else the first.
    enum : bool {
        kHoldsAll = kReadsAhead && Partition::kThreadAccumulators > 0 &&
                    kStoreTiles *(sizeof(Inputs<CoordT>::operands) +
                                  sizeof(Inputs<CoordT>::scales)) <= 160,
    };
    // A matrix that the snippet assigns goes through D's buffers behind it.
    using Operands = typename Epilogue::template Fragment<CoordT>;
    enum : bool { kWritesMore = Operands::kOutputs > 0 };
    static_assert(!kWritesMore ||
                      (Operands::kOutputs == 1 && Config::kOutStages == 2 &&
                       sizeof(D) == 2 && !Config::kGated && Config::kGroups == 0),
                  "the plan chose fragments for what needs vectors");
    enum : u32 { kAhead = kHoldsAll ? kStoreTiles : 1 };
    enum : bool { kByWarps = Config::kStoresByWarps };
    static_assert(!kByWarps || (!kTransposed && sizeof(D) == 2 && !kWritesMore),
                  "warps store rows of D");

  public:
    template <class Params, class ShapeT>
    JG_DEVICE FragmentEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 team)
        : alpha_(params.alpha.load()), beta_(Config::kHasC ? params.beta.load() : 0.0f),
          team_(team), store_(smem + store_tile() * Config::kOutStages * kTileBytes,
                              &params.maps[kMapD], Partition::barrier(team) + store_tile()),
          fragments_(first_lane())
    {
    }

    template <class Params>
    static JG_DEVICE void prefetch_maps(const Params &params)
    {
        if constexpr (!has_group_maps<Config>()) { // those of groups are not there yet
            ptx::prefetch_tensor_map(&params.maps[kMapD]);
        }
    }

    // Loads the vectors that a tile begins with, which run writes next: before the first
    // products, or, where accumulators are registers, while the last ones are added up.
    template <class Params, class ShapeT>
    JG_DEVICE void read_first(const Params &params, const ShapeT &shape,
                              const WorkTile &tile)
    {
        if constexpr (Config::kReadsFirst) {
            read_vectors(params, shape, tile);
        }
    }
    template <class Params, class ShapeT>
    JG_DEVICE void read_ahead(const Params &params, const ShapeT &shape,
                              const WorkTile &tile)
    {
        if constexpr (!Config::kReadsFirst) {
            read_vectors(params, shape, tile);
        }
    }

    // A tile. C and matrices come through `ring`.
    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void run(const Params &params, const ShapeT &shape, Accumulators &acc,
                       const Smem &smem, Consumer &ring, const WorkTile &tile)
    {
        constexpr bool kHasAll = kHoldsAll && !Accumulators::kIndexed;
        if constexpr (kReadsAhead && Partition::kThreadAccumulators == 0) { // nobody has
            ahead_[0].load(params, coord_of(shape, tile, number_of(acc, 0)));
        }
        Inputs<CoordT> next = ahead_[0];
#pragma unroll(Accumulators::kIndexed ? 1 : kStoreTiles)
        for (u32 done = 0; done < kStoreTiles; ++done) {
            const u32 i = number_of(acc, done);
            const CoordT first = coord_of(shape, tile, i);
            Inputs<CoordT> inputs = next;
            if constexpr (kReadsAhead) {
                if (done + 1 < kStoreTiles && kHasAll) {
                    next = ahead_[done + 1 < kAhead ? done + 1 : 0];
                } else if (done + 1 < kStoreTiles) {
                    next.load(params, coord_of(shape, tile, number_of(acc, done + 1)));
                }
            }
            const u32 step = i / kSteps;
            const u32 column = i % kSteps * (kTransposed ? kTileRows : kTileCols);
            Values values;
            acc.read(step, column, values.acc);
            if constexpr (Config::kGated) {
                acc.read(step, Partition::kGateColumns + column, values.gated);
            }
            const u32 row = tile_row(tile, i), col = tile_col(tile, i);
            // The same for all who fill the store tile.
            const bool inside = (Config::kWholeRows || row < shape.m) &&
                                (Config::kWholeCols || col < shape.n);
            typename Load::template Reader<Smem, Consumer> reader(
                smem, ring, team_, Partition::barrier(team_), beta_ != 0.0f);
            if (inside) {
                Kept kept;
                write_store_tile(params, shape, inputs, reader, values, first, kept);
                store(params, shape, row, col, tile.batch);
                if constexpr (kWritesMore) {
                    store_kept(params, kept, row, col, tile.batch);
                }
            }
        }
    }

    JG_DEVICE void drain()
    {
        store_.drain();
    }

  private:
    template <class Params, class ShapeT>
    JG_DEVICE void read_vectors(const Params &params, const ShapeT &shape,
                                const WorkTile &tile)
    {
        if constexpr (kReadsAhead) {
#pragma unroll
            for (u32 i = 0; i < kAhead; ++i) {
                ahead_[i].load(params, coord_of(shape, tile, i));
            }
        }
    }

    // Accumulators of a store tile; of a gated D those of acc0, and those of acc1.
    struct Values {
        f32 acc[kFragments][4 * kGroups];
        f32 gated[Config::kGated ? kFragments : 1][4 * kGroups];
    };

    // What a store tile has of the matrix that is assigned, until D's is sent.
    struct Kept {
        PackedFragments packed[kWritesMore ? kFragments : 1][kWritesMore ? kGroups / 2 : 1];
    };
    template <class From>
    static JG_DEVICE void keep(const From &operands, Kept &kept, u32 fragment, u32 pair)
    {
        if constexpr (kWritesMore) {
            operands.give([&](const auto &words) {
                kept.packed[fragment][pair] = PackedFragments(words);
            });
        }
    }
    template <class Params>
    JG_DEVICE void store_kept(const Params &params, const Kept &kept, u32 row, u32 col,
                              u32 batch)
    {
        const u32 buffer = ptx::shared_address(store_.acquire());
#pragma unroll
        for (u32 fragment = 0; fragment < kFragments; ++fragment) {
#pragma unroll
            for (u32 pair = 0; pair < kGroups / 2; ++pair) {
                fragments_.store(buffer, fragment, pair, kept.packed[fragment][pair]);
            }
        }
        store_.store_to(&params.operand_maps[Operands::kOutput], row, col,
                        batch * params.operands[Operands::kOutput].batch_step);
    }

    // Of the store tile that is made when so many of all were.
    template <class Accumulators>
    static JG_DEVICE u32 number_of(const Accumulators &acc, u32 done)
    {
        if constexpr (Config::kSharedColumns > 0) {
            static_assert(kStoreTiles == kSteps && Load::kLoads == 0,
                          "a part of the accumulators each, in any order");
            return acc.part(done, kSteps);
        } else {
            return done;
        }
    }

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

    // First row and column of the store tile number `i` that this warp helps to fill. Those
    // of lower warps lie before it.
    JG_DEVICE u32 tile_row(const WorkTile &tile, u32 i) const
    {
        const u32 ahead = Partition::team_warp() / kTileWarps;
        return tile.row + Partition::first_row(team_) +
               (kTransposed ? i % kSteps * kTileRows
                            : ahead * kTileRows + i / kSteps * Partition::kStepRows);
    }
    JG_DEVICE u32 tile_col(const WorkTile &tile, u32 i) const
    {
        const u32 ahead = Partition::team_warp() / kTileWarps;
        return tile.col + Partition::first_col(team_) +
               (kTransposed ? ahead * kTileCols + i / kSteps * Partition::kStepCols
                            : i % kSteps * kTileCols);
    }
    // This thread's first element of it.
    template <class ShapeT>
    JG_DEVICE CoordT coord_of(const ShapeT &shape, const WorkTile &tile, u32 i) const
    {
        const u32 lane = first_lane() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
        return {tile_row(tile, i) + (kTransposed ? column : lane),
                tile_col(tile, i) + (kTransposed ? lane : column), tile.batch, shape.m,
                shape.n};
    }

    // A buffer for the next store tile; where warps store, it is always the same.
    JG_DEVICE u32 acquire()
    {
        if constexpr (kByWarps) {
            __syncwarp(); // all lanes have read what was in it
            return ptx::shared_address(store_.buffer());
        } else {
            return ptx::shared_address(store_.acquire());
        }
    }

    // Sends the finished store tile; of one that reaches beyond its group's rows, what is
    // the group's.
    template <class Params, class ShapeT>
    JG_DEVICE void store(const Params &params, const ShapeT &shape, u32 row, u32 col,
                         u32 batch)
    {
        if constexpr (kByWarps) {
            store_rows_of_warp<Config, 16 * kFragments>(
                ptx::shared_address(store_.buffer()), first_lane(), params.d, shape, row,
                col, batch);
        } else if constexpr (has_group_maps<Config>()) { // they end where the group does
            store_.store_by(reinterpret_cast<const TensorMap *>(params.d.pointer) + batch,
                            row, col);
        } else if constexpr (Config::kGroups > 0) {
            if (row + kTileRows > shape.m) {
                D *target = params.d.template element<D>(row, col, batch);
                store_.take_by_threads([&](u32 tile, u32 thread, u32 threads) {
                    store_rows<Config::kStoreTileSwizzleBytes>(
                        tile, thread, threads, target, params.d.ld, shape.m - row,
                        min_u32(kTileCols, shape.n - col));
                });
                return;
            }
            store_.store(row, col, batch * params.d.batch_step);
        } else {
            store_.store(row, col, batch);
        }
    }

    template <class Params, class ShapeT, class Reader>
    JG_DEVICE void write_store_tile(const Params &params, const ShapeT &shape,
                                    Inputs<CoordT> &inputs, Reader &reader,
                                    const Values &acc, const CoordT &first, Kept &kept)
    {
        const u32 buffer = acquire();
#pragma unroll
        for (u32 fragment = 0; fragment < kFragments; ++fragment) {
#pragma unroll
            for (u32 pair = 0; pair < kGroups / 2; ++pair) {
                // Compute: two groups of 8 columns of the accumulator.
                f32 values[2][2][2];
                if constexpr (Config::kPlain) {
                    multiply(acc, fragment, pair, values);
                } else if constexpr (kReadsAhead) {
                    inputs.read(reader, beta_, fragment, pair);
                    compute(shape, inputs, acc, first, 2 * pair, fragment, pair, values);
                    keep(inputs.operands, kept, fragment, pair);
                } else {
                    const PairCoordT place = pair_coord(first, pair);
                    Inputs<PairCoordT> own;
                    own.load(params, place);
                    own.read(reader, beta_, fragment, pair);
                    compute(shape, own, acc, place, 0, fragment, pair, values);
                    keep(own.operands, kept, fragment, pair);
                }
                // Store: to shared memory.
                fragments_.store(buffer, fragment, pair, values);
            }
        }
    }

    // Where two groups of columns of the accumulator begin.
    static JG_DEVICE PairCoordT pair_coord(const CoordT &first, u32 pair)
    {
        return {first.row + (kTransposed ? 16 * pair : 0),
                first.col + (kTransposed ? 0 : 16 * pair), first.batch, first.row_end,
                first.col_end};
    }

    // values[group][half][element] of 8 accumulators: two groups of 8 columns, of each two
    // neighbouring elements of lanes that are 8 apart. `inputs` are those from `first` on,
    // where the two are number `first_group` and the next.
    template <class ShapeT, class Place>
    JG_DEVICE void compute(const ShapeT &shape, Inputs<Place> &inputs, const Values &acc,
                           const Place &first, u32 first_group, u32 fragment, u32 pair,
                           f32 (&values)[2][2][2]) const
    {
        using A = typename Config::A;
        const DElement<Config> d_element(alpha_);
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
            const u32 group = i / 4, half = i / 2 % 2, element = i % 2;
            const f32 bits = acc.acc[fragment][8 * pair + i];
            const FragmentIndex at{fragment, half, first_group + group, element};
            const u32 row = first.row + (kTransposed ? at.column() : at.lane());
            const u32 col = first.col + (kTransposed ? at.lane() : at.column());
            f32 value = inputs.scales.factor(alpha_, at) * accumulator_value<A>(bits);
            if constexpr (Config::kHasC) {
                value += beta_ * (beta_ != 0.0f ? inputs.c.value(at) : 0.0f);
            }
            if constexpr (Config::kGated) {
                const f32 acc1 = inputs.scales.gated_factor(alpha_, at) *
                                 accumulator_value<A>(acc.gated[fragment][8 * pair + i]);
                value =
                    inputs.operands.apply(value, acc1, shape, row, col, first.batch, at);
            } else {
                value = inputs.operands.apply(value, shape, row, col, first.batch, at);
            }
            values[group][half][element] = d_element.finish(value, bits);
        }
    }

    // The same where there is nothing but alpha.
    JG_DEVICE void multiply(const Values &acc, u32 fragment, u32 pair,
                            f32 (&values)[2][2][2]) const
    {
        using A = typename Config::A;
        const DElement<Config> d_element(alpha_);
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            const f32 *const bits = acc.acc[fragment] + 8 * pair + 2 * i;
            const ptx::Pair value =
                ptx::multiply_pairs({alpha_, alpha_}, {accumulator_value<A>(bits[0]),
                                                       accumulator_value<A>(bits[1])});
            values[i / 2][i % 2][0] = d_element.finish(value.left, bits[0]);
            values[i / 2][i % 2][1] = d_element.finish(value.right, bits[1]);
        }
    }

    f32 alpha_, beta_;
    u32 team_;
    Inputs<CoordT> ahead_[kAhead];
    Store store_;
    FragmentStore<typename Select<IsSame<D, s32>::value, f32, D>::Type,
                  Config::kStoreTileSwizzleBytes, kTransposed>
        fragments_;
};

} // namespace jg
