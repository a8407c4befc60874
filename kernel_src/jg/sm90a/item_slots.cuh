// SPDX-License-Identifier: MIT
// ItemSlots: the next items of the math warpgroups, found by a warp that has nothing else
// to do. Which tile an entry of a list of groups is takes a search
// and several divisions, about a thousand clocks; warpgroups would do so between two tiles,
// and short tiles have no time for it. Where each warpgroup has every other tile, it has a
// slot of its own; else both read both slots in turn.
//
// Called by: init_barriers by one thread, before the synchronisation; pass_items by one
// thread; next by all threads of a math warpgroup. put waits until its slot has been read,
// next until its item is there.
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

template <class Config, bool = passes_items<Config>()>
struct ItemSlots {
    JG_DEVICE void init_barriers() {}
};

template <class Config>
struct alignas(16) ItemSlots<Config, true> {
    enum : u32 {
        kCount = 2,
        kReaders = Config::kPingpong ? Roles::kMathWarps / kCount : Roles::kMathWarps,
    };
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

// Of the thread that finds them.
template <class Config>
class ItemWriter {
  public:
    JG_DEVICE explicit ItemWriter(ItemSlots<Config> &slots) : slots_(slots) {}

    JG_DEVICE void put(const WorkItem &item)
    {
        ptx::mbarrier_wait(&slots_.empty[slot_], parity_ ^ 1);
        slots_.items[slot_] = item;
        ptx::mbarrier_arrive(&slots_.full[slot_]);
        parity_ ^= slot_;
        slot_ ^= 1;
    }

  private:
    ItemSlots<Config> &slots_;
    u32 slot_ = 0, parity_ = 0;
};

// All of the role: one thread.
template <class Config, class Iterator>
JG_DEVICE void pass_items(Iterator work, ItemSlots<Config> &slots)
{
    ItemWriter<Config> writer(slots);
    while (work.has_work()) {
        writer.put(work.next());
    }
}

// Of a math warpgroup.
template <class Config, bool = passes_items<Config>()>
class ItemReader {
  public:
    JG_DEVICE ItemReader(ItemSlots<Config> &, u32) {}

    template <class Work>
    JG_DEVICE auto next(Work &work)
    {
        return work.next();
    }
};

template <class Config>
class ItemReader<Config, true> {
  public:
    JG_DEVICE ItemReader(ItemSlots<Config> &slots, u32 consumer)
        : slots_(slots), slot_(Config::kPingpong ? consumer : 0)
    {
    }

    // The next item of the warpgroup's work.
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
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            ptx::mbarrier_arrive(&slots_.empty[slot_]);
        }
        parity_ ^= Config::kPingpong ? 1 : slot_;
        slot_ ^= Config::kPingpong ? 0 : 1;
        return item;
    }

    ItemSlots<Config> &slots_;
    u32 slot_, parity_ = 0;
};

} // namespace jg::sm90a
