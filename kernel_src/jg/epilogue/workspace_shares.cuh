// SPDX-License-Identifier: MIT
// WorkspaceShares: a tile's sum over K, made by CTAs that each multiply one part of K and
// are in no cluster together, where each of them writes its share of D
// (split_order=parallel).
//
// Every CTA stores its accumulators as VectorEpilogue stages them, and each warp copies
// what is its own to the part's place in the workspace, by a bulk copy for each whole step.
// When all parts of a tile are there, part r adds up share r of the lines
// (tile_shares.cuh), always in the order of K: the sum has the bits of the serial order
// (partial_sums.cuh), and D the same bits in every launch.
//
// The parts count in a word of the tile, of 64 bits, which is 0 between launches: those
// that have come, those that will not look at it any more, and a bit for each share whose
// owner has left without it. Those that have come count once more, in steps, so that who
// comes sees whether the word began with 0, and traps where it did not. A part waits for
// the others, but not for ever: they may have no place to run while it holds its own. After
// 50 us it leaves its share to the part that comes last, which finds the bit in the answer
// to its own count, and writes that share too. So no part depends on another that does not
// run; that all run at once, which the plan sees to, is what makes it fast. The last to
// leave makes the word 0.
//
// store and next by all warps that hold accumulators; meet by the warp that loads,
// which counts and waits beside them. Waits: on two named barriers between these, and the
// load warp on the word. Signals: the word, by an atomic that acquires and releases.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/debug/waits.cuh>
#include <jg/epilogue/accumulator_extent.cuh>
#include <jg/epilogue/cluster_sums_storage.cuh>
#include <jg/epilogue/tile_shares.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/global.cuh>
#include <jg/ptx/tma.cuh>

