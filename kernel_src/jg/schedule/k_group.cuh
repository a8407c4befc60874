// SPDX-License-Identifier: MIT
// KGroup: the blocks of K that a stage of the input ring holds, kKGroup of them. Small
// tiles have little to multiply between two barriers; a stage of several blocks needs
// fewer.
//
// The last group of a part of K may be shorter. Then less is announced, loaded and
// multiplied, and the rest of the stage is left as it was. Those who load and those who
// multiply count the same.
#pragma once
#include <jg/common/math.cuh>

namespace jg {

template <class Config>
struct KGroup {
    // All groups are whole, as far as the compiler can know.
    enum : bool {
        kWhole = Config::kKGroup == 1 ||
                 (Config::kK != 0 && Config::kSplitK == 1 &&
                  ceil_div(Config::kK, Config::kBlockK) % Config::kKGroup == 0)
    };

    // Blocks of the next group where `left` are left.
    static JG_DEVICE u32 blocks(u32 left)
    {
        return kWhole ? Config::kKGroup : min_u32(Config::kKGroup, left);
    }
};

} // namespace jg
