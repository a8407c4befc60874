// SPDX-License-Identifier: MIT
#pragma once
#include <jg/common/types.cuh>

namespace jg {

constexpr JG_DEVICE u32 ceil_div(u32 value, u32 divisor)
{
    return value / divisor + (value % divisor != 0);
}

JG_DEVICE u32 min_u32(u32 x, u32 y)
{
    return x < y ? x : y;
}

JG_DEVICE u32 max_u32(u32 x, u32 y)
{
    return x < y ? y : x;
}

} // namespace jg
