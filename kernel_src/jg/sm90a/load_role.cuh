// SPDX-License-Identifier: MIT
// LoadRole: one thread that brings A and B by TMA, and C and matrix operands behind them.
//
// Where the problem says that nobody writes one of A and B (Config::kFirstLoads), the first
// stages of that one are loaded before the grid before has ended, and the thread waits for
// it behind these loads; all other threads of the CTA have waited before.
//
// The next grid may begin when inputs are used up (finish_loading). Where a
// multiprocessor has room for it beside this one (Config::kResident) it may when this one
// has begun; but one that loads weights first only when no more than a ring of loads is
// left here: earlier it would take of memory's rate what it gives back later (measured: 6 %
// of 1x4096x4096).
#pragma once
#include <jg/sm90a/item_slots.cuh>
#include <jg/sm90a/kernel_context.cuh>

namespace jg::sm90a {

template <class Kernel>
class LoadRole {
    using Config = typename Kernel::ConfigT;
    using EpilogueLoadT = typename Kernel::EpilogueLoadT;
    using Producer = typename Kernel::Ring::Producer;
    enum : bool { kFirst = Kernel::kLoadsFirst };

  public:
    JG_DEVICE explicit LoadRole(const Kernel &kernel) : kernel_(kernel) {}

    JG_DEVICE void run() const
    {
        auto tiles = kernel_.input.producer();
        bool with_c = !kFirst && has_c();
        bool waits = kFirst; // for the grid before
        AcquiredMaps maps(kernel_.loader);
        RoleWork work(kernel_.scheduler.load_iterator(), debug::Role::kLoad);
        LoadItemReader<Config> items(kernel_.smem.load_items);
        while (work.has_work()) {
            const auto item = items.next(work);
            maps.settle(item);
            work.settle_at_stage(tiles, item.k_blocks > 0);
            // Send A and B.
            const bool lets_next = Kernel::kHasHalf && kFirst && !work.has_work();
            const u32 bytes = kernel_.loader.bytes_of(item);
            u32 k = 0;
            if constexpr (kFirst) {
                if (waits) {
                    k = load_first(tiles, item, bytes);
                    with_c = has_c();
                    waits = false;
                    if (lets_next && k + Config::kStages > item.k_blocks) {
                        ptx::launch_dependent_grids();
                    }
                }
            }
#pragma unroll 1
            for (; k < item.k_blocks; ++k) {
                if (lets_next && k + Config::kStages == item.k_blocks) {
                    ptx::launch_dependent_grids();
                }
                const ProducerStage stage = tiles.acquire(bytes);
                kernel_.smem.input[stage.index].send(kernel_.loader, stage.full, item, k,
                                                     1);
            }
            // Send what the epilogue reads, behind the last block of K.
            if constexpr (EpilogueLoadT::kLoads > 0 && !Kernel::kHasLoadRing) {
                if (item.is_last_split && !(Kernel::kClearsRest && item.k_blocks == 0)) {
                    EpilogueLoadT::load(kernel_.params, kernel_.smem, tiles,
                                        Kernel::Output::tile(item), with_c);
                }
            }
        }
        finish_loading(kernel_, tiles);
    }

  private:
    // Are there values of C to read?
    JG_DEVICE bool has_c() const
    {
        return Config::kHasC && kernel_.params.beta.load() != 0.0f;
    }

    // Weights of as many of the first item's blocks as there are stages; and, when what the
    // grid before has written is there, the other input of these. How many they are.
    JG_DEVICE u32 load_first(Producer &tiles, const WorkItem &item, u32 bytes) const
    {
        constexpr FirstLoads kOther =
            Config::kFirstLoads == FirstLoads::kA ? FirstLoads::kB : FirstLoads::kA;
        const u32 blocks = min_u32(item.k_blocks, Config::kStages);
#pragma unroll 1
        for (u32 k = 0; k < blocks; ++k) {
            const ProducerStage stage = tiles.acquire(bytes);
            kernel_.smem.input[stage.index].template send_one<Config::kFirstLoads>(
                kernel_.loader, stage.full, item, k);
        }
        ptx::grid_dependency_wait();
#pragma unroll 1
        for (u32 k = 0; k < blocks; ++k) { // the first stages, in their order
            kernel_.smem.input[k].template send_one<kOther>(
                kernel_.loader, &kernel_.smem.ring.full[k], item, k);
        }
        return blocks;
    }

    const Kernel &kernel_;
};

} // namespace jg::sm90a
