// SPDX-License-Identifier: MIT
// Waits on barriers and on counters, and what a debug build (config `debug=1`, JG_DEBUG)
// adds to them: a wait that lasts too long writes into its warp's slot where and for what
// it waits, gives the others time to do the same, and ends the kernel. Slots lie in memory
// of the host, which reads them when the kernel is dead (lib/runtime/instruments.c has the
// same struct and numbers).
//
// Without JG_DEBUG a wait is a wait, and everything else is empty. Called by: all who wait.
//
// Words of a workspace that count are zero between launches. They count in steps that data
// do not have, so that a word which was not zero is no number of steps: then the kernel
// traps, in every build, before anybody takes it for parts that have come.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/ptx/clock.cuh>
#include <jg/ptx/global.cuh>
#include <jg/ptx/mbarrier.cuh>

namespace jg::debug {

// What a warp does; also the number of its row in a trace, twice (track.cuh).
enum class Role : u32 { kLoad, kMma, kEpilogueLoad, kEpilogue, kScheduler };
// Whose stage: of input tiles that the tensor core reads by itself; of input tiles and
// epilogue loads that warps read; of accumulators; of work; the sign that the load has
// begun (kThrottle), and that it has sent its first stages (kLoadOrder); of scales of
// blocks, and cells of tensor memory for such scales; sums of parts that the CTAs of a
// cluster have for each other, a step of adding up instead of a stage; parts of a tile's
// sum, a count instead of a stage; and a word of a workspace that was not zero.
enum class Ring : u32 {
    kTiles,
    kWarps,
    kAccumulators,
    kWork,
    kThrottle,
    kLoadOrder,
    kScales,
    kScaleCells,
    kClusterSums,
    kParts,
    kWorkspace
};
enum class Side : u32 { kFull, kEmpty };

// The barrier that is waited for.
struct BarrierId {
    Ring ring;
    Side side;
    u32 stage;
};

enum : u32 { kPollNs = 32 }; // between two looks at a counter

enum : u32 { kCountStep = 0x9e3779b1, kCountInverse = 0x0e8b2f51 };
static_assert(kCountStep * kCountInverse == 1, "of each other");

#ifdef JG_DEBUG

enum class State : u32 { kNone, kWorks, kWaited };

struct Slot {
    State state;
    Role role;
    u32 cta, sm, warp;
    Ring ring;
    Side side;
    u32 stage, parity;
    u32 row, col, batch, split; // of the tile that the role was at
    u32 reserved[3];
};
static_assert(sizeof(Slot) == 64, "as the host has it");

enum : u32 {
    kSlotCtas = 1024, // a grid may be larger: a CTA takes over another's slots
    kSlotWarps = 16,
};
enum : u64 { kLimitNs = 2000000000 };
enum : u32 { kGraceSleeps = 100 }; // of a millisecond

// Set by the host before the first launch; 0: there are no slots.
extern "C" __device__ u64 jg_debug_slots;
__device__ u64 jg_debug_slots = 0;

// One lane per warp: the lowest of those here.
JG_DEVICE bool writes_slot()
{
    const u32 lanes = ptx::active_lanes();
    return jg_debug_slots != 0 && (lanes & (1u << threadIdx.x % 32)) == (lanes & -lanes);
}

JG_DEVICE Slot &slot()
{
    return reinterpret_cast<Slot *>(
        jg_debug_slots)[blockIdx.x % kSlotCtas * kSlotWarps + threadIdx.x / 32];
}

JG_DEVICE void give_up(const BarrierId &id, u32 parity)
{
    if (writes_slot()) {
        Slot &own = slot();
        own.ring = id.ring;
        own.side = id.side;
        own.stage = id.stage;
        own.parity = parity;
        own.state = State::kWaited;
        ptx::fence_system();
    }
#    pragma unroll 1
    for (u32 i = 0; i < kGraceSleeps; ++i) {
        ptx::sleep_ns(1000000);
    }
    ptx::trap();
}

// Blocks until the phase of this parity is complete; acquires at CTA scope.
JG_DEVICE void wait(u64 *barrier, u32 parity, const BarrierId &id)
{
    const u64 start = ptx::global_timer_ns();
    while (!ptx::mbarrier_try_wait(barrier, parity)) {
        if (ptx::global_timer_ns() - start > kLimitNs) {
            give_up(id, parity);
        }
    }
}

// The same, for arrivals from the cluster; orders no memory at all.
JG_DEVICE void wait_relaxed(u64 *barrier, u32 parity, const BarrierId &id)
{
    const u64 start = ptx::global_timer_ns();
    while (!ptx::mbarrier_try_wait_relaxed(barrier, parity)) {
        if (ptx::global_timer_ns() - start > kLimitNs) {
            give_up(id, parity);
        }
    }
}

// Ends the kernel: the word was not zero before the launch, nor what this one makes of it.
JG_DEVICE void refuse_workspace(u32 word)
{
    give_up(BarrierId{Ring::kWorkspace, Side::kFull, 0}, word);
}

#else

JG_DEVICE void wait(u64 *barrier, u32 parity, const BarrierId &)
{
    ptx::mbarrier_wait(barrier, parity);
}
JG_DEVICE void wait_relaxed(u64 *barrier, u32 parity, const BarrierId &)
{
    ptx::mbarrier_wait_relaxed(barrier, parity);
}
JG_DEVICE void refuse_workspace(u32)
{
    ptx::trap();
}

#endif

// How many steps a word of a workspace has counted, of `most` at most.
JG_DEVICE u32 count_steps(u32 word, u32 most)
{
    const u32 count = word * kCountInverse;
    if (count > most) {
        refuse_workspace(word);
    }
    return count;
}

// Blocks until `parts` of `most` have counted; acquires at GPU scope.
JG_DEVICE void wait_for_parts(u64 counter, u32 parts, u32 most)
{
#ifdef JG_DEBUG
    const u64 start = ptx::global_timer_ns();
#endif
    u32 counted = count_steps(ptx::load_acquire(counter), most);
    while (counted < parts) {
#ifdef JG_DEBUG
        if (ptx::global_timer_ns() - start > kLimitNs) {
            give_up(BarrierId{Ring::kParts, Side::kFull, parts}, counted);
        }
#endif
        ptx::sleep_ns(kPollNs);
        counted = count_steps(ptx::load_acquire(counter), most);
    }
}

} // namespace jg::debug
