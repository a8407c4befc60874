// SPDX-License-Identifier: MIT
// LoadOrder: a CTA asks for its first input tiles before its first C and matrix operands.
//
// When a CTA begins, both of its rings are empty, and what is asked for first arrives
// first. The multiplication needs the first stage of A and B; the epilogue reads C and
// matrix operands when all of K is done. So the epilogue-load thread waits until the load
// warp has sent the prologue: what the ring takes of the first item, all of its stages, or
// fewer where K has fewer. From then on the rings keep the order: each stage is sent when
// one was read.
//
// Called by: all threads that load (LoadPrologue), for each item, and the epilogue-load
// thread before its first copy (wait). Signals: one arrival of each of the kLoadWarps.
// Before use: init_barrier by one thread, then a synchronisation of the CTA. Where nothing
// is loaded for the epilogue nobody waits, and all of it is empty.
#pragma once
#include <jg/common/math.cuh>
#include <jg/debug/track.cuh>
#include <jg/ptx/mbarrier.cuh>

namespace jg::sm100a {

template <bool kWithEpilogueLoads>
struct LoadOrderBarrier {
    u64 sent; // only its first phase is used
};
template <>
struct LoadOrderBarrier<false> {
};

// The load warp's side.
template <bool kWithEpilogueLoads, u32 kRingBlocks>
class LoadPrologue {
  public:
    // `arrives`: true in one of the warp's threads that call.
    JG_DEVICE LoadPrologue(LoadOrderBarrier<kWithEpilogueLoads> &barrier, bool arrives)
        : barrier_(barrier), arrives_(arrives)
    {
    }

    // Sends an item's blocks of K: the prologue, then the rest, with an arrival between
    // them. `send(k, end)` sends those from `k` on, and returns which one is next.
    template <class Send>
    JG_DEVICE void run(u32 blocks, Send send)
    {
        u32 k = 0;
#pragma unroll 1
        for (u32 end = prologue(blocks); k < blocks; end = blocks) {
            k = send(k, end);
            arrive();
        }
    }

  private:
    // How many of an item's blocks are sent first: what the ring takes of the first item,
    // else all.
    JG_DEVICE u32 prologue(u32 blocks) const
    {
        return kWithEpilogueLoads && is_first_ ? min_u32(blocks, kRingBlocks) : blocks;
    }

    JG_DEVICE void arrive()
    {
        if constexpr (kWithEpilogueLoads) {
            if (is_first_ && arrives_) {
                ptx::mbarrier_arrive(&barrier_.sent);
            }
            is_first_ = false;
        }
    }

    LoadOrderBarrier<kWithEpilogueLoads> &barrier_;
    bool arrives_, is_first_ = true;
};

// `kRingBlocks`: blocks of K that the input ring holds.
template <bool kWithEpilogueLoads, u32 kRingBlocks, u32 kLoadWarps>
class LoadOrder {
    using Barrier = LoadOrderBarrier<kWithEpilogueLoads>;
    using Producer = LoadPrologue<kWithEpilogueLoads, kRingBlocks>;

  public:
    JG_DEVICE explicit LoadOrder(Barrier &barrier) : barrier_(barrier) {}

    static JG_DEVICE void init_barrier(Barrier &barrier)
    {
        if constexpr (kWithEpilogueLoads) {
            ptx::mbarrier_init(&barrier.sent, kLoadWarps);
        }
    }

    JG_DEVICE Producer producer(bool arrives) const
    {
        return Producer(barrier_, arrives);
    }

    // Blocks until the first inputs were sent; from then on it returns at once. `track`: of
    // the role, whose work on an item begins then.
    JG_DEVICE void wait(debug::Track &track) const
    {
        debug::wait(&barrier_.sent, 0,
                    debug::BarrierId{debug::Ring::kLoadOrder, debug::Side::kFull, 0});
        track.begin();
    }

  private:
    Barrier &barrier_;
};

} // namespace jg::sm100a
