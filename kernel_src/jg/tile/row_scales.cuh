// SPDX-License-Identifier: MIT
// RowScaleFiller: brings the f32 scales of rows, or of columns, that lie row by row in
// memory to the slots of block_scales.cuh.
//
// The scales of a row and of four neighbouring blocks of K are 16 bytes. A lane reads them
// at once and hands on one for each block. Copied one by one each would be a request of 32
// bytes, and a write to shared memory by itself: on an H200 a block of K took an eighth
// longer so.
//
// Called by whole warps, Config::kARowWarps of A's and kBRowWarps of B's, by fill_slots.
// Rows beyond the end of M or N, and blocks beyond the end of
// K, have scales of 0; neither is read.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/global.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/block_scales.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg {

template <class Config, class Ring, bool kOfA>
class RowScaleFiller {
    using Slot = ScaleSlot<Config>;
    using Operand = typename Select<kOfA, InputA<Config>, InputB<Config>>::Type;
    static constexpr ScaleOrder kOrder = kOfA ? Slot::kAOrder : Slot::kBOrder;
    // Rows of both accumulators of a gated product lie at no one distance.
    enum : bool { kEvenly = Operand::kGateRows == 0 };
    // Beside what reads groups and sizes four blocks of three and four rows were seen to
    // spill, and where a lane may lack one in a cluster.
    enum : bool {
        kReadsSizes = Config::kN == 0 || Config::kK == 0,
        kReadsBoth = Config::kN == 0 && Config::kK == 0,
        kIsRagged = (kOfA ? Slot::kACount : Slot::kBCount) % 32 != 0 &&
                    Config::kClusterM * Config::kClusterN > 1,
        kIsTight = Config::kGroups > 0 ? kReadsSizes || !kOfA
                                       : kReadsBoth && (Config::kM == 0 || !kOfA),
    };
    enum : u32 {
        kCount = kOfA ? Slot::kACount : Slot::kBCount,
        kStep =
            32 * (kOfA ? Config::kARowWarps : Config::kBRowWarps), // to a lane's next row
        kOwn = (kCount + kStep - 1) / kStep,                       // rows of a lane
        kAtOnce = kOwn <= (kIsTight    ? 2
                           : kIsRagged ? 3
                                       : 4)
                      ? 4
                      : 2,                // blocks of K
        kApart = kOwn <= 3 ? kAtOnce : 2, // not in whole words
    };

  public:
    // `warp`: among those that do so.
    template <class Params, class ShapeT>
    JG_DEVICE RowScaleFiller(const Params &params, const ShapeT &shape,
                             ScaleSlots<Config> &slots, const typename Ring::Producer &ring,
                             u32 warp)
        : param_(kOfA ? params.a_scale : params.b_scale), rows_(kOfA ? shape.m : shape.n),
          k_(shape.k), first_(32 * warp + threadIdx.x % 32), ring_(ring), slots_(slots)
    {
    }

    // Before an item's first block.
    JG_DEVICE void begin(const WorkItem &item)
    {
        const u32 end = end_of_scaled<Config>(item, k_);
        row_ = (kOfA ? item.row : item.col) + first_;
        blocks_ = (end - min_u32(item.k_first, end) + 127) / 128;
        left_ = rows_ - min_u32(row_, rows_);
        source_ = reinterpret_cast<u64>(param_.base<const f32>(item.batch) +
                                        param_.ld * static_cast<i64>(kEvenly ? row_ : 0) +
                                        first_scaled<Config>(item) / 128);
        held_ = 0;
    }

    // Blocks until a slot is empty, and brings the scales of the item's next block there.
    JG_DEVICE void fill()
    {
        if (held_ == 0) {
            load();
        }
        const ProducerStage stage = ring_.acquire_empty();
        Slot &slot = slots_.slot[stage.index];
        f32 *own = (kOfA ? slot.a() : slot.b()) + place_of_scale<kOrder>(first_);
#pragma unroll
        for (u32 i = 0; i < kOwn; ++i) {
            if (kCount % kStep == 0 || first_ + kStep * i < kCount) {
                ptx::store_shared(ptx::shared_address(own + kStep * i), values_[i][0]);
            }
        }
        ring_.hand_on(stage.index);
        --held_;
#pragma unroll
        for (u32 i = 0; i < kOwn; ++i) {
#pragma unroll
            for (u32 j = 1; j < kAtOnce; ++j) {
                values_[i][j - 1] = values_[i][j];
            }
        }
    }

  private:
    // Reads the scales of the next blocks, of several at once also where they do not lie in
    // whole words: what takes time is to wait for memory.
    JG_DEVICE void load()
    {
        const bool whole = source_ % (kAtOnce * sizeof(f32)) == 0 &&
                           param_.ld % kAtOnce == 0 && blocks_ >= kAtOnce;
        const u64 distance = kStep * sizeof(f32) * static_cast<u64>(param_.ld);
        u64 source = source_;
        if (whole) {
#pragma unroll
            for (u32 i = 0; i < kOwn; ++i) {
                load_word(values_[i], kEvenly ? source : source_of(i), has_row(i));
                source += distance;
            }
        } else {
#pragma unroll
            for (u32 i = 0; i < kOwn; ++i) {
                const u64 of_row = kEvenly ? source : source_of(i);
#pragma unroll
                for (u32 j = 0; j < kApart; ++j) {
                    values_[i][j] = __uint_as_float(ptx::load_global_if<4>(
                        of_row + j * sizeof(f32), has_row(i) && j < blocks_));
                }
                source += distance;
            }
        }
        held_ = whole ? kAtOnce : kApart;
        source_ += held_ * sizeof(f32);
        blocks_ -= min_u32(held_, blocks_);
    }
    // Has the matrix the lane's row `i`? Of a gated product the last one's scales are as
    // good as none: of its other half, no element of D has them.
    JG_DEVICE bool has_row(u32 i) const
    {
        return !kEvenly || kStep * i < left_;
    }
    // Of a gated product, where the scales of the lane's row `i` are.
    JG_DEVICE u64 source_of(u32 i) const
    {
        const u32 row =
            row_of_scales<Operand, Config::kGateHalves>(row_ + kStep * i, rows_);
        return source_ + sizeof(f32) * static_cast<u64>(param_.ld) * row;
    }
    static JG_DEVICE void load_word(f32 (&values)[kAtOnce], u64 source, bool exists)
    {
#pragma unroll
        for (u32 j = 0; j < kAtOnce; ++j) {
            values[j] = 0.0f;
        }
        if constexpr (kAtOnce == 4) {
            ptx::load_vector_if(values, source, exists);
        } else {
            ptx::load_pair_if(values[0], values[1], reinterpret_cast<const f32 *>(source),
                              exists);
        }
    }

    const MatrixParam &param_;
    u32 rows_, k_;   // of the matrix
    u32 first_;      // of the lane's rows in the tile
    u32 row_ = 0;    // the first of those, of the product
    u32 left_ = 0;   // rows of the matrix from there on
    u64 source_ = 0; // of that row, or of the matrix, of the next block that is not held
    f32 values_[kOwn][kAtOnce];
    u32 held_ = 0;   // blocks in values_, of which an item may lack the last
    u32 blocks_ = 0; // of K behind those
    typename Ring::Producer ring_;
    ScaleSlots<Config> &slots_;
};

} // namespace jg
