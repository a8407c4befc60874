// SPDX-License-Identifier: MIT
// tcgen05.st: from registers to tensor memory, in the layout of tcgen05_load (tcgen05.cuh).
#pragma once
#include <jg/ptx/tcgen05.cuh>

namespace jg::ptx {

// What is stored may not be loaded before tcgen05_wait_store.
template <u32 kCount>
JG_DEVICE void tcgen05_store(u32 address, const f32 *v)
{
    static_assert(kCount == 4 || kCount == 8, "what is needed");
    // clang-format off
    if constexpr (kCount == 4) {
        asm volatile("tcgen05.st.sync.aligned.16x256b.x1.b32 [%0], {%1, %2, %3, %4};"
                     :: "r"(address), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]) : "memory");
    } else {
        asm volatile("tcgen05.st.sync.aligned.16x256b.x2.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};"
                     :: "r"(address), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]),
                        "f"(v[4]), "f"(v[5]), "f"(v[6]), "f"(v[7]) : "memory");
    }
    // clang-format on
}

// Waits until this warp's stores are complete.
JG_DEVICE void tcgen05_wait_store()
{
    // clang-format off
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    // clang-format on
}

} // namespace jg::ptx
