// SPDX-License-Identifier: MIT
// FilledStage: a stage of the input ring that threads fill, and when it is full.
//
// Threads that store hand a stage on by an arrival of each warp, behind a fence. Those that
// copy (cp.async) do not wait for what they copy: an arrival of each thread follows its
// copies, so that all stages of the ring can be under way. No fence of theirs can stand
// behind copies that nobody waits for; so who reads the stage has it (settle_copies).
//
// Called by: all threads that load (FilledStage), and those who make the tensor core read a
// stage that is full (settle_copies).
#pragma once
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/tile/line_ends.cuh>

namespace jg {

// Do threads that load copy (cp.async), so that a stage's barrier counts each thread's
// copies when they have landed? Else they store, and each of their warps arrives.
template <class Config>
constexpr JG_DEVICE bool loads_by_copies()
{
    if constexpr (Config::kThreadLoads) {
        return Config::kInputAlignment >= 4 && !IsSame<typename Config::A, tf32>::value;
    } else {
        return false;
    }
}

// Arrivals that make a stage full, where so many warps load.
template <class Config>
constexpr JG_DEVICE u32 stage_fillers(u32 warps)
{
    return loads_by_copies<Config>() ? 32 * warps : Config::kThreadLoads ? warps : 1;
}

// Before the tensor core reads a stage that is full: those who copied it, or shifted what
// was copied, arrived without a fence of their own.
template <class Config>
JG_DEVICE void settle_copies()
{
    if constexpr (loads_by_copies<Config>() || shifts_lines<Config>()) {
        ptx::fence_proxy_async_shared();
    }
}

// A stage that threads fill, handed on when the scope ends: by each warp, when its threads
// have stored their part, or by each thread's copies, when they land. Nobody waits for
// those; who reads the stage orders them (settle_copies).
template <class Config>
class FilledStage {
    template <class Producer, bool kCopies>
    class Held {
      public:
        JG_DEVICE explicit Held(Producer &producer) : held_(producer) {}
        JG_DEVICE u32 index() const
        {
            return held_.index();
        }

      private:
        HeldStages<Producer> held_;
    };
    template <class Producer>
    class Held<Producer, true> {
      public:
        JG_DEVICE explicit Held(Producer &producer)
            : producer_(producer), stage_(producer.acquire_empty().index)
        {
        }
        Held(const Held &) = delete;
        Held &operator=(const Held &) = delete;
        JG_DEVICE ~Held()
        {
            ptx::copy_async_arrive(producer_.full(stage_));
        }
        JG_DEVICE u32 index() const
        {
            return stage_;
        }

      private:
        Producer &producer_;
        u32 stage_;
    };

  public:
    // Blocks until the stage is empty.
    template <class Producer>
    static JG_DEVICE auto acquire(Producer &producer)
    {
        return Held<Producer, loads_by_copies<Config>()>(producer);
    }
};

} // namespace jg
