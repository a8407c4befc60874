// SPDX-License-Identifier: MIT
// Where one side of a ring stands: the stage it works on and the phase of its barriers.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

template <u32 kStages>
struct PipelineState {
    u32 stage = 0;
    u32 phase = 0; // 0 or 1: the parity that a wait for the stage needs

    JG_DEVICE void advance()
    {
        if (++stage == kStages) {
            stage = 0;
            phase ^= 1;
        }
    }
    // So many at once.
    JG_DEVICE void advance(u32 count)
    {
        const u32 stages = stage + count;
        stage = stages % kStages;
        phase ^= stages / kStages & 1;
    }
};

} // namespace jg
