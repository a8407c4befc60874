// SPDX-License-Identifier: MIT
// MmaOp: a math warpgroup's share of the tile, accumulated in registers by wgmma.
#pragma once
#include <jg/epilogue/accumulator.cuh>
#include <jg/ptx/wgmma.cuh>
#include <jg/sm90a/epilogue_partition.cuh>
#include <jg/sm90a/smem.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg::sm90a {

template <class Config>
struct MmaOp {
    using Partition = EpiloguePartition<Config>;
    using A = typename Config::A;
    using B = typename Config::B;
    static constexpr u32 kRowBlocks = Partition::kRows / 64;
    static_assert(Config::kBlockK * sizeof(A) == 128, "a stage is 128 bytes of K");
    using Instruction =
        ptx::Wgmma<A, B, Partition::kCols, Config::kAKMajor, Config::kBKMajor>;
    // Sums of 8-bit floats keep 13 fraction bits: each stage's is added up in f32
    // registers.
    static constexpr bool kPromotes = ptx::WgmmaTakes<A, B>::kEightBitFloats;

    Accumulator<A> acc[kRowBlocks][Partition::kCols / 2];
    u32 consumer_;

    JG_DEVICE explicit MmaOp(u32 consumer) : consumer_(consumer) {}

    // Adds up all of a tile's K, at least one block.
    template <class Consumer>
    JG_DEVICE void run(const Smem<Config> &smem, Consumer &consumer, u32 k_blocks)
    {
        if constexpr (kPromotes) {
            run_promoted(smem, consumer, k_blocks);
        } else {
            run_in_flight(smem, consumer, k_blocks);
        }
    }

  private:
    static constexpr u64 kRowBlockStep = 8192 >> 4;

    template <class Operand>
    static JG_DEVICE u64 descriptor(const u8 *tile)
    {
        using Swizzle = typename Operand::Swizzle;
        static_assert(Swizzle::kBytes == 128 && Swizzle::kAtom == 16, "its only swizzle");
        return ptx::wgmma_descriptor < Operand::kKMajor ? 16 : Operand::kPanelBytes,
               Swizzle::kGroupRows * Swizzle::kBytes > (tile);
    }
    JG_DEVICE u64 a_descriptor(const Smem<Config> &smem, u32 stage) const
    {
        return descriptor<InputA<Config>>(smem.a[stage] +
                                          Partition::first_row(consumer_) * 128);
    }
    JG_DEVICE u64 b_descriptor(const Smem<Config> &smem, u32 stage) const
    {
        return descriptor<InputB<Config>>(smem.b[stage] +
                                          Partition::first_col(consumer_) * 128);
    }

    // Issues the products of one stage as one group; `first` starts the sum.
    JG_DEVICE void issue(const Smem<Config> &smem, u32 stage, bool first)
    {
        const u64 a = a_descriptor(smem, stage);
        const u64 b = b_descriptor(smem, stage);
        ptx::wgmma_fence();
#pragma unroll
        for (u32 i = 0; i < kRowBlocks; ++i) {
            Instruction::issue(acc[i], a + i * kRowBlockStep, b, !first);
        }
        ptx::wgmma_commit();
    }

    // Sums stay where the tensor core adds to them. One group stays in flight while the
    // next stage is awaited.
    template <class Consumer>
    JG_DEVICE void run_in_flight(const Smem<Config> &smem, Consumer &consumer, u32 k_blocks)
    {
        HeldStages<Consumer> in_flight(consumer, HoldNothing());
#pragma unroll 1
        for (u32 k = 0; k < k_blocks; ++k) {
            auto stage = consumer.acquire();
            issue(smem, stage.index(), k == 0);
            ptx::wgmma_wait<1>();
            in_flight.replace_by(stage);
        }
        ptx::wgmma_wait<0>();
    }

    // The tensor core sums up one stage of 64 rows at a time, which is then added to f32
    // registers; meanwhile it works for the other warpgroup.
    template <class Consumer>
    JG_DEVICE void run_promoted(const Smem<Config> &smem, Consumer &consumer, u32 k_blocks)
    {
        f32 part[Partition::kCols / 2];
#pragma unroll
        for (u32 i = 0; i < kRowBlocks; ++i) {
#pragma unroll
            for (u32 j = 0; j < Partition::kCols / 2; ++j) {
                acc[i][j] = 0.0f;
            }
        }
#pragma unroll 1
        for (u32 k = 0; k < k_blocks; ++k) {
            auto stage = consumer.acquire();
            const u64 a = a_descriptor(smem, stage.index());
            const u64 b = b_descriptor(smem, stage.index());
#pragma unroll
            for (u32 i = 0; i < kRowBlocks; ++i) {
                ptx::wgmma_hold_registers(part);
                ptx::wgmma_fence();
                Instruction::issue(part, a + i * kRowBlockStep, b, 0);
                ptx::wgmma_commit();
                ptx::wgmma_wait<0>();
                ptx::wgmma_hold_registers(part);
                if (i + 1 == kRowBlocks) {
                    stage.release();
                }
#pragma unroll
                for (u32 j = 0; j < Partition::kCols / 2; ++j) {
                    acc[i][j] += part[j];
                }
            }
        }
    }
};

} // namespace jg::sm90a
