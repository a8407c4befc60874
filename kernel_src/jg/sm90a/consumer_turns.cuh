// SPDX-License-Identifier: MIT
// ConsumerTurns: where the math warpgroups have every other tile (Config::kPingpong), they
// do what this orders one after the other, tile by tile.
//
// A barrier of a ring tells a stage's phase from the one before it, not from the one before
// that: a warpgroup may look at its first stage when the other has seen all of its own.
//
// Called by: all threads of a math warpgroup, in turn with the other's: wait before the
// first stage of its tile, pass_on behind the last. Uses barriers of the CTA of its own.
#pragma once
#include <jg/ptx/cluster.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

// kBarrier: the first of two.
template <u32 kBarrier>
class ConsumerTurns {
    enum : u32 { kThreads = 128 * Roles::kConsumers };
    static_assert(Roles::kConsumers == 2, "the other one is next");

  public:
    JG_DEVICE explicit ConsumerTurns(u32 consumer)
        : consumer_(consumer), is_first_(consumer == 0)
    {
    }

    JG_DEVICE void wait()
    {
        if (!is_first_) {
            ptx::named_barrier_sync(kBarrier + consumer_, kThreads);
        }
        is_first_ = false;
    }

    // `has_next`: does another tile follow?
    JG_DEVICE void pass_on(bool has_next) const
    {
        if (has_next) {
            ptx::named_barrier_arrive(kBarrier + (consumer_ ^ 1), kThreads);
        }
    }

  private:
    u32 consumer_;
    bool is_first_;
};

} // namespace jg::sm90a
