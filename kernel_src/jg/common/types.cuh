// SPDX-License-Identifier: MIT
// Names for what every device file needs. Nothing from outside: NVRTC has no headers of its
// own.
#pragma once

#define JG_DEVICE __device__ __forceinline__

namespace jg {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f32 = float;

// Storage types. Arithmetic is always f32.
struct bf16 {
    u16 bits;
};
struct f16 {
    u16 bits;
};
struct tf32 { // an f32 in memory, rounded to tf32 on its way into shared memory
    f32 value;
};
struct e4m3 {
    u8 bits;
};
struct e5m2 {
    u8 bits;
};
struct ue8m0 { // a scale: a power of two
    u8 bits;
};
struct ue4m3 { // a scale: an e4m3 without its sign
    u8 bits;
};
struct e2m1 { // two of them: the even one has the lower half
    u8 bits;
};
struct s8 {
    signed char value;
};
struct s32 {
    i32 value;
};

// Bits of an element in memory. Sizes of tiles are counted with them, because sizeof cannot
// say an element of less than a byte.
template <class T>
constexpr u32 kBits = 8 * sizeof(T);
template <>
constexpr u32 kBits<e2m1> = 4;
template <class T>
constexpr u32 kBits<const T> = kBits<T>;

// How far a pointer moves over so many elements. Of those that share bytes it is an even
// number of them.
template <class T>
JG_DEVICE constexpr i64 storage_step(i64 elements)
{
    return kBits<T> < 8 ? elements >> 1 : elements;
}

// An opaque CUtensorMap. Lives in the kernel's parameters, never in local memory.
struct alignas(128) TensorMap {
    u64 words[16];
};

template <class X, class Y>
struct IsSame {
    enum : bool { value = false };
};
template <class X>
struct IsSame<X, X> {
    enum : bool { value = true };
};

template <bool kCondition, class X, class Y>
struct Select {
    using Type = X;
};
template <class X, class Y>
struct Select<false, X, Y> {
    using Type = Y;
};

static_assert(sizeof(u64) == 8 && sizeof(u32) == 4 && sizeof(u16) == 2,
              "unexpected data model");

} // namespace jg
