// SPDX-License-Identifier: MIT
// Sums: what the tensor core adds up, and how that becomes the snippet's `acc` and D.
//
// Products of s8 are added up in s32, all others in f32. On its way to the epilogue a sum
// is 32 bits in an f32's register, whatever it is. The epilogue computes in f32; only where
// nothing is to be computed does an s32 sum reach a D of s32 as it is.
#pragma once
#include <jg/ptx/convert.cuh>

namespace jg {

template <class A>
struct SumOf {
    using Type = f32;
};
template <>
struct SumOf<s8> {
    using Type = i32;
};

JG_DEVICE f32 sum_bits(f32 sum)
{
    return sum;
}
JG_DEVICE f32 sum_bits(i32 sum)
{
    return __int_as_float(sum);
}

// The sum as a number. An s32 is rounded to nearest even.
template <class A>
JG_DEVICE f32 sum_value(f32 bits)
{
    if constexpr (IsSame<A, s8>::value) {
        return static_cast<f32>(__float_as_int(bits));
    } else {
        return bits;
    }
}

// Adds a sum to one of its own type.
JG_DEVICE void add_sum_bits(f32 &sum, f32 bits)
{
    sum += bits;
}
JG_DEVICE void add_sum_bits(i32 &sum, f32 bits)
{
    sum += __float_as_int(bits);
}

// Two sums added up.
template <class A>
JG_DEVICE f32 add_sums(f32 x, f32 y)
{
    if constexpr (IsSame<A, s8>::value) {
        return __int_as_float(__float_as_int(x) + __float_as_int(y));
    } else {
        return x + y;
    }
}

// What becomes of an element that the epilogue has computed. A D of s32 takes the sum's own
// bits instead where the problem has neither snippet nor C nor scales, and alpha is 1.
template <class Config>
class DElement {
    static constexpr bool kIsInteger = IsSame<typename Config::D, s32>::value;
    static constexpr bool kMayKeepSums = kIsInteger && Config::kPlain;

  public:
    JG_DEVICE explicit DElement(f32 alpha) : keeps_sums_(kMayKeepSums && alpha == 1.0f) {}

    // The value, or for s32 its bits.
    JG_DEVICE f32 finish(f32 value, f32 sum) const
    {
        if constexpr (kIsInteger) {
            const f32 rounded = __int_as_float(Convert<s32>::from(value).value);
            return kMayKeepSums && keeps_sums_ ? sum : rounded;
        } else {
            return value;
        }
    }

  private:
    bool keeps_sums_;
};

} // namespace jg
