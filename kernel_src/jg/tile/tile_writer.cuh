// SPDX-License-Identifier: MIT
// TileWriter: finished slabs from shared to global memory by TMA. One hop, nothing else.
//
// A slab is 64 rows by 128 bytes of D. Called by all 128 threads of a math warpgroup; one
// of them, always the same, issues and tracks the copies. Each warpgroup has its own slabs
// and named barrier.
#pragma once
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/tma.cuh>

namespace jg {

template <u32 kOutStages>
class TileWriter {
  public:
    static constexpr u32 kSlabBytes = 8192;

    // `slabs`: kOutStages slabs of this warpgroup, aligned to 1024 bytes.
    JG_DEVICE TileWriter(u8 *slabs, const TensorMap *map, u32 barrier_id)
        : slabs_(slabs), map_(map), barrier_id_(barrier_id), issuer_(threadIdx.x % 128 == 0)
    {
    }

    // Waits until the next slab is free and returns it.
    JG_DEVICE u8 *acquire()
    {
        if (issuer_) {
            ptx::tma_store_wait_read<kOutStages - 1>();
        }
        ptx::named_barrier_sync(barrier_id_, 128);
        return slabs_ + stage_ * kSlabBytes;
    }

    // Sends the slab that every thread has finished writing to this place of D.
    JG_DEVICE void store(u32 row, u32 col, u32 batch)
    {
        ptx::fence_proxy_async_shared();
        ptx::named_barrier_sync(barrier_id_, 128);
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
    u8 *slabs_;
    const TensorMap *map_;
    u32 barrier_id_;
    u32 stage_ = 0;
    bool issuer_;
};

} // namespace jg
