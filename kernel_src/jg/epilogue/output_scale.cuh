// SPDX-License-Identifier: MIT
// OutputScale: scales of blocks of D that the kernel computes: their values, and where they
// lie in memory.
//
// Config::DScale is one, or NoOutputScale. From the greatest magnitude of a block's
// elements, `amax`, follow the scale, which is stored, and its reciprocal, which elements
// are multiplied by before they are rounded to D's type. docs/scales.md defines both bit
// for bit; verify/quantise.c has the same once more. Used by the classes of
// quantise.cuh; waits for nothing.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/ptx/arithmetic.cuh>
#include <jg/ptx/convert_narrow.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

// The greatest finite element.
template <class T>
constexpr f32 kGreatest = 0.0f;
template <>
constexpr f32 kGreatest<e4m3> = 448.0f;
template <>
constexpr f32 kGreatest<e5m2> = 57344.0f;
template <>
constexpr f32 kGreatest<e2m1> = 6.0f;

// A scale as it is stored, and its reciprocal, of a D of that type. NaN if `amax` is.
template <class T, class D>
struct ScaleValue;

// An amax, infinity as the greatest f32, divided by the greatest element. Rounded to
// nearest where the quotient is normal, without the branch that a division has for others.
template <class D>
JG_DEVICE f32 divide_by_greatest(f32 amax)
{
    constexpr f32 kReciprocal = 1.0f / kGreatest<D>;
    const f32 most = __uint_as_float(0x7f7fffffu); // finite
    const f32 x = amax > most ? most : amax;
    const f32 quotient = x * kReciprocal;
    return ::fmaf(::fmaf(-quotient, kGreatest<D>, x), kReciprocal, quotient);
}

// 1 / x, rounded to nearest, of a normal x up to 2^126: likewise, by the compiler's own
// steps.
JG_DEVICE f32 reciprocal_of(f32 x)
{
    const f32 near = ptx::reciprocal_approx(x);
    return ::fmaf(::fmaf(-near, x, 1.0f), near, near);
}

template <class D>
struct ScaleValue<f32, D> {
    f32 stored, reciprocal;

    JG_DEVICE explicit ScaleValue(f32 amax)
    {
        const f32 least = __uint_as_float(0x00800000u); // normal: its reciprocal is finite
        stored = amax == 0.0f ? 1.0f : ptx::max_nan(divide_by_greatest<D>(amax), least);
        reciprocal = reciprocal_of(stored);
    }
};

// The next power of two from amax / greatest on, which is 2^shift times the greatest
// element's mantissa: a comparison of mantissas, carried into the exponent. Quotients up to
// 2^-127, as an f32 has them, are that: one amax more than those of the mantissa itself.
template <class D>
struct ScaleValue<ue8m0, D> {
    ue8m0 stored;
    f32 reciprocal;

    JG_DEVICE explicit ScaleValue(f32 amax)
    {
        const u32 greatest = __float_as_uint(kGreatest<D>);
        const u32 mantissa = greatest & 0x007fffffu, shift = (greatest >> 23) - 127;
        const u32 infinity = 0x7f800000u, half_least = 0x00400000u; // 2^-127
        const u32 bits = __float_as_uint(amax);                     // of no sign
        const u32 next = ((bits + (0x007fffffu - mantissa)) >> 23) - shift;
        const u32 finite = bits <= ((shift << 23) | mantissa) + 1 ? 0 : next;
        const u32 byte = bits < infinity ? finite : 254;
        const u32 inverse = byte < 254 ? (254 - byte) << 23 : half_least;
        const bool is_nan = bits > infinity;
        stored.bits = static_cast<u8>(is_nan ? 255 : byte);
        reciprocal = __uint_as_float(is_nan ? 0x7fffffffu : inverse);
    }
};

// The nearest e4m3 that is not 0.
template <class D>
struct ScaleValue<ue4m3, D> {
    ue4m3 stored;
    f32 reciprocal;

    JG_DEVICE explicit ScaleValue(f32 amax)
    {
        const u8 bits = Convert<e4m3>::from(divide_by_greatest<D>(amax)).bits;
        stored.bits = bits > 0 ? bits : 1;
        reciprocal = reciprocal_of(to_f32(e4m3{stored.bits}));
    }
};

// Of blocks of some rows, one if none are given, and kBlockCols columns.
template <class T, u32 kBlockCols, ScaleLayout kLayout, u32 kRowsOfBlock = 1>
struct OutputScale {
    using Type = T;
    enum : u32 {
        kBlock = kBlockCols,
        kBlockRows = kRowsOfBlock,
    };
    enum : bool { kInPieces = kLayout == ScaleLayout::k128x4 }; // of 128 rows

    // The scale of the block that has column `col` of a row of D, if it is `wanted`. What
    // the last block of a row of them leaves of a word of four is zero.
    template <class ShapeT>
    static JG_DEVICE void store_if(const MatrixParam &param, const ShapeT &shape,
                                   u32 row_of_d, u32 col, u32 batch, T value, bool wanted)
    {
        const u32 block = col / kBlock;
        const u32 blocks = (shape.n + kBlock - 1) / kBlock;
        const u32 row =
            (kLayout == ScaleLayout::k128x4 ? shape.scale_row(row_of_d) : row_of_d) /
            kBlockRows;
        T *target = param.base<T>(batch);
        ptx::store_global_if<sizeof(T)>(
            reinterpret_cast<u64>(target + index(param.ld, row, block)), bits_of(value),
            wanted);
        if constexpr (kHasWords) {
            if (blocks % 4 != 0 && wanted && block + 1 == blocks) {
                for (u32 pad = blocks; pad % 4 != 0; ++pad) {
                    target[index(param.ld, row, pad)] = T{0};
                }
            }
        }
    }

  private:
    static JG_DEVICE u32 bits_of(T value)
    {
        if constexpr (sizeof(T) == 1) {
            return value.bits;
        } else {
            return __float_as_uint(value);
        }
    }

    // Are four blocks along K of a row neighbours?
    enum : bool {
        kHasWords = kLayout == ScaleLayout::k128x4 || kLayout == ScaleLayout::k8x4 ||
                    kLayout == ScaleLayout::kMnK4
    };
    static_assert(!kHasWords || sizeof(T) == 1, "only scales of one byte lie in words");

    // ld: scales of a row, of a column or a column of words rounded up, or of 128 or 8
    // rows.
    static JG_DEVICE i64 index(i64 ld, u32 row, u32 block)
    {
        if constexpr (kLayout == ScaleLayout::kRow) {
            return ld * row + block;
        } else if constexpr (kLayout == ScaleLayout::kColumn) {
            return ld * block + row;
        } else if constexpr (kLayout == ScaleLayout::kMnK4) {
            return ld * (block / 4) + (static_cast<i64>(row) * 4 + block % 4);
        } else if constexpr (kLayout == ScaleLayout::k8x4) {
            return ld * (row / 8) + static_cast<i64>(block / 4) * 32 +
                   (row % 8 * 4 + block % 4);
        } else {
            return ld * (row / 128) + static_cast<i64>(block / 4) * 512 +
                   (row % 32 * 16 + row % 128 / 32 * 4 + block % 4);
        }
    }
};

} // namespace jg
