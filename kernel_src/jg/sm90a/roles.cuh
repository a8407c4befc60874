// SPDX-License-Identifier: MIT
// Who does what: warpgroup 0 loads, warpgroups 1 and 2 multiply and write.
#pragma once
#include <jg/ptx/address.cuh>
#include <jg/ptx/cluster.cuh>

namespace jg::sm90a {

struct Roles {
    static constexpr u32 kConsumers = 2;
    static constexpr u32 kThreads = 128 * (1 + kConsumers);
    // 128 * (40 + 2 * 232) <= 65536 registers of the SM.
    static constexpr u32 kLoadRegisters = 40;
    static constexpr u32 kMathRegisters = 232;

    u32 warp = ptx::warp_index();

    JG_DEVICE bool is_load_warpgroup() const
    {
        return warp < 4;
    }
    JG_DEVICE bool is_load_warp() const
    {
        return warp == 0;
    }
    // 0 or 1, of a math warp.
    JG_DEVICE u32 consumer() const
    {
        return warp / 4 - 1;
    }
};

} // namespace jg::sm90a
