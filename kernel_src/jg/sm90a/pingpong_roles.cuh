// SPDX-License-Identifier: MIT
// PingpongRoles: the roles of a kernel of which each math warpgroup has every other tile
// (Config::kPingpong), where they differ from those of KernelContext.
//
// While one warpgroup writes, the tensor core works for the other, whose stages are behind
// its own in the rings: each goes past the other's. Matrices have a ring of their own: in
// that of the input tiles they would lie before the other's tile until they are read.
#pragma once
#include <jg/sm90a/consumer_turns.cuh>
#include <jg/sm90a/item_slots.cuh>
#include <jg/sm90a/kernel_context.cuh>

namespace jg::sm90a {

template <class Kernel>
class PingpongRoles {
    enum : u32 { kMathTurns = 10, kWriteTurns = 12 }; // two barriers each
    using Load = typename Kernel::EpilogueLoadT;
    using Tiles = typename Kernel::Ring::Consumer;
    using Boxes = typename Kernel::LoadRing::Consumer;
    static_assert(Kernel::kClusterParts == 1 && !Kernel::kScales && !Kernel::kClearsRest,
                  "the plan leaves tiles to both warpgroups there");

    using Config = typename Kernel::ConfigT;

  public:
    JG_DEVICE explicit PingpongRoles(const Kernel &kernel) : kernel_(kernel) {}

    // Brings C and matrix operands: one thread.
    JG_DEVICE void load_for_epilogue() const
    {
        auto boxes = load_ring().producer();
        RoleWork work(kernel_.scheduler.load_iterator(), debug::Role::kEpilogueLoad);
        while (work.has_work()) {
            const auto item = work.next();
            work.settle_at_stage(boxes, true);
            Load::load(kernel_.params, kernel_.smem, boxes, Kernel::Output::tile(item),
                       with_c());
        }
    }

    // Every other tile, from its accumulators to D: a math warpgroup.
    JG_DEVICE void multiply_and_write() const
    {
        const u32 consumer = kernel_.roles.consumer();
        auto tiles = kernel_.input.consumer();
        auto boxes = load_ring().consumer();
        ConsumerTurns<kMathTurns> math(consumer);
        ConsumerTurns<kWriteTurns> writes(consumer);
        typename Kernel::EpilogueT epilogue(kernel_.params,
                                            Kernel::Output::shape(kernel_.shape),
                                            kernel_.smem.out[consumer][0], 0);
        RoleWork work(kernel_.scheduler.warp_iterator(), debug::Role::kMma, consumer,
                      threadIdx.x % 128 == 0);
        MathItemReader<Config> items(kernel_.smem.items, consumer);
        for (bool is_own = consumer == 0; work.has_work(); is_own = !is_own) {
            if (is_own) {
                make_tile(work, items, epilogue, tiles, boxes, math, writes);
            } else {
                pass(count_passed(work), tiles, boxes);
            }
        }
        epilogue.drain();
        clear_empty_groups(kernel_);
    }

  private:
    // Blocks of K of the other warpgroup's next item. Where a warp finds items all have as
    // many.
    template <class Work>
    JG_DEVICE u32 count_passed(Work &work) const
    {
        if constexpr (passes_items<Config>()) {
            static_assert(!has_own_k<Config>(), "one K for all groups");
            work.skip();
            return KRange<Config>(kernel_.shape).part(0, 0).blocks;
        } else {
            return work.pass().k_blocks;
        }
    }

    template <class Work, class Epilogue, class MathTurns, class WriteTurns>
    JG_DEVICE void make_tile(Work &work, MathItemReader<Config> &items, Epilogue &epilogue,
                             Tiles &tiles, Boxes &boxes, MathTurns &math,
                             WriteTurns &writes) const
    {
        const auto item = items.next(work);
        const bool has_next = work.has_work();
        prefetch_vectors(kernel_, item, 0);
        // Add up the item's K.
        math.wait();
        work.settle_at_stage(tiles, item.k_blocks > 0);
        typename Kernel::Mma::Accumulators sums;
        auto no_scales = Kernel::ScaleRingT::consumer(kernel_.smem.scales);
        // The other's first products queue behind the last ones of these.
        kernel_.multiply(tiles, no_scales, TileShare<Config>(item, 0), sums, epilogue,
                         [&] { math.pass_on(has_next); });
        // Write D.
        work.enter(debug::Role::kEpilogue);
        if constexpr (Kernel::kHasLoadRing) {
            writes.wait();
            kernel_.write_item(epilogue, sums, boxes, item);
            writes.pass_on(has_next);
        } else {
            kernel_.write_item(epilogue, sums, tiles, item);
        }
    }

    // Leaves an item's stages to the other warpgroup.
    JG_DEVICE void pass(u32 k_blocks, Tiles &tiles, Boxes &boxes) const
    {
        tiles.pass(k_blocks);
        if constexpr (Kernel::kHasLoadRing) {
            boxes.pass(Load::count_stages(with_c()));
        }
    }

    JG_DEVICE typename Kernel::LoadRing load_ring() const
    {
        return {kernel_.smem.epilogue_load_ring, typename Kernel::OneCta(0)};
    }
    JG_DEVICE bool with_c() const
    {
        return kernel_.params.beta.load() != 0.0f;
    }

    const Kernel &kernel_;
};

} // namespace jg::sm90a
