// SPDX-License-Identifier: MIT
// ItemSlots: the next items of the math warpgroups, and of the thread that loads, found by
// a warp that has nothing else to do. Which tile an entry of a list of groups is takes a
// search and several divisions, about a thousand clocks; warpgroups would do so between two
// tiles, and short tiles have no time for it. A thread that loads sends nothing meanwhile:
// by a trace 1.1 us passed between two tiles of 33 us (H200). Where each warpgroup has
// every other tile, it has a slot of its own; else both read both slots in turn, as the
// thread that loads does its own.
//
// Called by: init_barriers by one thread, before the synchronisation; pass_items by one
// thread; next by all threads of a math warpgroup, or by the one that loads. put waits
// until its slot has been read, next until its item is there.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/sm90a/roles.cuh>

namespace jg::sm90a {

template <class Config>
constexpr JG_DEVICE bool passes_items()
{
    if constexpr (Config::kCopiedRows > 0 && promotes_block_scales<Config>()) {
        return true; // whose math warpgroups have no registers for the list
    } else if constexpr (Config::kGroups > 0 && Config::kGroupBy != GroupBy::kRows) {
        return Config::kPassesItems;
    } else {
        return false;
    }
}

// To the thread that loads?
template <class Config>
constexpr JG_DEVICE bool passes_loads()
{
    if constexpr (Config::kGroups > 0 && Config::kGroupBy != GroupBy::kRows) {
        return Config::kPassesLoads;
    } else {
        return false;
    }
}

struct NoItemSlots {
    JG_DEVICE void init_barriers() {}
};

// Each is read by so many warps, or by a thread.
template <u32 kReaders>
struct alignas(16) ItemSlots {
    enum : u32 { kCount = 2 };
    static_assert(Roles::kConsumers == kCount, "one for each, or both");

    WorkItem items[kCount];
    u64 full[kCount], empty[kCount];

    JG_DEVICE void init_barriers()
    {
#pragma unroll
        for (u32 i = 0; i < kCount; ++i) {
            ptx::mbarrier_init(&full[i], 1);
            ptx::mbarrier_init(&empty[i], kReaders);
        }
    }
};
static_assert(sizeof(WorkItem) == 64, "as the host counts shared memory");

template <class Config>
using MathItems =
    typename Select<passes_items<Config>(),
                    ItemSlots<Roles::kMathWarps / (Config::kPingpong ? 2 : 1)>,
                    NoItemSlots>::Type;
template <class Config>
using LoadItems = typename Select<passes_loads<Config>(), ItemSlots<1>, NoItemSlots>::Type;

// Of the thread that finds them.
template <class Slots>
class ItemWriter {
  public:
    JG_DEVICE explicit ItemWriter(Slots &slots) : slots_(slots) {}

    JG_DEVICE void put(const WorkItem &item)
    {
        ptx::mbarrier_wait(&slots_.empty[slot_], parity_ ^ 1);
        slots_.items[slot_] = item;
        ptx::mbarrier_arrive(&slots_.full[slot_]);
        parity_ ^= slot_;
        slot_ ^= 1;
    }

  private:
    Slots &slots_;
    u32 slot_ = 0, parity_ = 0;
};
template <>
class ItemWriter<NoItemSlots> {
  public:
    JG_DEVICE explicit ItemWriter(NoItemSlots &) {}
    JG_DEVICE void put(const WorkItem &) {}
};

// All of the role: one thread.
template <class Iterator, class Loads, class Maths>
JG_DEVICE void pass_items(Iterator work, Loads &loads, Maths &maths)
{
    ItemWriter<Loads> load(loads);
    ItemWriter<Maths> math(maths);
    while (work.has_work()) {
        const WorkItem item = work.next();
        load.put(item);
        math.put(item);
    }
}

// Of whoever takes them: a thread, or where `kWarps` all threads of warps. Both slots are
// read in turn, or where `kKeepsSlot` one of them only.
template <class Slots, bool kWarps, bool kKeepsSlot = false>
class ItemReader {
  public:
    JG_DEVICE explicit ItemReader(Slots &slots, u32 slot = 0) : slots_(slots), slot_(slot)
    {
    }

    // The next item of its work.
    template <class Work>
    JG_DEVICE auto next(Work &work)
    {
        return work.take(take());
    }

  private:
    JG_DEVICE WorkItem take()
    {
        ptx::mbarrier_wait(&slots_.full[slot_], parity_);
        const WorkItem item = slots_.items[slot_];
        if constexpr (kWarps) {
            __syncwarp();
        }
        if (!kWarps || threadIdx.x % 32 == 0) {
            ptx::mbarrier_arrive(&slots_.empty[slot_]);
        }
        parity_ ^= kKeepsSlot ? 1 : slot_;
        slot_ ^= kKeepsSlot ? 0 : 1;
        return item;
    }

    Slots &slots_;
    u32 slot_, parity_ = 0;
};
template <bool kWarps, bool kKeepsSlot>
class ItemReader<NoItemSlots, kWarps, kKeepsSlot> {
  public:
    JG_DEVICE explicit ItemReader(NoItemSlots &, u32 = 0) {}

    template <class Work>
    JG_DEVICE auto next(Work &work)
    {
        return work.next();
    }
};

template <class Config>
using LoadItemReader = ItemReader<LoadItems<Config>, false>;
template <class Config>
using MathItemReader = ItemReader<MathItems<Config>, true, Config::kPingpong>;

} // namespace jg::sm90a
