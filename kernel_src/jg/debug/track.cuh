// SPDX-License-Identifier: MIT
// Track: what a role is doing, tile by tile, for those who look from outside. A debug build
// keeps the current tile in the warp's slot (waits.cuh). A trace (config `trace=1`,
// JG_TRACE) writes when the role began and ended each tile, once it had what it waited for,
// into the buffer that the host has set; what does not fit there is left out.
//
// Without both there is nothing of it. Called by: schedule/role_work.cuh for each role,
// `next` for each tile, `begin` and `end` around the work on it; and by those who wait
// first for what the role works on, whose `begin` is the one that counts. After `settle`
// none counts.
#pragma once
#include <jg/debug/waits.cuh>

namespace jg::debug {

#ifdef JG_TRACE

enum : bool { kTraces = true };

struct TraceEvent {
    u64 begin_ns, end_ns; // end 0: there is no event
    u32 row, col, batch;
    u32 sm;
};

// `events` of each track, the kTracks tracks of a CTA after each other, all CTAs after each
// other.
struct TraceBuffer {
    u64 address; // 0: nothing is recorded
    u32 ctas, events;
};

enum : u32 { kTracks = 16 };

// Set by the host before the first launch.
extern "C" __device__ TraceBuffer jg_trace_buffer;
__device__ TraceBuffer jg_trace_buffer = {0, 0, 0};

// One thread's events.
class Recorder {
  public:
    JG_DEVICE Recorder(Role role, u32 which, bool records)
        : which_(which), tracks_{track_of(role), track_of(role)},
          records_(records && jg_trace_buffer.address != 0 &&
                   blockIdx.x < jg_trace_buffer.ctas)
    {
    }
    JG_DEVICE void next(const WorkTile &tile)
    {
        tile_ = tile;
        at_ = 0;
        is_settled_ = false;
    }
    JG_DEVICE void enter(Role role)
    {
        tracks_[1] = track_of(role);
        at_ = 1;
        is_settled_ = false;
    }
    JG_DEVICE void begin()
    {
        if (!is_settled_) {
            begin_ns_ = ptx::global_timer_ns();
        }
    }
    JG_DEVICE void settle()
    {
        begin();
        is_settled_ = true;
    }
    JG_DEVICE void end()
    {
        if (records_ && counts_[at_] < jg_trace_buffer.events) {
            TraceEvent *events = reinterpret_cast<TraceEvent *>(jg_trace_buffer.address);
            events[static_cast<u64>(blockIdx.x * kTracks + tracks_[at_]) *
                       jg_trace_buffer.events +
                   counts_[at_]++] =
                TraceEvent{begin_ns_,   ptx::global_timer_ns(), tile_.row, tile_.col,
                           tile_.batch, ptx::multiprocessor()};
        }
    }

  private:
    JG_DEVICE u32 track_of(Role role) const
    {
        return 2 * static_cast<u32>(role) + which_;
    }

    u32 which_;
    u32 tracks_[2], counts_[2] = {0, 0}; // of the role, and of the one that it enters
    u32 at_ = 0;
    bool records_, is_settled_ = false;
    u64 begin_ns_ = 0;
    WorkTile tile_ = {};
};

#else

enum : bool { kTraces = false };

#endif

#if defined(JG_DEBUG) && !defined(JG_TRACE)

struct Recorder {
    JG_DEVICE Recorder(Role, u32, bool) {}
    JG_DEVICE void enter(Role) {}
    JG_DEVICE void next(const WorkTile &) {}
    JG_DEVICE void begin() {}
    JG_DEVICE void settle() {}
    JG_DEVICE void end() {}
};

#endif

#if defined(JG_DEBUG) || defined(JG_TRACE)

enum : bool { kIsTracked = true };

class Track {
  public:
    // `which`: 0 or 1, where two of a CTA have the role. `records`: of all threads that
    // call, one.
    JG_DEVICE explicit Track(Role role, u32 which = 0, bool records = true)
        : recorder_(role, which, records), home_(role), role_(role)
    {
#    ifdef JG_DEBUG
        if (writes_slot()) {
            Slot &own = slot();
            own.role = role;
            own.cta = blockIdx.x;
            own.sm = ptx::multiprocessor();
            own.warp = threadIdx.x / 32;
            own.state = State::kWorks;
        }
#    endif
    }

    JG_DEVICE void next(const WorkTile &tile)
    {
        recorder_.next(tile);
        role_ = home_;
#    ifdef JG_DEBUG
        if (writes_slot()) {
            Slot &own = slot();
            own.role = role_;
            own.row = tile.row;
            own.col = tile.col;
            own.batch = tile.batch;
            own.split = tile.split;
        }
#    endif
    }
    JG_DEVICE void begin()
    {
        recorder_.begin();
#    ifdef JG_DEBUG
        if (writes_slot()) {
            slot().role = role_;
        }
#    endif
    }
    // All that the work on the tile waited for at its begin is there.
    JG_DEVICE void settle()
    {
        recorder_.settle();
    }
    JG_DEVICE void end()
    {
        recorder_.end();
    }
    // The work on this tile in another role begins, always the same one.
    JG_DEVICE void enter(Role role)
    {
        end();
        role_ = role;
        recorder_.enter(role);
        begin();
    }

  private:
    Recorder recorder_;
    Role home_, role_;
};

#else

enum : bool { kIsTracked = false };

struct Track {
    JG_DEVICE Track(Role, u32, bool) {}
    JG_DEVICE void begin() {}
    JG_DEVICE void settle() {}
    JG_DEVICE void enter(Role) {}
};

#endif

} // namespace jg::debug
