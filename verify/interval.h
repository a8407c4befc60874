/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic on intervals: everything that a computation in f32 may give that rounds as the
 * device does.
 *
 * Rounding to nearest keeps order, so the results of an operation lie between the rounded
 * results of the ends. A product is also kept unrounded, because a compiler may contract it
 * with a sum into one instruction. Functions add the error that CUDA documents for them.
 */
#ifndef VERIFY_INTERVAL_H
#define VERIFY_INTERVAL_H

#include <stdbool.h>

/* Both ends are NaN where the value is certainly NaN; never one alone. */
struct interval {
    double low, high;
};

/* Where nothing is known, not even whether there is a number. */
struct interval interval_unknown(void);
bool interval_is_unknown(struct interval x);
struct interval interval_of(double value);
/* One value, that is known. */
bool interval_is_exact(struct interval x);
bool interval_is_nan(struct interval x);
/* The least interval with both; unknown if only one is NaN. */
struct interval interval_join(struct interval x, struct interval y);
/* Rounded to f32. */
struct interval interval_to_float(struct interval x);

/* How an operation rounds. */
enum interval_rounding { INTERVAL_FLOAT, INTERVAL_DOUBLE };

struct interval interval_negate(struct interval x);
struct interval interval_add(struct interval x, struct interval y,
                             enum interval_rounding rounding);
struct interval interval_subtract(struct interval x, struct interval y,
                                  enum interval_rounding rounding);
struct interval interval_multiply(struct interval x, struct interval y,
                                  enum interval_rounding rounding);
struct interval interval_divide(struct interval x, struct interval y,
                                enum interval_rounding rounding);

/* A function of f32. */
struct interval_function {
    const char *name;
    int parameter_count; /* 1 to 3 */
    struct interval (*one)(struct interval x);
    struct interval (*two)(struct interval x, struct interval y);
    struct interval (*three)(struct interval x, struct interval y, struct interval z);
    /* Instead of `one`: computed as exactly as results have significand bits. */
    struct interval (*rounded)(struct interval x, int result_bits);
};
/* By name, those of a snippet's prelude and some of CUDA's; NULL: there is none. */
const struct interval_function *interval_function_find(const char *name);
struct interval interval_call(const struct interval_function *function,
                              const struct interval arguments[3], int result_bits);

#endif
