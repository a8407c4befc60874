// SPDX-License-Identifier: MIT
// ScaleSlot, ScaleSlots, ScaleRing: the f32 scales of a tile's blocks of K in shared
// memory, in a ring beside that of the input tiles. block_scales.cuh has who fills and
// reads them.
#pragma once
#include <jg/common/block_scale.cuh>
#include <jg/common/cluster_shape.cuh>
#include <jg/pipeline/input_ring_buffer.cuh>
#include <jg/tile/scale_columns.cuh>
#include <jg/tile/scale_slots.cuh>

namespace jg {

// Scales of a tile's rows and columns, and of one block of K: of each, or of eight that
// have one. The host's size of it (lib/plan/smem.c) is part of Config::kSmemBytes, which
// the kernel asserts.
template <class Config>
struct ScaleSlot {
    using A = typename Config::ABlockScale;
    using B = typename Config::BBlockScale;
    enum : u32 {
        kARun = A::kBlockMn > 1 ? 8 : 1,
        kBRun = B::kBlockMn > 1 ? 8 : 1,
        kACount = A::kBlockMn > 0 ? Config::kBlockM / kARun : 0,
        kBCount = B::kBlockMn > 0 ? Config::kBlockN / kBRun : 0,
    };

    // Are they in the order in which threads read them? On an H200 256x48 took 0.94 of the
    // time so, 128x96 by rows 0.98, 64x64 to 64x160 0.98 to 1.00, but 64x32 1.02, 128x128
    // and 256x128 1.01 to 1.05, 128x160 1.10. Of 64 rows of a multiplication two teams may
    // have half of the columns each, which are sixteens then, too.
    enum : bool {
        kByColumns = kBCount > 0 && kBRun == 1,
        kHasSixteens =
            kBCount % 32 == 0 ||
            (kBCount % 16 == 0 && Config::kBlockM > (Config::kGateInA ? 128 : 64)),
        kInOrder = kByColumns && kHasSixteens && 48 <= kBCount && kBCount <= 112,
    };
    static constexpr ScaleOrder kAOrder =
        kInOrder && kARun == 1 ? ScaleOrder::kRows : ScaleOrder::kPlain;
    static constexpr ScaleOrder kBOrder =
        kInOrder ? ScaleOrder::kColumns : ScaleOrder::kPlain;
    static_assert(!kInOrder || kACount % 8 == 0, "whole reads");

    alignas(kInOrder ? 16 : 4) f32 scales[kACount + kBCount]; // A's first

    JG_DEVICE f32 *a()
    {
        return scales;
    }
    JG_DEVICE f32 *b()
    {
        return scales + kACount;
    }
    JG_DEVICE const f32 *a() const
    {
        return scales;
    }
    JG_DEVICE const f32 *b() const
    {
        return scales + kACount;
    }
};

// The ring: as many slots as have room, two at least. `kReaders`: warps that read them.
template <u32 kReaders>
struct ScaleSignals {
    using Cluster = ClusterShape<1, 1>;
    static constexpr debug::Ring kRing = debug::Ring::kScales;
    enum : u32 { kReleases = kReaders };

    JG_DEVICE explicit ScaleSignals(const Cluster &) {}

    // By whole warps, whose reads are over.
    JG_DEVICE void release(u64 *empty) const
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            ptx::mbarrier_arrive(empty);
        }
    }
};

// No barriers where the slots are those of stages of tiles.
template <u32 kCount>
struct ScaleBarriers {
    RingBarriers<kCount> ring;
};
template <>
struct alignas(8) ScaleBarriers<0> {
};

template <class Config, bool>
struct ScaleSlots
    : ScaleBarriers<has_scales_in_stages<Config>() ? 0 : Config::kScaleSlots> {
    ScaleSlot<Config> slot[Config::kScaleSlots];
};
template <class Config, u32 kReaders, bool>
class ScaleRing {
    using Ring = InputRingBuffer<Config::kScaleSlots, sizeof(ScaleSlot<Config>),
                                 ScaleSignals<kReaders>, scale_fillers<Config>()>;

  public:
    using Producer = typename Ring::Producer;
    using Consumer = typename Ring::Consumer;

    static JG_DEVICE void init_barriers(ScaleSlots<Config> &slots)
    {
        Ring::init_barriers(slots.ring);
    }
    static JG_DEVICE Producer producer(ScaleSlots<Config> &slots)
    {
        return Ring(slots.ring, ClusterShape<1, 1>(0)).producer();
    }
    static JG_DEVICE Consumer consumer(ScaleSlots<Config> &slots)
    {
        return Ring(slots.ring, ClusterShape<1, 1>(0)).consumer();
    }
};

} // namespace jg
