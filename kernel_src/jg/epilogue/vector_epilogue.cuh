// SPDX-License-Identifier: MIT
// VectorEpilogue: accumulators to D for epilogues that read or write matrices, or C.
//
// Each warp passes its 16 rows through shared memory, 64 columns at a time, so that a
// thread gets 8 neighbouring columns of a row: matrix operands and D then move in whole
// 128-byte lines. Warps are independent of each other; a staging area is one warp's own.
// Called by all 128 threads of a math warpgroup.
#pragma once
#include <jg/common/math.cuh>
#include <jg/epilogue/user_epilogue.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

// 16 rows of 64 f32, in 16-byte chunks that are permuted so that neither the fragment's
// stores (8 rows of 32 bytes) nor the vector's loads (8 neighbouring vectors of a row) meet
// in a bank.
class WarpStage {
  public:
    static constexpr u32 kRows = 16;
    static constexpr u32 kCols = 64;
    static constexpr u32 kBytes = kRows * kCols * sizeof(f32);

    JG_DEVICE explicit WarpStage(const u8 *memory) : base_(ptx::shared_address(memory)) {}

    // The fragment of this thread: groups of 8 columns, 4 accumulators each.
    template <u32 kAccumulators>
    JG_DEVICE void store(const f32 (&acc)[kAccumulators], u32 first) const
    {
        const u32 lane = threadIdx.x % 32;
#pragma unroll
        for (u32 group = 0; group < kCols / 8; ++group) {
            const u32 address =
                address_of(lane / 4, 2 * group + lane % 4 / 2) + lane % 2 * 8;
            const u32 below =
                address_of(lane / 4 + 8, 2 * group + lane % 4 / 2) + lane % 2 * 8;
            ptx::store_shared_pair(address, acc[first + 4 * group],
                                   acc[first + 4 * group + 1]);
            ptx::store_shared_pair(below, acc[first + 4 * group + 2],
                                   acc[first + 4 * group + 3]);
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

template <class Config, class Epilogue, u32 kRows, u32 kCols>
class VectorEpilogue {
    using D = typename Config::D;
    using C = typename Config::C;
    static_assert(Config::kOutStages * 8192 >= 4 * WarpStage::kBytes,
                  "matrix operands need out_stages=2");

    static constexpr bool kExactRows =
        Config::kM && Config::kM % (Config::kBlockM * Config::kClusterM) == 0;
    static constexpr bool kExactCols =
        Config::kN && Config::kN % (Config::kBlockN * Config::kClusterN) == 0;
    static constexpr u32 kStepsAcross = kCols / WarpStage::kCols;
    static constexpr u32 kSteps = kRows / 64 * kStepsAcross;

    // A thread has 4 vectors a step and works on kAtOnce of them at a time, a part.
    // Operands are loaded a part ahead where registers allow, those of the first part
    // before the main loop.
    static constexpr u32 kRegisters =
        Epilogue::kVectorRegisters + (Config::kHasC ? MatrixInput<C>::kVectorRegisters : 0);
    static constexpr u32 kAtOnce = kRegisters <= 20 ? 2 : 1;
    static constexpr bool kAhead = kRegisters <= 10;
    static constexpr u32 kParts = 4 / kAtOnce;

    // With N a multiple of 8, a vector exists as a whole or not at all.
    using PlaceT = VectorPlace<Config::kN && Config::kN % 8 == 0>;

    struct Operands {
        typename Epilogue::Vector user[kAtOnce];
        typename MatrixInput<C>::Vector c[kAtOnce];
    };

  public:
    template <class Params, class ShapeT>
    JG_DEVICE VectorEpilogue(const Params &params, const ShapeT &, u8 *smem, u32)
        : alpha_(params.load_alpha()), beta_(Config::kHasC ? params.load_beta() : 0.0f),
          stage_(smem + threadIdx.x % 128 / 32 * WarpStage::kBytes)
    {
    }

    // Before the main loop: asks for the tile's operands in L2 and loads those of the first
    // step.
    template <class Params, class ShapeT>
    JG_DEVICE void prefetch(const Params &params, const ShapeT &shape, u32 row, u32 col,
                            u32 batch)
    {
        const TileExtent<kRows, kCols> tile{row, col, batch, shape.m, shape.n};
        Epilogue::prefetch(params.operands, tile);
        if constexpr (Config::kHasC) {
            if (beta_ != 0.0f) {
                MatrixInput<C>::prefetch(c_param(params), tile);
            }
        }
        if constexpr (kAhead) {
            load(operands_, params, shape, place_of(shape, row, col, batch, 0));
        }
    }

    // acc[i]: rows 64 * i of the warpgroup's tile, which begins at (row, col).
    template <class Params, class ShapeT>
    JG_DEVICE void run(const Params &params, const ShapeT &shape,
                       const f32 (&acc)[kRows / 64][kCols / 2], u32 row, u32 col, u32 batch)
    {
#pragma unroll 1
        for (u32 part = 0; part < kSteps * kParts; ++part) {
            if (part % kParts == 0) {
                __syncwarp();
                stage_step<0>(acc, part / kParts);
                __syncwarp();
            }
            const PlaceT place = place_of(shape, row, col, batch, part);
            if constexpr (kAhead) {
                Operands next;
                if (part + 1 < kSteps * kParts) {
                    load(next, params, shape, place_of(shape, row, col, batch, part + 1));
                }
                apply(operands_, params, shape, place, part % kParts * kAtOnce);
                operands_ = next;
            } else {
                load(operands_, params, shape, place);
                apply(operands_, params, shape, place, part % kParts * kAtOnce);
            }
        }
    }

    JG_DEVICE void drain() {}

  private:
    template <class Params>
    static JG_DEVICE OperandParam c_param(const Params &params)
    {
        return OperandParam{params.c, params.ldc, params.c_batch_stride, 0.0f, 0};
    }

    // Stages the accumulators of one step. They are registers, so which ones must be known
    // when the code is compiled: a chain of comparisons, not an index.
    template <u32 kStep>
    JG_DEVICE void stage_step(const f32 (&acc)[kRows / 64][kCols / 2], u32 step) const
    {
        if (step == kStep) {
            stage_.store(acc[kStep / kStepsAcross],
                         kStep % kStepsAcross * WarpStage::kCols / 2);
        } else if constexpr (kStep + 1 < kSteps) {
            stage_step<kStep + 1>(acc, step);
        }
    }

    // This thread's first vector of a part.
    template <class ShapeT>
    static JG_DEVICE PlaceT place_of(const ShapeT &shape, u32 row, u32 col, u32 batch,
                                     u32 part)
    {
        const u32 lane = threadIdx.x % 32;
        const u32 step = part / kParts;
        PlaceT place;
        place.row = row + step / kStepsAcross * 64 +
                    threadIdx.x % 128 / 32 * WarpStage::kRows +
                    part % kParts * kAtOnce * 4 + lane / 8;
        place.col = col + step % kStepsAcross * WarpStage::kCols + lane % 8 * 8;
        place.batch = batch;
        place.count = 0;
        if ((kExactRows || place.row < shape.m) && (kExactCols || place.col < shape.n)) {
            place.count = PlaceT::kWholeVectors ? 8 : min_u32(8, shape.n - place.col);
        }
        return place;
    }
    // The vector 4 rows further down.
    template <class ShapeT>
    static JG_DEVICE PlaceT next_place(const ShapeT &shape, PlaceT place)
    {
        place.row += 4;
        if (!kExactRows && place.row >= shape.m) {
            place.count = 0;
        }
        return place;
    }

    template <class Params, class ShapeT>
    JG_DEVICE void load(Operands &operands, const Params &params, const ShapeT &shape,
                        PlaceT place) const
    {
#pragma unroll
        for (u32 v = 0; v < kAtOnce; ++v) {
            if (v == 0) { // where its row does not exist, neither do the further ones
                operands.user[v].load(params.operands, place);
            } else {
                place = next_place(shape, place);
                operands.user[v].load_more(params.operands, place, operands.user[0]);
            }
            if constexpr (Config::kHasC) {
                PlaceT c_place = place;
                if (beta_ == 0.0f) {
                    c_place.count = 0;
                }
                operands.c[v].load(c_param(params), c_place);
            }
        }
    }

    // `first`: number of the part's first vector in its step.
    template <class Params, class ShapeT>
    JG_DEVICE void apply(Operands &operands, const Params &params, const ShapeT &shape,
                         PlaceT place, u32 first) const
    {
        const u32 lane = threadIdx.x % 32;
#pragma unroll
        for (u32 v = 0; v < kAtOnce; ++v) {
            if (v > 0) {
                place = next_place(shape, place);
            }
            f32 values[8];
            stage_.load((first + v) * 4 + lane / 8, lane % 8, values);
#pragma unroll
            for (u32 i = 0; i < 8; ++i) {
                f32 value = alpha_ * values[i];
                if constexpr (Config::kHasC) {
                    value += beta_ * operands.c[v].value(i); // 0 where it was not loaded
                }
                values[i] = operands.user[v].apply(value, shape, place, i);
            }
            operands.user[v].store(params.operands, place);
            Packed8<D> packed;
            packed.assign(values);
            packed.template store<PlaceT::kWholeVectors>(
                reinterpret_cast<D *>(params.d) +
                    params.d_batch_stride * static_cast<i64>(place.batch) +
                    params.ldd * static_cast<i64>(place.row) + place.col,
                place.count);
        }
    }

    Operands operands_;
    f32 alpha_, beta_;
    WarpStage stage_;
};

} // namespace jg
