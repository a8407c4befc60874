// SPDX-License-Identifier: MIT
// VectorEpilogue: accumulators to D for epilogues with vectors or matrices, for C, for a D
// of 8 bits, and for a D whose rows may end inside a 16-byte chunk.
//
// Each warp passes its rows of a step through shared memory, 64 columns at a time, so that
// a thread gets 8 neighbouring columns of a row: matrix operands and D then move in whole
// 128-byte lines. A staging area is one warp's own; the warps meet only to give
// back the stages of matrices, once a step.
// Called by all 128 threads of a warpgroup that holds accumulators.
#pragma once
#include <jg/common/math.cuh>
#include <jg/epilogue/matrix_stages.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/sums.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

// Rows of 64 f32, in 16-byte chunks that are permuted so that neither the fragment's stores
// (8 rows of 32 bytes) nor the vector's loads (8 neighbouring vectors of a row) meet in a
// bank.
template <u32 kWarpRows>
class WarpStage {
  public:
    static constexpr u32 kRows = kWarpRows;
    static constexpr u32 kCols = 64;
    static constexpr u32 kBytes = kRows * kCols * sizeof(f32);

    JG_DEVICE explicit WarpStage(const u8 *memory) : base_(ptx::shared_address(memory)) {}

    // This thread's part of the 16 rows from `row` on: groups of 8 columns, 4 accumulators
    // each.
    template <class Sum, u32 kAccumulators>
    JG_DEVICE void store(u32 row, const Sum (&acc)[kAccumulators], u32 first) const
    {
        const u32 lane = threadIdx.x % 32;
#pragma unroll
        for (u32 group = 0; group < kCols / 8; ++group) {
            const u32 address =
                address_of(row + lane / 4, 2 * group + lane % 4 / 2) + lane % 2 * 8;
            const Sum *v =
                acc + first + 4 * group; // 8 rows on, the permutation is the same
            ptx::store_shared_two_pairs<8 * kCols * sizeof(f32)>(
                address, sum_bits(v[0]), sum_bits(v[1]), sum_bits(v[2]), sum_bits(v[3]));
        }
    }
    JG_DEVICE void load(u32 row, u32 vector, f32 (&values)[8]) const
    {
#pragma unroll
        for (u32 i = 0; i < 2; ++i) {
            const float4 part = ptx::load_shared_4(address_of(row, 2 * vector + i));
            values[4 * i] = part.x;
            values[4 * i + 1] = part.y;
            values[4 * i + 2] = part.z;
            values[4 * i + 3] = part.w;
        }
    }

  private:
    JG_DEVICE u32 address_of(u32 row, u32 chunk) const
    {
        return base_ + row * (kCols * 4) + ((chunk ^ (chunk >> 3) ^ (row % 8 * 2)) * 16);
    }

    u32 base_;
};

template <class Config, class Epilogue, class Share>
class VectorEpilogue {
    using D = typename Config::D;
    using C = typename Config::C;
    using Stages = MatrixStages<Config, Epilogue, Share>;
    using Stage = WarpStage<Share::kWarpRows>;
    static_assert(Config::kOutStages * Share::kSlabBytes >=
                      Share::kSlabWarps * Stage::kBytes,
                  "VectorEpilogue needs out_stages=2");
    static_assert(Stage::kCols == Stages::kCols, "a step is as wide as a stage");

    static constexpr bool kExactRows =
        Config::kM && Config::kM % (Config::kBlockM * Config::kClusterM) == 0;
    static constexpr bool kExactCols =
        Config::kN && Config::kN % (Config::kBlockN * Config::kClusterN) == 0;
    static constexpr u32 kVectors = Stage::kRows / 4; // a thread's, of a step

    // With N a multiple of 8, a vector exists as a whole or not at all.
    using PlaceT = VectorPlace<Config::kN && Config::kN % 8 == 0>;

  public:
    template <class Params, class ShapeT>
    JG_DEVICE VectorEpilogue(const Params &params, const ShapeT &, u8 *smem, u32 consumer)
        : alpha_(params.load_alpha()), beta_(Config::kHasC ? params.load_beta() : 0.0f),
          consumer_(consumer), stage_(smem + Share::warp() * Stage::kBytes)
    {
    }

