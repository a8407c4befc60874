// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name: arrivals are counted, and nobody waits, since
// threads run one after the other.
#pragma once
#include "tests/device/host/instructions.h"

#define mbarrier_init                        mbarrier_init_by_ptx
#define mbarrier_arrive                      mbarrier_arrive_by_ptx
#define mbarrier_arrive_relaxed              mbarrier_arrive_relaxed_by_ptx
#define mbarrier_arrive_expect_bytes_relaxed mbarrier_arrive_expect_bytes_relaxed_by_ptx
#define mbarrier_wait                        mbarrier_wait_by_ptx
#define mbarrier_wait_relaxed                mbarrier_wait_relaxed_by_ptx
#include "kernel_src/jg/ptx/mbarrier.cuh"
#undef mbarrier_init
#undef mbarrier_arrive
#undef mbarrier_arrive_relaxed
#undef mbarrier_arrive_expect_bytes_relaxed
#undef mbarrier_wait
#undef mbarrier_wait_relaxed

namespace jg::ptx {

inline void mbarrier_init(u64 *barrier, u32 arrivals)
{
    host::barriers[barrier].wanted = arrivals;
}
inline void mbarrier_arrive_relaxed(u64 *barrier, u32 cta_rank)
{
    host::barriers[barrier].arrivals[cta_rank]++;
}
inline void mbarrier_arrive(u64 *barrier)
{
    mbarrier_arrive_relaxed(barrier, host::cta_rank);
}
inline void mbarrier_arrive_expect_bytes_relaxed(u64 *barrier, u32 bytes, u32 cta_rank)
{
    mbarrier_arrive_relaxed(barrier, cta_rank);
    host::barriers[barrier].bytes[cta_rank] += bytes;
}
inline void mbarrier_wait(u64 *barrier, u32)
{
    EXPECT(host::barriers.count(barrier) == 1, "a wait at no barrier");
}
inline void mbarrier_wait_relaxed(u64 *barrier, u32 parity)
{
    mbarrier_wait(barrier, parity);
}

} // namespace jg::ptx
