// SPDX-License-Identifier: MIT
// Accumulator: what the tensor core adds up, and how that becomes the snippet's `acc` and
// D.
//
// Products of integers are added up in s32, all others in f32. On its way to the epilogue
// an accumulator is 32 bits in an f32's register, whatever it is. The epilogue computes in
// f32; only where nothing is to be computed does an s32 reach a D of s32 as it is.
#pragma once
#include <jg/ptx/convert.cuh>

namespace jg {

// Of products of elements of type A.
template <class A>
using Accumulator = typename Select<IsSame<A, s8>::value, i32, f32>::Type;

// Is that an s32? All who treat the two differently ask this.
template <class A>
constexpr JG_DEVICE bool sums_integers()
{
    return IsSame<Accumulator<A>, i32>::value;
}

JG_DEVICE f32 accumulator_bits(f32 accumulator)
{
    return accumulator;
}
JG_DEVICE f32 accumulator_bits(i32 accumulator)
{
    return __int_as_float(accumulator);
}

// As a number. An s32 is rounded to nearest even.
template <class A>
JG_DEVICE f32 accumulator_value(f32 bits)
{
    if constexpr (sums_integers<A>()) {
        return static_cast<f32>(__float_as_int(bits));
    } else {
        return bits;
    }
}

// An accumulator of the type of `accumulator` from its bits.
JG_DEVICE void set_accumulator(f32 &accumulator, f32 bits)
{
    accumulator = bits;
}
JG_DEVICE void set_accumulator(i32 &accumulator, f32 bits)
{
    accumulator = __float_as_int(bits);
}

// Adds the bits of an accumulator to one of the same type.
JG_DEVICE void add_accumulator(f32 &accumulator, f32 bits)
{
    accumulator += bits;
}
JG_DEVICE void add_accumulator(i32 &accumulator, f32 bits)
{
    accumulator += __float_as_int(bits);
}

// The bits of the sum of two.
template <class A>
JG_DEVICE f32 add_accumulators(f32 x, f32 y)
{
    if constexpr (sums_integers<A>()) {
        return __int_as_float(__float_as_int(x) + __float_as_int(y));
    } else {
        return x + y;
    }
}

// What becomes of an element that the epilogue has computed. A D of s32 takes the
// accumulator's own bits instead where the problem has neither snippet nor C nor scales,
// and alpha is 1.
template <class Config>
class DElement {
    enum : bool {
        kIsInteger = IsSame<typename Config::D, s32>::value,
        kMayKeepBits = kIsInteger && Config::kPlain,
    };

  public:
    JG_DEVICE explicit DElement(f32 alpha) : keeps_bits_(kMayKeepBits && alpha == 1.0f) {}

    // The value, or for s32 its bits.
    JG_DEVICE f32 finish(f32 value, f32 accumulator) const
    {
        if constexpr (kIsInteger) {
            const f32 rounded = __int_as_float(Convert<s32>::from(value).value);
            return kMayKeepBits && keeps_bits_ ? accumulator : rounded;
        } else {
            return value;
        }
    }

  private:
    bool keeps_bits_;
};

} // namespace jg