    // Matrices come through `ring` where a step's fit into it.
    template <class Params, class ShapeT, class Accumulators, class Smem, class Consumer>
    JG_DEVICE void run(const Params &params, const ShapeT &shape, Accumulators &acc,
                       const Smem &smem, Consumer &ring, const WorkTile &tile)
    {
        typename Stages::Reader reader;
#pragma unroll 1
        for (u32 step = 0; step < Stages::kSteps; ++step) {
            // Loads that need no ring first: they land while accumulators are staged.
            PlaceT place = first_place(shape, tile, step);
            typename Epilogue::Vector user;
            user.load_columns(params.operands, place);
            typename Scales<Config>::Vector scales;
            scales.load_columns(params, place);
            __syncwarp();
            acc.stage(stage_, step);
            if (step + 1 == Stages::kSteps) {
                acc.release();
            }
            __syncwarp();
            reader.acquire(smem, ring, consumer_, beta_ != 0.0f);
            write_step(params, shape, user, scales, reader, place);
            reader.release(ring, 1 + consumer_);
        }
    }

    JG_DEVICE void drain() {}

  private:
    // This thread's first vector of a step: its row, its columns, and how many of those
    // exist.
    template <class ShapeT>
    JG_DEVICE PlaceT first_place(const ShapeT &shape, const WorkTile &tile, u32 step) const
    {
        const u32 lane = threadIdx.x % 32;
        PlaceT place;
        place.row = Stages::row(tile, consumer_, step) + Share::warp_row() + lane / 8;
        place.col = Stages::col(tile, consumer_, step) + lane % 8 * 8;
        place.batch = tile.batch;
        place.count = kExactCols              ? 8
                      : place.col >= shape.n  ? 0
                      : PlaceT::kWholeVectors ? 8
                                              : min_u32(8, shape.n - place.col);
        return place;
    }

    template <class Params, class ShapeT>
    JG_DEVICE void write_step(const Params &params, const ShapeT &shape,
                              typename Epilogue::Vector &user,
                              typename Scales<Config>::Vector &scales,
                              typename Stages::Reader &reader, const PlaceT &first) const
    {
        const u32 lane = threadIdx.x % 32;
        typename MatrixInput<C>::Vector c;
        D *target = reinterpret_cast<D *>(params.d) +
                    params.d_batch_stride * static_cast<i64>(first.batch) +
                    params.ldd * static_cast<i64>(first.row) + first.col;
        PlaceT place = first;
        const DElement<Config> element(alpha_);
        // Every 8 rows the permutations of both staging areas repeat: two vectors a turn.
#pragma unroll 1
        for (u32 v = 0; v < kVectors; v += 2) {
#pragma unroll
            for (u32 u = 0; u < 2; ++u) {
                const u32 stage_row = 4 * v + (4 * u + lane / 8);
                place.count = kExactRows || place.row < shape.m ? first.count : 0;
                reader.seek(Share::warp_row() + 4 * v, 4 * u + lane / 8, lane % 8);
                if constexpr (Config::kHasC) {
                    load_c(c, params, place, reader);
                }
                user.load_row(params.operands, place, reader);
                scales.load_row(params, place, reader);
                f32 values[8];
                stage_.load(stage_row, lane % 8, values);
#pragma unroll
                for (u32 i = 0; i < 8; ++i) {
                    const f32 sum = values[i];
                    f32 value =
                        scales.factor(alpha_, i) * sum_value<typename Config::A>(sum);
                    if constexpr (Config::kHasC) {
                        value += beta_ * c.value(i); // 0 where it was not loaded
                    }
                    values[i] = element.finish(user.apply(value, shape, place, i), sum);
                }
                user.store(params.operands, place);
                Packed8<D> packed;
                packed.assign(values);
                packed.template store<PlaceT::kWholeVectors>(target, place.count);
                place.row += 4;
                target += 4 * params.ldd;
            }
        }
    }

    template <class Params>
    JG_DEVICE void load_c(typename MatrixInput<C>::Vector &c, const Params &params,
                          const PlaceT &place, typename Stages::Reader &reader) const
    {
        if (beta_ == 0.0f) {
            c.packed.clear();
        } else if constexpr (Stages::Reader::kStaged && Stages::kCStages > 0) {
            reader.read_c(c.packed);
        } else {
            OperandParam param;
            param.pointer = params.c;
            param.ld = params.ldc;
            param.batch_stride = params.c_batch_stride;
            c.load_row(param, place, reader);
        }
    }

    f32 alpha_, beta_;
    u32 consumer_;
    Stage stage_;
};

} // namespace jg
