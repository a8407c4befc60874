// SPDX-License-Identifier: MIT
// What one thread of an epilogue holds, and where in D it lies.
#pragma once
#include <jg/ptx/convert.cuh>

namespace jg {

// Where a Vector lies, and how many of its columns exist (0 to 8). kWhole: all of them or
// none.
template <bool kWhole>
struct VectorPlace {
    static constexpr bool kWholeVectors = kWhole;
    u32 row, col, batch;
    u32 count;
};

// Eight neighbouring elements as they are in memory.
template <class T>
struct Packed8 {
    static constexpr u32 kWords = 2 * sizeof(T);
    u32 words[kWords];

    // From an address aligned to 16 bytes, or to the whole if that is less. Elements from
    // `count` on read as 0.
    template <bool kWhole>
    JG_DEVICE void load(const T *source, u32 count)
    {
        clear();
        if (count == 8) {
            load_all(source);
        } else if (!kWhole) {
#pragma unroll
            for (u32 i = 0; i < 7; ++i) {
                if (i < count) {
                    set_bits(i, source[i]);
                }
            }
        }
    }
    template <bool kWhole>
    JG_DEVICE void store(T *target, u32 count) const
    {
        if (count == 8) {
            store_all(target);
        } else if (!kWhole) {
#pragma unroll
            for (u32 i = 0; i < 7; ++i) {
                if (i < count) {
                    target[i] = get_bits(i);
                }
            }
        }
    }
    JG_DEVICE f32 value(u32 i) const
    {
        if constexpr (IsSame<T, s32>::value) {
            return to_f32(s32{static_cast<i32>(words[i])});
        } else if constexpr (sizeof(T) == 4) {
            return __uint_as_float(words[i]);
        } else if constexpr (sizeof(T) == 1) {
            const u32 pair = words[i / 4] >> (i % 4 / 2 * 16) & 0xffffu;
            return i % 2 ? Convert<T>::high(pair) : Convert<T>::low(pair);
        } else {
            return i % 2 ? Convert<T>::high(words[i / 2]) : Convert<T>::low(words[i / 2]);
        }
    }
    // Elements of 32 bits come as they are to be stored (DElement).
    JG_DEVICE void assign(const f32 (&values)[8])
    {
#pragma unroll
        for (u32 i = 0; i < 8; i += 2) {
            if constexpr (sizeof(T) == 4) {
                words[i] = __float_as_uint(values[i]);
                words[i + 1] = __float_as_uint(values[i + 1]);
            } else if constexpr (sizeof(T) == 1) {
                const u32 pair = Convert<T>::pack(values[i], values[i + 1]);
                words[i / 4] = i % 4 ? words[i / 4] | pair << 16 : pair;
            } else {
                words[i / 2] = Convert<T>::pack(values[i], values[i + 1]);
            }
        }
    }

    JG_DEVICE void clear()
    {
#pragma unroll
        for (u32 i = 0; i < kWords; ++i) {
            words[i] = 0;
        }
    }

  private:
    JG_DEVICE void load_all(const T *source)
    {
        if constexpr (kWords == 2) {
            const uint2 part = *reinterpret_cast<const uint2 *>(source);
            words[0] = part.x;
            words[1] = part.y;
        } else {
#pragma unroll
            for (u32 i = 0; i < kWords; i += 4) {
                const uint4 part = reinterpret_cast<const uint4 *>(source)[i / 4];
                words[i] = part.x;
                words[i + 1] = part.y;
                words[i + 2] = part.z;
                words[i + 3] = part.w;
            }
        }
    }
    JG_DEVICE void store_all(T *target) const
    {
        if constexpr (kWords == 2) {
            *reinterpret_cast<uint2 *>(target) = make_uint2(words[0], words[1]);
        } else {
#pragma unroll
            for (u32 i = 0; i < kWords; i += 4) {
                reinterpret_cast<uint4 *>(target)[i / 4] =
                    make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
            }
        }
    }
    JG_DEVICE void set_bits(u32 i, T element)
    {
        if constexpr (IsSame<T, s32>::value) {
            words[i] = static_cast<u32>(element.value);
        } else if constexpr (sizeof(T) == 4) {
            words[i] = __float_as_uint(element);
        } else if constexpr (sizeof(T) == 1) {
            words[i / 4] |= static_cast<u32>(element.bits) << (8 * (i % 4));
        } else {
            words[i / 2] |= static_cast<u32>(element.bits) << (16 * (i % 2));
        }
    }
    JG_DEVICE T get_bits(u32 i) const
    {
        if constexpr (IsSame<T, s32>::value) {
            return s32{static_cast<i32>(words[i])};
        } else if constexpr (sizeof(T) == 4) {
            return __uint_as_float(words[i]);
        } else if constexpr (sizeof(T) == 1) {
            return T{static_cast<u8>(words[i / 4] >> (8 * (i % 4)))};
        } else {
            return T{static_cast<u16>(words[i / 2] >> (16 * (i % 2)))};
        }
    }
};

} // namespace jg
