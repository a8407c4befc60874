// SPDX-License-Identifier: MIT
// TMA copies of single rows of two-dimensional maps whose boxes have one row: a row, or
// four from anywhere. A coordinate that is none of the matrix's rows brings zeros.
#pragma once
#include <jg/ptx/tma.cuh>

namespace jg::ptx {

// Global to this CTA's shared memory, kRows of them one behind the other; their bytes count
// towards `barrier`. Four: sm_100a and newer.
template <u32 kRows>
JG_DEVICE void tma_load_rows(void *target, const TensorMap *map, u64 *barrier, i32 inner,
                             const i32 (&rows)[kRows])
{
    static_assert(kRows == 1 || kRows == 4, "no such copy");
    // clang-format off
    if constexpr (kRows == 1) {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%3, %4}], [%2];"
                     :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                        "r"(inner), "r"(rows[0]) : "memory");
    } else {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                     :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                        "r"(inner), "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3])
                     : "memory");
    }
    // clang-format on
}

// The same into every CTA of `mask`, at the same offset; each one's barrier gets the bytes.
template <u32 kRows>
JG_DEVICE void tma_load_rows_multicast(void *target, const TensorMap *map, u64 *barrier,
                                       u16 mask, i32 inner, const i32 (&rows)[kRows])
{
    static_assert(kRows == 1 || kRows == 4, "no such copy");
    // clang-format off
    if constexpr (kRows == 1) {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;"
                     :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                        "h"(mask), "r"(inner), "r"(rows[0]) : "memory");
    } else {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
                     :: "r"(shared_address(target)), "l"(map), "r"(shared_address(barrier)),
                        "h"(mask), "r"(inner), "r"(rows[0]), "r"(rows[1]), "r"(rows[2]),
                        "r"(rows[3]) : "memory");
    }
    // clang-format on
}

// The same two for a CTA of a pair: the data come here (and to `mask`), the bytes count
// towards the barrier of the pair's leader CTA.
JG_DEVICE void tma_load_rows_pair(void *target, const TensorMap *map, u64 *barrier,
                                  i32 inner, const i32 (&rows)[4])
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
                 ".cta_group::2 [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                 :: "r"(shared_address(target)), "l"(map),
                    "r"(shared_address(barrier) & kEvenCtaOfPair),
                    "r"(inner), "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3])
                 : "memory");
    // clang-format on
}
JG_DEVICE void tma_load_rows_pair_multicast(void *target, const TensorMap *map,
                                            u64 *barrier, u16 mask, i32 inner,
                                            const i32 (&rows)[4])
{
    // clang-format off
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.cta_group::2 [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
                 :: "r"(shared_address(target)), "l"(map),
                    "r"(shared_address(barrier) & kEvenCtaOfPair),
                    "h"(mask), "r"(inner), "r"(rows[0]), "r"(rows[1]), "r"(rows[2]),
                    "r"(rows[3]) : "memory");
    // clang-format on
}

} // namespace jg::ptx
