// SPDX-License-Identifier: MIT
// StageDescriptors: what the first multiplication of a math warpgroup reads of a stage's
// tiles. Called by MmaOp, by all threads of the warpgroup.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/ptx/wgmma.cuh>
#include <jg/sm90a/epilogue_partition.cuh>
#include <jg/tile/input_tiles.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg::sm90a {

struct Descriptors {
    u64 a, b;
};

template <class Config>
class StageDescriptors {
    using Partition = MmaPartition<Config>;
    using Tiles = InputTiles<Config>;
    // Are they the first stage's and a multiple of one distance? Elsewhere the compiler
    // makes them anew for each stage, of the tiles' addresses, with eight instructions
    // more.
    enum : bool { kSteps = has_scales_in_stages<Config>() };

  public:
    // `first_row`: of a tile, where the warpgroup's begin; `tiles`: of all stages.
    JG_DEVICE StageDescriptors(u32 consumer, u32 first_row, const Tiles *tiles)
        : consumer_(consumer), first_row_(first_row), tiles_(tiles)
    {
        if constexpr (kSteps) {
            const Descriptors first = describe(tiles_[0]);
            a_low_ = static_cast<u32>(first.a);
            b_low_ = static_cast<u32>(first.b);
            ptx::hold(a_low_);
            ptx::hold(b_low_);
        }
    }
    JG_DEVICE Descriptors of(u32 stage) const
    {
        if constexpr (kSteps) {
            constexpr u32 kStep = sizeof(Tiles) >> 4;
            return {with_low<InputA<Config>>(a_low_ + stage * kStep),
                    with_low<InputB<Config>>(b_low_ + stage * kStep)};
        } else {
            return describe(tiles_[stage]);
        }
    }

  private:
    JG_DEVICE Descriptors describe(const Tiles &tiles) const
    {
        return {descriptor<InputA<Config>>(tiles.a[0] + first_row_ * 128),
                descriptor<InputB<Config>>(tiles.b[0] +
                                           Partition::first_column(consumer_) * 128)};
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
    // `low`: its lower half.
    template <class Operand>
    static JG_DEVICE u64 with_low(u32 low)
    {
        constexpr u32 kStrideBytes =
            Operand::Swizzle::kGroupRows * Operand::Swizzle::kBytes;
        return ptx::wgmma_descriptor_of<kStrideBytes>(low);
    }

    u32 consumer_, first_row_;
    const Tiles *tiles_;
    u32 a_low_, b_low_; // of the first stage, where kSteps
};

} // namespace jg::sm90a
