// SPDX-License-Identifier: MIT
// AccumReader: how the epilogue reads a tile's accumulators out of tensor memory, in the
// layout that wgmma leaves in registers.
//
// Each CTA reads its own tensor memory, in a pair too; which lanes and columns are whose is
// LaneLayout's and EpiloguePartition's. Called by all threads of the four epilogue warps.
// Making one blocks until the next accumulator is full; it is given back by the load of its
// last part, early, when that is in registers. All parts are read, in order.
#pragma once
#include <jg/epilogue/staging.cuh>
#include <jg/sm100a/epilogue_partition.cuh>
#include <jg/sm100a/output_ring_buffer.cuh>

namespace jg::sm100a {

template <class Partition, class Consumer>
class AccumReader {
    enum : u32 { kLane = 1u << 16 }; // what one lane adds to an address

  public:
    enum : bool { kIndexed = true };

    // `columns`: address of the ring in tensor memory, kPitch columns per stage.
    JG_DEVICE AccumReader(Consumer &ring, u32 columns)
        : ring_(ring), stage_(ring.wait()),
          address_(columns + stage_ * Partition::Layout::kPitch +
                   Partition::warp() * 32 * kLane)
    {
    }

    template <u32 kCount>
    JG_DEVICE void read(u32, u32 col, f32 (&values)[Partition::kFragments][kCount]) const
    {
#pragma unroll
        for (u32 i = 0; i < Partition::kFragments; ++i) {
            ptx::tcgen05_load<kCount>(values[i], address_ + 16 * i * kLane + col);
        }
        ptx::tcgen05_wait_load(values);
        if (col + 2 * kCount == Partition::kAccColumns) {
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
