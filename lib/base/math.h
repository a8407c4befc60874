/* SPDX-License-Identifier: MIT */
#ifndef JG_BASE_MATH_H
#define JG_BASE_MATH_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t jg_ceil_div(int64_t value, int64_t divisor)
{
    return (value + divisor - 1) / divisor;
}

static inline int64_t jg_align_up(int64_t value, int64_t alignment)
{
    return jg_ceil_div(value, alignment) * alignment;
}

/* `power` is a power of two: no division, which a launch would wait for. */
static inline bool jg_is_multiple(uint64_t value, uint64_t power)
{
    return (value & (power - 1)) == 0;
}

static inline int64_t jg_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t jg_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* False on overflow; then *ret is untouched. Both factors must be >= 0. */
static inline bool jg_mul_checked(int64_t a, int64_t b, int64_t *ret)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *ret = product;
    return true;
}

#endif
