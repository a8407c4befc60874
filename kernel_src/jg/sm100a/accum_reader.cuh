// SPDX-License-Identifier: MIT
// AccumReader: how the epilogue reads a tile's accumulators out of tensor memory, in the
// layout that wgmma leaves in registers.
//
// Each CTA reads its own tensor memory, in a pair too; which lanes and columns are whose is
// LaneLayout's and EpiloguePartition's. Called by all threads of the epilogue's warps.
// Making one blocks until the next accumulator is full; it is given back by the load of its
// last part, early, when that is in registers. All parts are read, in order. Where two
// accumulators share columns each is given back when these are read: they are the last ones
// of the first accumulator, which is read in reverse, and the first ones of the other.
#pragma once
#include <jg/epilogue/staging.cuh>
#include <jg/sm100a/epilogue_partition.cuh>
#include <jg/sm100a/output_ring_buffer.cuh>

namespace jg::sm100a {

template <class Partition, class Consumer>
class AccumReader {
    using Layout = typename Partition::Layout;
    enum : u32 {
        kLane = 1u << 16, // what one lane adds to an address
        // Columns of a warpgroup from the first one of a gated D's acc0 or acc1 on, or of
        // both.
        kOwn = Partition::kGateColumns > 1 ? Partition::kAccColumns / 2
                                           : Partition::kAccColumns,
        kEnd = Partition::kGateColumns > 1 ? Partition::kGateColumns + kOwn : kOwn,
    };
    static_assert(Partition::kWarpgroups == 1 || Layout::kShared == 0,
                  "each warpgroup has given back what is shared");

  public:
    enum : bool { kIndexed = true };

    // `columns`: address of the ring in tensor memory, kStep columns per stage.
    JG_DEVICE AccumReader(Consumer &ring, u32 columns)
        : ring_(ring), stage_(ring.wait()),
          address_(columns + stage_ * Layout::kStep + Partition::warp() * 32 * kLane +
                   Layout::first_warp() / 4 * kOwn)
    {
    }

    // The part to read next, when so many of all were.
    JG_DEVICE u32 part(u32 read, u32 all) const
    {
        return Layout::kShared > 0 && stage_ == 0 ? all - 1 - read : read;
    }

    template <u32 kCount>
    JG_DEVICE void read(u32, u32 col, f32 (&values)[Partition::kFragments][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < Partition::kFragments; ++i) {
            ptx::tcgen05_load<kCount>(values[i], address_ + 16 * i * kLane + col);
        }
        ptx::tcgen05_wait_load(values);
        if constexpr (Layout::kShared > 0) {
            static_assert(Layout::kShared % (2 * kCount) == 0 &&
                              Layout::kStep % (2 * kCount) == 0,
                          "parts are shared or not");
            if (stage_ == 0 ? col == Layout::kStep : col + 2 * kCount == Layout::kShared) {
                ring_.release(stage_);
            }
        } else if (col + 2 * kCount == kEnd) {
            ring_.release(stage_);
        }
    }

    template <class Buffer>
    JG_DEVICE void copy_step(const Buffer &buffer, u32 step) const
    {
        copy_indexed_step<Partition>(*this, buffer, step);
    }

  private:
    Consumer &ring_;
    u32 stage_, address_;
};

} // namespace jg::sm100a
