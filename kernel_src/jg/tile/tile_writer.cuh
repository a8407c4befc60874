// SPDX-License-Identifier: MIT
// TileWriter: finished slabs from shared to global memory by TMA. One hop, nothing else.
//
// A slab is some rows by 128 bytes of D; the box of D's map has its size. Called by all
// threads of the team that fills a slab, kWarps whole warps: one warp, or a warpgroup. One
// of the threads, always the same, issues and tracks the copies. Each team has its own
// slabs, and its own named barrier if it is more than a warp.
#pragma once
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/tma.cuh>

namespace jg {

template <u32 kOutStages, u32 kSlabBytes, u32 kWarps>
class TileWriter {
    static constexpr u32 kThreads = 32 * kWarps;

  public:
    // `slabs`: kOutStages slabs of this team, aligned to 1024 bytes.
    JG_DEVICE TileWriter(u8 *slabs, const TensorMap *map, u32 barrier_id)
        : slabs_(slabs), map_(map), barrier_id_(barrier_id),
          issuer_(threadIdx.x % kThreads == 0)
    {
    }

    // Waits until the next slab is free and returns it.
    JG_DEVICE u8 *acquire()
    {
        if (issuer_) {
            ptx::tma_store_wait_read<kOutStages - 1>();
        }
        synchronize();
        return slabs_ + stage_ * kSlabBytes;
    }

    // Sends the slab that every thread has finished writing to this place of D.
    JG_DEVICE void store(u32 row, u32 col, u32 batch)
    {
        ptx::fence_proxy_async_shared();
        synchronize();
        if (issuer_) {
            ptx::tma_store(slabs_ + stage_ * kSlabBytes, map_, static_cast<i32>(col),
                           static_cast<i32>(row), static_cast<i32>(batch));
            ptx::tma_store_commit();
        }
        stage_ = stage_ + 1 == kOutStages ? 0 : stage_ + 1;
    }

    // Waits until all is written.
    JG_DEVICE void drain()
    {
        if (issuer_) {
            ptx::tma_store_wait_all();
        }
    }

  private:
    JG_DEVICE void synchronize() const
    {
        if constexpr (kWarps == 1) {
            __syncwarp();
        } else {
            ptx::named_barrier_sync(barrier_id_, kThreads);
        }
    }

    u8 *slabs_;
    const TensorMap *map_;
    u32 barrier_id_;
    u32 stage_ = 0;
    bool issuer_;
};

} // namespace jg
