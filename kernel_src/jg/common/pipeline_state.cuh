// SPDX-License-Identifier: MIT
// Where one side of a ring stands: the stage it works on and the parity of its lap.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

template <u32 kStages>
struct PipelineState {
    u32 stage = 0;
    u32 lap = 0; // 0 or 1: the parity that a wait on this lap needs

    JG_DEVICE void advance()
    {
        if (++stage == kStages) {
            stage = 0;
            lap ^= 1;
        }
    }
};

} // namespace jg
