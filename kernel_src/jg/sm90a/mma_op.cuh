// SPDX-License-Identifier: MIT
// MmaOp: a math warpgroup's part of a tile, added up in registers by wgmma, a stage of the
// input ring at a time. Called by all threads of the warpgroup.
#pragma once
#include <jg/epilogue/accumulator.cuh>
#include <jg/pipeline/held_stages.cuh>
#include <jg/ptx/wgmma.cuh>
#include <jg/sm90a/epilogue_partition.cuh>
#include <jg/tile/block_scales.cuh>
#include <jg/tile/input_tiles.cuh>

namespace jg::sm90a {

// `Consumer`: of the input ring, whose stages it releases.
template <class Config, class Consumer>
class MmaOp {
    using Partition = EpiloguePartition<Config>;
    using A = typename Config::A;
    using B = typename Config::B;
    using Tiles = InputTiles<Config>;
    using Stage = HeldStages<Consumer>;
    static constexpr u32 kRowBlocks = Partition::kRows / 64;
    static constexpr u32 kMmas = Partition::kMmas; // for each of them
    static_assert(Config::kBlockK * kBits<A> == 8 * 128, "a stage is 128 bytes of K");
    using Instruction =
        ptx::Wgmma<A, B, Partition::kMmaColumns, Config::kAKMajor, Config::kBKMajor>;
    using Sums = Accumulator<A>[Partition::kMmaColumns / 2]; // of one multiplication
    // Accumulators of 8-bit floats keep 13 fraction bits: each stage's is added up in f32
    // registers.
    static constexpr bool kPromotes = ptx::WgmmaTakes<A, B>::kEightBitFloats;
    using Scales = BlockScales<Config, 2 * kRowBlocks * kMmas, Partition::kMmaColumns>;
    static_assert(kPromotes || !promotes_block_scales<Config>(),
                  "scales are those of promoted sums");

  public:
    using Accumulators = Accumulator<A>[kRowBlocks][Partition::kAccColumns / 2];

    template <class Params, class ShapeT>
    JG_DEVICE MmaOp(const Params &params, const ShapeT &shape, const WorkItem &item,
                    u32 consumer, Consumer &stages, Accumulators &acc)
        : acc_(acc), consumer_(consumer), in_flight_(stages, HoldNothing()),
          scales_(params, shape, item, RowsOfThread{consumer},
                  Partition::first_acc_column(consumer))
    {
        if constexpr (kPromotes) {
#pragma unroll
            for (u32 i = 0; i < kRowBlocks; ++i) {
#pragma unroll
                for (u32 j = 0; j < Partition::kAccColumns / 2; ++j) {
                    acc_[i][j] = 0.0f;
                }
            }
        }
    }

    // Adds the products of a stage's tiles, and releases the stage when they are read;
    // `is_first` starts the accumulator.
    JG_DEVICE void issue(const Tiles &tiles, Stage &stage, bool is_first)
    {
        const u64 a =
            descriptor<InputA<Config>>(tiles.a[0] + Partition::first_row(consumer_) * 128);
        const u64 b = descriptor<InputB<Config>>(
            tiles.b[0] + Partition::first_acc_column(consumer_) * 128);
        if constexpr (kPromotes) {
            add_promoted(a, b, stage);
        } else {
            add_in_flight(a, b, stage, is_first);
        }
    }

    // Waits until the accumulators have all that was issued.
    JG_DEVICE ~MmaOp()
    {
        if constexpr (!kPromotes) {
            ptx::wgmma_wait<0>();
        }
    }

  private:
    // Rows of the tile that a thread has of each multiplication: two.
    struct RowsOfThread {
        u32 consumer;

        JG_DEVICE u32 operator()(u32 i) const
        {
            const u32 mma = i / 2;
            return Partition::first_row(consumer) + mma / kMmas * 64 +
                   mma % kMmas * Partition::kTileRows + threadIdx.x / 32 % 4 * 16 +
                   threadIdx.x % 32 / 4 + i % 2 * 8;
        }
    };

    static constexpr u64 kRowBlockStep = 8192 >> 4;
    static constexpr u64 kGateStep = Partition::kTileRows * 128 >> 4; // to rows of acc1

    // Which block of rows a multiplication has, and the rows of which accumulator.
    static constexpr JG_DEVICE u64 a_step(u32 mma)
    {
        return mma / kMmas * kRowBlockStep + mma % kMmas * kGateStep;
    }
    JG_DEVICE Sums &sums(u32 mma) const
    {
        return reinterpret_cast<Sums &>(
            acc_[mma / kMmas][mma % kMmas * (Partition::kMmaColumns / 2)]);
    }

    template <class Operand>
    static JG_DEVICE u64 descriptor(const u8 *tile)
    {
        using Swizzle = typename Operand::Swizzle;
        static_assert(Swizzle::kBytes == 128 && Swizzle::kAtom == 16, "its only swizzle");
        constexpr u32 kLeadingBytes = Operand::kKMajor ? 16 : Operand::kPanelBytes;
        constexpr u32 kStrideBytes = Swizzle::kGroupRows * Swizzle::kBytes;
        return ptx::wgmma_descriptor<kLeadingBytes, kStrideBytes>(tile);
    }

    // Accumulators stay where the tensor core adds to them. One group of products stays in
    // flight while the next stage is awaited.
    JG_DEVICE void add_in_flight(u64 a, u64 b, Stage &stage, bool is_first)
    {
        ptx::wgmma_fence();
#pragma unroll
        for (u32 i = 0; i < kRowBlocks * kMmas; ++i) {
            Instruction::issue(sums(i), a + a_step(i), b, !is_first);
        }
        ptx::wgmma_commit();
        ptx::wgmma_wait<1>();
        in_flight_.replace_by(stage);
    }

    // The tensor core sums up one stage of 64 rows at a time, which is then multiplied by
    // the scales of its blocks, if there are any, and added to f32 registers; meanwhile it
    // works for the other warpgroup.
    JG_DEVICE void add_promoted(u64 a, u64 b, Stage &stage)
    {
        Sums part;
#pragma unroll
        for (u32 i = 0; i < kRowBlocks * kMmas; ++i) {
            ptx::wgmma_hold_registers(part);
            ptx::wgmma_fence();
            Instruction::issue(part, a + a_step(i), b, 0);
            ptx::wgmma_commit();
            if constexpr (promotes_block_scales<Config>()) {
                if (i == 0) {
                    scales_.advance();
                }
            }
            ptx::wgmma_wait<0>();
            ptx::wgmma_hold_registers(part);
            if (i + 1 == kRowBlocks * kMmas) {
                stage.release();
            }
            Sums &whole = sums(i);
#pragma unroll
            for (u32 group = 0; group < Partition::kMmaColumns / 8; ++group) {
                add_group(whole + 4 * group, part + 4 * group, i, group);
            }
        }
    }

    // Eight columns of a multiplication: two values of a row, and two of the row 8 below.
    JG_DEVICE void add_group(f32 *whole, const f32 *part, u32 mma, u32 group) const
    {
        if constexpr (promotes_block_scales<Config>()) {
            const f32 *parts[1] = {part};
            f32 *sums[1] = {whole};
            scales_.template add_group<1>(parts, sums, 2 * mma, group);
        } else {
#pragma unroll
            for (u32 i = 0; i < 4; ++i) {
                whole[i] += part[i];
            }
        }
    }

    Accumulators &acc_;
    u32 consumer_;
    Stage in_flight_;
    Scales scales_;
};

} // namespace jg::sm90a
