// SPDX-License-Identifier: MIT
// clear_empty_groups: writes reductions of groups without rows, which have no tile. Called
// by the math warpgroups of all CTAs, behind their last tile.
#pragma once
#include <jg/common/work_tile.cuh>
#include <jg/schedule/group_rows.cuh>

namespace jg::sm90a {

template <class Kernel>
JG_DEVICE void clear_empty_groups(const Kernel &kernel)
{
    if constexpr (Kernel::kReducesGroups) {
        if (kernel.roles.consumer() == 0) {
            for_each_empty_group<typename Kernel::ConfigT>(
                kernel.scheduler.order(), [&](u32 group) {
                    Kernel::Snippet::clear_group(kernel.params.operands, group,
                                                 Kernel::Output::shape(kernel.shape).n,
                                                 threadIdx.x % 128, 128);
                });
        }
    }
}

} // namespace jg::sm90a
