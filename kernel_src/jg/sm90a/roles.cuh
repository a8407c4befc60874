// SPDX-License-Identifier: MIT
// Who does what: warpgroup 0 loads, warpgroups 1 and 2 multiply and write, halves of a tile
// or, with Config::kPingpong, a tile each in turn.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/ptx/cluster.cuh>

namespace jg::sm90a {

struct Roles {
    enum : u32 {
        kConsumers = 2,
        kThreads = 128 * (1 + kConsumers),
        kMathWarps = 4 * kConsumers,
        kLoadWarps = 4, // where tiles are loaded by threads
        // Registers per thread: 128 * (load + 2 * math) <= 65536 of the SM. Threads that
        // load themselves need more than the one that starts copies.
        kLoadRegisters = 40,
        kMathRegisters = 232,
        // Beside copies of single rows a warp finds scales of theirs.
        kRowLoadRegisters = 56,
        kMathRegistersBesideRows = 224,
        kPingpongLoadRegisters = 24,
        kPingpongMathRegisters = 240, // a whole tile's accumulators
        // Of two CTAs of a multiprocessor each has half of them.
        kHalfLoadRegisters = 40,
        kHalfMathRegisters = 96,
        kThreadLoadRegisters = 72,
        kMathRegistersBeside = 216,
    };

    u32 warp = ptx::warp_index();

    JG_DEVICE bool is_load_warpgroup() const
    {
        return warp < 4;
    }
    JG_DEVICE bool is_load_warp() const
    {
        return warp == 0;
    }
    // Where scales of blocks are brought, and tiles are not loaded by threads: its number
    // among those that do so, count_scale_warps() of them.
    JG_DEVICE u32 scale_warp() const
    {
        return warp - 1;
    }
    // Where C and matrix operands have a ring of their own.
    JG_DEVICE bool is_epilogue_load_warp() const
    {
        return warp == 2;
    }
    // Where math warpgroups or the load warp get their items from it (item_slots.cuh).
    JG_DEVICE bool is_item_warp() const
    {
        return warp == 3;
    }
    // Of a math warp: its number among them, and its warpgroup's, 0 or 1.
    JG_DEVICE u32 math_warp() const
    {
        return warp - 4;
    }
    JG_DEVICE u32 consumer() const
    {
        return warp / 4 - 1;
    }
};

// What a load thread does at its end: the neighbours' arrivals have come, and the CTA may
// end. In a CTA of its own that only delays the next grid's start until the inputs are used
// up (measured: 6 % of 256^3). That grid's CTAs take multiprocessors as they come free, so
// that those lie apart that share inputs. Where each CTA has one tile it may be worth more
// that they lie in order: with Config::kNextAtEnd it begins when all has ended.
template <class Kernel, class Producer>
JG_DEVICE void finish_loading(const Kernel &kernel, Producer &tiles)
{
    using Config = typename Kernel::ConfigT;
    tiles.drain();
    if constexpr (Config::kPdl && Config::kResident == 1) {
        const bool is_held = Config::kNextAtEnd && kernel.scheduler.order().total() <=
                                                       gridDim.x / Kernel::Cluster::kSize;
        if (!is_held) {
            ptx::launch_dependent_grids();
        }
    }
}

} // namespace jg::sm90a