namespace jg {

// How many shares a tile has: parts beyond them only count.
template <class Config, class Partition>
constexpr u32 count_workspace_shares()
{
    using One = TileShares<Config, Partition, 1, 1>;
    constexpr u32 kUnits = (One::kLines + One::kUnitRows - 1) / One::kUnitRows;
    constexpr u32 kMost = kUnits < 32 ? kUnits : 32; // bits of the word
    return Config::kSplitK < kMost ? Config::kSplitK : kMost;
}

template <class Config, class Partition>
class WorkspaceShares : public TileShares<Config, Partition, Config::kSplitK,
                                          count_workspace_shares<Config, Partition>()> {
    enum : u32 { kParts = Config::kSplitK };
    enum : u32 { kShares = count_workspace_shares<Config, Partition>() };
    using Shares = TileShares<Config, Partition, kParts, kShares>;
    enum : u32 { kWarps = 4 * Partition::kWarpgroups };
    enum : u32 { kMeeting = 32 * (kWarps + 1) }; // with the warp that loads
    enum : u64 { kPartBytes = kWarps * Shares::kWarpBytes };
    // Of the word.
    enum : u32 { kStep = 935, kFirstStep = 16 };
    enum : u64 { kArrival = 1 | kStep << kFirstStep, kDeparture = 1 << 8 };
    enum : u32 { kCount = 0xff, kFirstLeft = 32 };
    static_assert(kParts <= kCount && kParts * kStep < 1 << 16 && kShares <= 32,
                  "counts and bits of a word");
    enum : u64 { kPatienceNs = 50000 };

  public:
    using Storage = WorkspaceSharesStorage<Config>;
    using Step = typename Shares::template Step<WorkspaceShares, Shares::kMostLanes>;
    template <class CoordT, class D>
    using Cursor =
        typename Shares::template Cursor<WorkspaceShares, Shares::kMostLanes, CoordT, D>;

    // `ring`: the input tiles, which all warps of the CTA have used; `team`: this warp's;
    // `warp`: its number among those that hold accumulators; `barrier`: an id, and the one
    // after it.
    template <class Params, class Ring, class ShapeT>
    JG_DEVICE WorkspaceShares(const Params &params, Storage &storage, Ring &ring,
                              const ShapeT &shape, const WorkTile &tile, u32 team, u32 warp,
                              u32 barrier)
        : storage_(storage), barrier_(barrier), part_(tile.split),
          is_inside_(
              AccumulatorExtent<Config, Partition>(shape, tile, team).is_inside(0, 0)),
          memory_(storage.sums.place(ring) + warp * Shares::kWarpBytes),
          sums_(params.workspace + Config::kPartialsOffset +
                tile.workspace_tile * (kParts * kPartBytes) + warp * Shares::kWarpBytes)
    {
        static_assert(Config::kSumsBytes == kPartBytes, "lines of a tile");
    }

    // This part's accumulators to the workspace. Waits until it is known which shares this
    // CTA writes.
    template <class Accumulators>
    JG_DEVICE void store(const Accumulators &acc)
    {
        static_assert(Config::kScheduler == SchedulerKind::kSingle, "a CTA adds up once");
        // Where nothing of the warp is inside, in all CTAs, it reads what it has to give
        // back, tensor memory, and stores nothing.
        if (is_inside_ || Accumulators::kIndexed) {
            Shares::stage(acc, memory_, [&](u32 step) {
                if (is_inside_) {
                    copy(step);
                }
            });
        }
        if (is_inside_) {
            if (threadIdx.x % 32 == 0) {
                ptx::tma_store_commit();
                ptx::tma_store_wait_all();
            }
            __syncwarp();
        }
        ptx::named_barrier_arrive(barrier_, kMeeting);
        ptx::named_barrier_sync(barrier_ + 1, kMeeting);
        left_ = storage_.shares;
    }

    // Is there another one? The same for all threads.
    JG_DEVICE bool next()
    {
        if (left_ == 0) {
            return false;
        }
        share_ = __ffs(static_cast<int>(left_)) - 1;
        left_ &= left_ - 1;
        return true;
    }

    // The warp that loads: counts this part, and finds out which shares are this CTA's.
    template <class Params>
    static JG_DEVICE void meet(const Params &params, Storage &storage, const WorkTile &tile,
                               u32 barrier)
    {
        const u64 word =
            params.workspace + tile.workspace_tile * static_cast<u64>(sizeof(u64));
        ptx::named_barrier_sync(barrier, kMeeting);
        bool stays = true;
        if (threadIdx.x % 32 == 0) {
            storage.shares = find_shares(word, tile.split, stays);
        }
        __syncwarp();
        ptx::named_barrier_arrive(barrier + 1, kMeeting);
        if (threadIdx.x % 32 == 0 && stays) {
            leave(word, ptx::add_acquire_release_wide(word, kDeparture));
        }
    }

    // What Step asks for.
    JG_DEVICE const u8 *memory() const
    {
        return memory_;
    }
    template <u32 kCount>
    JG_DEVICE void load_part(u32 address, u32 part, f32 (&values)[kCount]) const
    {
        ptx::load_global_some(values, sums_ + part * kPartBytes +
                                          (address - ptx::shared_address(memory_)));
    }
    JG_DEVICE void let_go() const {}

    // The number of lane group `group`'s line, of this share's.
    JG_DEVICE u32 line(u32 group) const
    {
        return Shares::line(group, share_);
    }

  private:
    using Staging = typename Shares::Staging;

    // What is staged of a step: as a whole, or where it has a tail by chunks.
    JG_DEVICE void copy(u32 step) const
    {
        constexpr u32 kChunks = Staging::kCols / 4; // of a row
        const u8 *const from = memory_ + step * Staging::kBytes;
        const u64 to = sums_ + part_ * kPartBytes + step * Staging::kBytes;
        if (!Shares::has_tail(step)) {
            ptx::fence_proxy_async_shared();
            __syncwarp();
            if (threadIdx.x % 32 == 0) {
                ptx::bulk_store(to, from, Staging::kBytes);
            }
            return;
        }
        __syncwarp();
#pragma unroll
        for (u32 i = 0; i < Staging::kRows * kChunks; i += 32) {
            const u32 at = i + threadIdx.x % 32, row = at / kChunks, chunk = at % kChunks;
            if (Shares::is_staged(row, chunk)) {
                const u32 address = Staging(from).address_of(row, chunk);
                const float4 v = ptx::load_shared_4(address);
                ptx::store_global_4(to + (address - ptx::shared_address(from)), v.x, v.y,
                                    v.z, v.w);
            }
        }
    }

    static JG_DEVICE u32 count_of(u64 word)
    {
        return static_cast<u32>(word) & kCount;
    }

    // Has this launch made the word, before another part comes?
    static JG_DEVICE bool is_made_here(u64 word)
    {
        const u32 counts = static_cast<u32>(word);
        const u32 come = counts & kCount, gone = counts >> 8 & kCount;
        return counts >> kFirstStep == come * kStep && come < kParts && gone <= come &&
               __popc(static_cast<u32>(word >> kFirstLeft)) <= gone;
    }

    // A bit for each, when they can be written; `stays`: has this part still to leave?
    static JG_DEVICE u32 find_shares(u64 word, u32 part, bool &stays)
    {
        const u32 own = part < kShares ? 1u << part : 0;
        const u64 before = ptx::add_acquire_release_wide(word, kArrival);
        if (!is_made_here(before)) {
            debug::refuse_workspace(static_cast<u32>(before));
        }
        if (count_of(before) + 1 == kParts) {
            return own | static_cast<u32>(before >> kFirstLeft);
        }
        if (own == 0) {
            return 0;
        }
        const u64 start = ptx::global_timer_ns();
        do {
            if (count_of(ptx::load_acquire_wide(word)) == kParts) {
                return own;
            }
            ptx::sleep_ns(debug::kPollNs);
        } while (ptx::global_timer_ns() - start < kPatienceNs);
        const u64 late = ptx::add_acquire_release_wide(
            word, kDeparture | static_cast<u64>(own) << kFirstLeft);
        leave(word, late);
        stays = false;
        return count_of(late) == kParts ? own : 0;
    }

    // `before`: the word when this part left.
    static JG_DEVICE void leave(u64 word, u64 before)
    {
        if ((static_cast<u32>(before) >> 8 & kCount) + 1 == kParts) {
            ptx::store_global_bits<8>(word, 0);
        }
    }

    Storage &storage_;
    u32 barrier_, part_;
    bool is_inside_;
    u8 *memory_; // this warp's first line
    u64 sums_;   // the same of the first part's in the workspace
    u32 left_ = 0, share_ = 0;
};

} // namespace jg
