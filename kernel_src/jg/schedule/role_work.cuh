// SPDX-License-Identifier: MIT
// RoleWork: the items of one role, from a work iterator, and what a trace or a debug build
// shows of them (debug/track.cuh): the scope of an item is the time that the role is at it.
//
// Called by: each role, with the iterator that is its own. Nothing is waited for but what
// the iterator waits for.
#pragma once
#include <jg/debug/track.cuh>
#include <jg/schedule/work_item.cuh>

namespace jg {

// An item in a role's hands, where somebody looks.
template <class Track>
class HeldItem : public WorkItem {
  public:
    JG_DEVICE HeldItem(const WorkItem &item, Track &track) : WorkItem(item), track_(track)
    {
        track_.next(item);
        track_.begin();
    }
    HeldItem(const HeldItem &) = delete;
    HeldItem &operator=(const HeldItem &) = delete;
    JG_DEVICE ~HeldItem()
    {
        track_.end();
    }

  private:
    Track &track_;
};

template <class Iterator>
class RoleWork {
  public:
    // `which` and `records`: see Track.
    JG_DEVICE RoleWork(const Iterator &iterator, debug::Role role, u32 which = 0,
                       bool records = true)
        : iterator_(iterator), track_(role, which, records)
    {
    }

    JG_DEVICE bool has_work()
    {
        return iterator_.has_work();
    }
    JG_DEVICE auto next()
    {
        return hold(iterator_.next());
    }
    // The same of an item that somebody else has found.
    JG_DEVICE auto take(const WorkItem &item)
    {
        iterator_.skip();
        return hold(item);
    }
    // The next item, for another: of no role's time.
    JG_DEVICE WorkItem pass()
    {
        return iterator_.next();
    }
    JG_DEVICE void skip()
    {
        iterator_.skip();
    }
    // From here on the same threads work on the item in another role.
    JG_DEVICE void enter(debug::Role role)
    {
        if constexpr (debug::kIsTracked) {
            track_.enter(role);
        }
    }
    // In a trace the work on the item begins when the next stage of this side of a ring can
    // be taken, if it takes any.
    template <class View>
    JG_DEVICE void settle_at_stage(const View &view, bool takes_any)
    {
        if constexpr (debug::kTraces) {
            if (takes_any) {
                view.peek();
            }
            track_.settle();
        }
    }
    // For those who wait before the work on an item begins.
    JG_DEVICE debug::Track &track()
    {
        return track_;
    }

  private:
    JG_DEVICE auto hold(const WorkItem &item)
    {
        if constexpr (debug::kIsTracked) {
            return HeldItem<debug::Track>(item, track_);
        } else {
            return item;
        }
    }

    Iterator iterator_;
    debug::Track track_;
};

} // namespace jg
