// SPDX-License-Identifier: MIT
// VectorCoord, Packed8: what one thread of an epilogue holds, and where in D it lies. Used
// by operands and both epilogues; waits for nothing.
#pragma once
#include <jg/ptx/global.cuh>

namespace jg {

// Where a Vector lies, and how many of its columns exist (0 to 8). kWhole: all of them or
// none. kOutputAlignment: what addresses of vectors in memory are multiples of, in bytes,
// or of an element where that has more.
template <bool kWhole, u32 kOutputAlignment>
struct VectorCoord {
    enum : bool { kWholeVectors = kWhole };
    enum : u32 { kAlignment = kOutputAlignment };
    u32 row, col, batch;
    u32 count;
};

// Eight neighbouring elements as they are in memory. Of those that share bytes an even
// number of them exists.
template <class T>
struct Packed8 {
    enum : u32 {
        kBytes = kBits<T>, // eight elements: as many as one has bits
        kWords = kBytes / 4,
    };
    u32 words[kWords];

    // Elements from `count` on read as 0.
    template <class CoordT>
    JG_DEVICE void load(const T *source, u32 count)
    {
        constexpr u32 kAccess = access_bytes(CoordT::kAlignment);
        const u64 address = reinterpret_cast<u64>(source);
        clear();
        if (kAccess == sizeof(T) || count == 8) {
            ptx::load_global_words<kAccess, kBytes>(words, address, count * sizeof(T));
        } else if (!CoordT::kWholeVectors) {
            ptx::load_global_words<sizeof(T), kBytes - sizeof(T)>(words, address,
                                                                  count * sizeof(T));
        }
    }
    template <class CoordT>
    JG_DEVICE void store(T *target, u32 count) const
    {
        constexpr u32 kAccess = access_bytes(CoordT::kAlignment);
        const u64 address = reinterpret_cast<u64>(target);
        if (kAccess == sizeof(T) || count == 8) {
            ptx::store_global_words<kAccess, kBytes>(words, address, count * kBits<T> / 8);
        } else if (!CoordT::kWholeVectors) {
            ptx::store_global_words<sizeof(T), kBytes - sizeof(T)>(words, address,
                                                                   count * kBits<T> / 8);
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
            } else if constexpr (kBits<T> == 4) {
                const u32 pair = Convert<T>::pack(values[i], values[i + 1]);
                words[0] = i > 0 ? words[0] | pair << (4 * i) : pair;
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
    // At least an element, at most all of them.
    static constexpr JG_DEVICE u32 access_bytes(u32 alignment)
    {
        return alignment < sizeof(T) ? sizeof(T) : alignment < kBytes ? alignment : kBytes;
    }
};

} // namespace jg
