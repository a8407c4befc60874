/* SPDX-License-Identifier: MIT */
/* What CUDA C++ has and C++ has not, so that a host compiler takes the device sources.
 * Inline PTX is parsed away; a test that runs into some aborts. Included before any device
 * source, and after it no header of the library. */
#ifndef JG_TESTS_SHIM_H
#define JG_TESTS_SHIM_H

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define __device__
#define __forceinline__ inline
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))

struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
struct host_index {
    unsigned int x = 0, y = 0, z = 0;
};
/* Set by the tests: who runs. */
inline host_index threadIdx, blockIdx, gridDim;

namespace host {
[[noreturn]] inline void refuse_ptx()
{
    std::fprintf(stderr,
                 "inline PTX is reached: its wrapper needs a host meaning, or a wait does "
                 "not end\n");
    std::abort();
}
template <class To, class From>
To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}
unsigned int shared_offset(const void *pointer); /* instructions.h */
} // namespace host

inline float __uint_as_float(unsigned int bits)
{
    return host::bits_as<float>(bits);
}
inline unsigned int __float_as_uint(float value)
{
    return host::bits_as<unsigned int>(value);
}
inline float __int_as_float(int bits)
{
    return host::bits_as<float>(bits);
}
inline int __float_as_int(float value)
{
    return host::bits_as<int>(value);
}
inline int __float2int_rn(float value)
{
    return static_cast<int>(std::nearbyint(value));
}
/* Saturates; 0 of a NaN. */
inline unsigned int __float2uint_ru(float value)
{
    const float whole = std::ceil(value);
    return !(whole > 0.0f)          ? 0
           : whole >= 4294967296.0f ? 0xffffffffu
                                    : static_cast<unsigned int>(whole);
}
inline float __fmul_rn(float x, float y)
{
    return x * y;
}
inline float __fmaf_rn(float x, float y, float z)
{
    return std::fma(x, y, z);
}
inline float rsqrtf(float value)
{
    return 1.0f / std::sqrt(value);
}
inline float __fdividef(float x, float y)
{
    return x / y;
}
inline size_t __cvta_generic_to_shared(const void *pointer)
{
    return host::shared_offset(pointer);
}
template <class T>
T __shfl_sync(unsigned int, T value, int)
{
    return value; /* of values that a warp has in common */
}
/* A warp of one lane: nothing comes from another. */
template <class T>
T __shfl_up_sync(unsigned int, T value, unsigned int)
{
    return value;
}
inline unsigned int __ballot_sync(unsigned int, bool vote)
{
    return vote ? 1 : 0;
}
inline bool __any_sync(unsigned int, bool vote)
{
    return vote;
}
inline unsigned int __popc(unsigned int bits)
{
    return static_cast<unsigned int>(__builtin_popcount(bits));
}
/* The lower 32 of both words' bits, from bit `shift` of 32 on. */
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift)
{
    const unsigned long long bits = (unsigned long long)high << 32 | low;
    return (unsigned int)(bits >> shift % 32);
}
inline void __syncwarp() {}
inline void __syncthreads() {}

/* `asm volatile(...)` and `asm(...)`, with operands that no compiler for a host takes. */
#ifdef __clang__
#    pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define asm(...) host::refuse_ptx()
#define volatile(...) \
    ("");             \
    host::refuse_ptx()

#endif
