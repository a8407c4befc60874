// SPDX-License-Identifier: MIT
// TmaStore: finished store tiles from shared to global memory by TMA. One hop, nothing
// else.
//
// A store tile is some rows of D, of a few bytes each; the box of D's map has its size.
// Called by all threads of the kWarps whole warps that fill a store tile: one, several, or
// a warpgroup. One of the threads, always the same, issues and tracks the copies. Waits:
// for the copy that last read a buffer, and at a named barrier of its own if there is more
// than one warp. Signals nobody.
#pragma once
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/tensor_map.cuh>
#include <jg/ptx/tma.cuh>

namespace jg {

template <u32 kBuffers, u32 kBytes, u32 kWarps>
class TmaStore {
    enum : u32 { kThreads = 32 * kWarps };

  public:
    // `buffers`: kBuffers store tiles of these warps, aligned to 1024 bytes.
    JG_DEVICE TmaStore(u8 *buffers, const TensorMap *map, u32 barrier_id)
        : buffers_(buffers), map_(map), barrier_id_(barrier_id),
          issuer_(threadIdx.x % kThreads == 0)
    {
    }

    // Waits until the next buffer is free and returns it.
    JG_DEVICE u8 *acquire()
    {
        if (issuer_) {
            ptx::tma_store_wait_read<kBuffers - 1>();
        }
        synchronize();
        return buffers_ + index_ * kBytes;
    }

    // The buffer to fill next.
    JG_DEVICE u8 *buffer() const
    {
        return buffers_ + index_ * kBytes;
    }

    // Sends the store tile that every thread has finished writing to this row and column of
    // D.
    JG_DEVICE void store(u32 row, u32 col, u32 batch)
    {
        ptx::fence_proxy_async_shared();
        synchronize();
        if (issuer_) {
            ptx::tma_store(buffers_ + index_ * kBytes, map_, static_cast<i32>(col),
                           static_cast<i32>(row), static_cast<i32>(batch));
            ptx::tma_store_commit();
        }
        index_ = index_ + 1 == kBuffers ? 0 : index_ + 1;
    }

    // The same to another matrix of D's shape.
    JG_DEVICE void store_to(const TensorMap *map, u32 row, u32 col, u32 batch)
    {
        const TensorMap *own = map_;
        map_ = map;
        store(row, col, batch);
        map_ = own;
    }

    // The same by another map, which a kernel before has written: the thread that stores
    // acquires it before its first store of a row of them.
    JG_DEVICE void store_by(const TensorMap *map, u32 row, u32 col)
    {
        if (issuer_ && map != map_) {
            ptx::acquire_map(map);
        }
        map_ = map;
        store(row, col, 0);
    }

    // Has the threads take the finished store tile away themselves: `take` gets its
    // address, the thread's number and how many there are.
    template <class Take>
    JG_DEVICE void take_by_threads(const Take &take)
    {
        synchronize();
        take(ptx::shared_address(buffers_ + index_ * kBytes), threadIdx.x % kThreads,
             kThreads);
        if (issuer_) { // a group of no copies: acquire counts one for each buffer
            ptx::tma_store_commit();
        }
        index_ = index_ + 1 == kBuffers ? 0 : index_ + 1;
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

    u8 *buffers_;
    const TensorMap *map_;
    u32 barrier_id_;
    u32 index_ = 0; // of the buffer to fill next
    bool issuer_;
};

} // namespace jg
