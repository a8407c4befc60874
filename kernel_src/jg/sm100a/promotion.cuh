// SPDX-License-Identifier: MIT
// PromotedSums: sums over K of parts that leave the tensor core after each block of K and
// are multiplied by the scales of its blocks (tile/block_scales.cuh).
//
// Tensor memory has a ring of accumulators, one for each block, and a region beside it. A
// warp adds up its lanes of an item in registers, 32 bits for each of its columns, and
// writes the sums to the region, from which the epilogue reads them as it reads an
// accumulator. Nobody else reads or writes a warp's lanes there.
//
// Called by: all threads of the epilogue's warps. Making one blocks until all of the item's
// parts have come.
#pragma once
#include <jg/ptx/tcgen05_store.cuh>
#include <jg/sm100a/accum_reader.cuh>
#include <jg/sm100a/scale_stages.cuh>
#include <jg/tile/block_scales.cuh>

namespace jg::sm100a {

// What AccumReader reads the region through: it is there, and stays its warp's.
struct SumsRegion {
    static constexpr JG_DEVICE u32 wait()
    {
        return 0;
    }
    static JG_DEVICE void release(u32) {}
};

template <class Config, class Partition>
class PromotedSums {
    using Layout = typename Partition::Layout;
    enum : u32 {
        kFragments = Partition::kFragments,
        kColumns = Layout::kColumns,
        kRowCount = 2 * kFragments * Layout::kMmas,
        kValues = kColumns / 2, // of a fragment, two rows of them
        // Values that are loaded at a time.
        kLoaded = Layout::kMmaColumns % 16 == 0 ? 8 : 4,
    };
    using Scales = BlockScales<Config, kRowCount, Layout::kMmaColumns>;

  public:
    using Region = SumsRegion;

    // `sums`: address of the region.
    template <class Ring, class ScaleConsumer>
    JG_DEVICE PromotedSums(u32 k_blocks, Ring &ring, u32 accumulators,
                           ScaleConsumer &scales, const ScaleSlots<Config> &slots, u32 sums)
    {
        const u32 warp = Partition::warp();
        f32 whole[kFragments][kValues] = {};
#pragma unroll 1
        for (u32 k = 0; k < k_blocks; ++k) {
            auto slot = scales.acquire();
            const Scales factors =
                Scales(slots.slot[slot.index()], RowsOfThread{warp},
                       Layout::kSplit ? warp / 2 * Layout::kMmaColumns : 0)
                    .multiplied();
            if constexpr (Scales::kOwned) {
                slot.release();
            }
            const AccumReader<Partition, Ring> part(ring, accumulators);
            add(whole, part, factors);
        }
        store(whole, sums + (warp * 32 << 16));
    }

  private:
    // Rows of the tile that a thread has: two of each fragment of each multiplication.
    struct RowsOfThread {
        u32 warp;

        JG_DEVICE u32 first() const
        {
            return warp * Layout::kWarpLanes % Layout::kRows + threadIdx.x % 32 / 4;
        }
        static constexpr JG_DEVICE u32 step(u32 i)
        {
            const u32 fragment = i / 2 % kFragments;
            return i / 2 / kFragments * Layout::kRows + fragment * 16 + i % 2 * 8;
        }
    };

    template <class Reader>
    static JG_DEVICE void add(f32 (&whole)[kFragments][kValues], const Reader &part,
                              const Scales &scales)
    {
#pragma unroll
        for (u32 first = 0; first < kValues; first += kLoaded) {
            f32 values[kFragments][kLoaded];
            part.read(0, 2 * first, values);
            const u32 mma = 2 * first / Layout::kMmaColumns;
            const u32 group = first / 4 - mma * Layout::kMmaColumns / 8; // of it
#pragma unroll
            for (u32 i = 0; i < kLoaded; i += 4) {
                const f32 *parts[kFragments];
                f32 *sums[kFragments];
#pragma unroll
                for (u32 fragment = 0; fragment < kFragments; ++fragment) {
                    parts[fragment] = values[fragment] + i;
                    sums[fragment] = whole[fragment] + first + i;
                }
                scales.template add_group<kFragments>(parts, sums, 2 * mma * kFragments,
                                                      group + i / 4);
            }
        }
    }

    static JG_DEVICE void store(const f32 (&whole)[kFragments][kValues], u32 address)
    {
#pragma unroll
        for (u32 i = 0; i < kFragments; ++i) {
#pragma unroll
            for (u32 first = 0; first < kValues; first += kLoaded) {
                ptx::tcgen05_store<kLoaded>(address + (16 * i << 16) + 2 * first,
                                            whole[i] + first);
            }
        }
        ptx::tcgen05_wait_store();
    }
};

} // namespace jg::sm100a
