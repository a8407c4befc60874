// SPDX-License-Identifier: MIT
// Scales of blocks of D (epilogue/output_scale.cuh), which are computed without a division,
// beside the division that docs/scales.md names, bit for bit: amax of each exponent around
// the mantissas at which a scale changes, and one f32 in a few thousand.
#include "check.h"

/* Inline PTX is parsed away, so that what it takes looks unused. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#ifndef __clang__
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <jg/epilogue/output_scale.cuh>
#pragma GCC diagnostic pop

using jg::f32, jg::u32, jg::u8;

constexpr u32 INFINITE = 0x7f800000u, NONE = 0x7fffffffu;

// The next power of two from a quotient on, 2^-127 the least and 2^127 the greatest.
static u8 next_power(f32 quotient)
{
    if (std::isnan(quotient)) {
        return 255;
    }
    u32 byte = 0;
    while (byte < 254 && std::ldexp(1.0, static_cast<int>(byte) - 127) < quotient) {
        byte++;
    }
    return static_cast<u8>(byte);
}

static bool same(f32 x, f32 y)
{
    return std::isnan(x) ? std::isnan(y) : __float_as_uint(x) == __float_as_uint(y);
}

template <class D>
static void check(const char *name, u32 bits)
{
    const f32 amax = __uint_as_float(bits), greatest = jg::kGreatest<D>;
    const jg::ScaleValue<jg::ue8m0, D> power(amax);
    const u8 byte = next_power(amax / greatest);
    EXPECT(power.stored.bits == byte, "%s: the power of amax %08x is %u, not %u", name,
           bits, power.stored.bits, byte);
    const f32 scale = byte == 255 ? NAN : std::ldexp(1.0f, static_cast<int>(byte) - 127);
    EXPECT(same(power.reciprocal, 1 / scale), "%s: its reciprocal, amax %08x", name, bits);

    const jg::ScaleValue<f32, D> quotient(amax);
    const f32 finite = (amax > 0x1.fffffep127f ? 0x1.fffffep127f : amax) / greatest;
    const f32 normal = finite < 0x1p-126f ? 0x1p-126f : finite;
    const f32 wanted = bits == 0 ? 1.0f : normal;
    EXPECT(same(quotient.stored, wanted), "%s: the scale of amax %08x is %a, not %a", name,
           bits, quotient.stored, wanted);
    EXPECT(same(quotient.reciprocal, 1 / wanted),
           "%s: the reciprocal of %a is %a, amax %08x", name, wanted, quotient.reciprocal,
           bits);
}

template <class D>
static void check_all(const char *name)
{
    constexpr u32 STRIDE = 8191; // a prime
    const u32 mantissa = __float_as_uint(jg::kGreatest<D>) & 0x7fffffu;
    for (u32 exponent = 0; exponent < 255; ++exponent) {
        for (const u32 middle : {3u, mantissa, 0x400000u, 0x7ffffcu}) {
            for (u32 bits = middle - 3; bits <= middle + 3; ++bits) {
                check<D>(name, exponent << 23 | bits);
            }
        }
    }
    for (u32 bits = 0; bits < INFINITE; bits += STRIDE) {
        check<D>(name, bits);
    }
    check<D>(name, INFINITE);
    check<D>(name, NONE);
}

TEST(scales, are_those_of_a_division)
{
    check_all<jg::e4m3>("e4m3");
    check_all<jg::e5m2>("e5m2");
    check_all<jg::e2m1>("e2m1");
}
