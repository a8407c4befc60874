/* SPDX-License-Identifier: MIT */
/* Compares a kernel's result with a reference in higher precision. */
#ifndef VERIFY_COMPARE_H
#define VERIFY_COMPARE_H

#include "verify/elements.h"

/* How the kernel adds up. */
enum compare_sums {
    COMPARE_SUMS_F32,          /* in f32, truncated */
    COMPARE_SUMS_13_BITS_OF_K, /* with 13 fraction bits over all of K */
    COMPARE_SUMS_13_BITS, /* with 13 fraction bits over 128 of K, and those sums in f32 */
    COMPARE_SUMS_INTEGER, /* exactly, and the epilogue in f32 */
    COMPARE_SUMS_KEPT     /* exactly, and D is the sum */
};

/*
 * What is accepted, by the type of the result and the length K of the sums.
 *
 * The tensor core multiplies exactly, but truncates its f32 accumulator at each step of 16
 * along K, always towards zero: a relative drift of about 4e-8 per step, at most 2.5e-9 * K
 * of the result. 1e-5 beside it covers short sums and the epilogue's arithmetic. A 16-bit
 * result is rounded once more, by at most 2^-11 (f16) or 2^-8 (bf16) of each element; over
 * a whole norm that is about 2e-4 and 1.7e-3, and 1e-3 and 4e-3 are accepted; likewise
 * norms of 2^-4 and 2^-3 for e4m3 and e5m2, and below their normal range half of the least
 * step. Inputs are exact: the reference reads tf32 as the kernels round it.
 *
 * A D of 8 bits is held against the borders between its values: it must be what a value
 * within the other bounds is rounded to.
 *
 * Where a tensor core keeps 13 fraction bits, sums lose, 32 products at a time, what lies
 * 13 bits below the largest term: about 1e-4 of a sum of random signs, whatever K is. 5e-4
 * is accepted. Integer sums are exact, which leaves the epilogue's arithmetic, or nothing
 * at all.
 *
 * Of few elements the norm may be small by chance, where terms cancel: of n random values
 * it is less than 1000^(-1/n) of what is usual in one of a thousand matrices or so, and by
 * that much the errors of sums weigh more: twice as much of 9, 1.15 times of 50.
 */
/*
 * What the epilogue's own errors leave open, which are stated once, for the intervals of
 * snippets (verify/interval.h), and what a steep one makes of sums of 13 fraction bits. It
 * is asked where the bounds alone call an element wrong, and no longer when one is wrong
 * beyond it, too; and of some elements where no element is wrong but the norm.
 */
struct compare_range {
    /* The least and the greatest f32 that a sum may become, for an element of D as
     * it lies in memory; false where nothing is known of it. */
    bool (*find)(const void *context, int64_t batch, int64_t row, int64_t column,
                 double *ret_low, double *ret_high);
    const void *context;
};

struct compare_bounds {
    double relative;         /* of ||out - ref|| / ||ref||, both Frobenius norms */
    double element_relative; /* of |out - ref|, times |ref| ... */
    double element_rms;      /* ... plus this, times the reference's root mean square ... */
    double absolute;         /* ... plus this */
    double sums;      /* what of these is the error of sums, whose own size a small norm of
                       * few elements does not show; 0: nothing */
    double root;      /* of ||out - ref|| beside `relative`, times the root of the count */
    bool has_borders; /* the other bounds are of what is rounded to the result's type */
    const struct compare_range *range; /* NULL: the epilogue is exact */
};

struct compare_bounds compare_bounds_for(jit_gemm_dtype dtype, enum compare_sums sums,
                                         int64_t k);

struct compare_report {
    uint64_t elements;     /* compared */
    uint64_t unwritten;    /* still poison */
    uint64_t stray_writes; /* padding that is no longer poison */
    uint64_t wrong_nan;    /* NaN or infinity in one of the two only */
    uint64_t over_bound;   /* finite, but over the bound of an element */
    uint64_t by_range;     /* right within the epilogue's own errors only */
    uint64_t
        bad_reference; /* reference elements that are still poison: the test is broken */
    uint64_t unfit_blocks; /* of a quantised D: no scale fits them, so that they are not in
                            * rel_error (verify/quantise.h) */
    double rel_error;      /* ||out - ref|| / ||ref|| over the finite pairs */
    double rel_bound;      /* of rel_error: above `relative` where the norm is small */
    double max_error;      /* largest |out - ref| */
    int64_t batch, row, column; /* first bad element, -1 if there is none */
    double got, want;           /* its values */
    bool pass;                  /* all counts are 0, and rel_error is within its bound */
};

/* Remembers a bad element, if none is remembered. */
void compare_note_bad(struct compare_report *report, int64_t batch, int64_t row,
                      int64_t column, double got, double want);

/*
 * Both views must have equal batch, rows and columns. `ref` should be of a wider type than
 * `out`: an infinity of `out`, or its greatest value, is right where the reference rounds
 * to that.
 */
void compare_matrices(const struct element_view *out_view, const void *out,
                      const struct element_view *ref_view, const void *ref,
                      const struct compare_bounds *bounds,
                      struct compare_report *ret_report);

/* Of a matrix's finite elements; 0 if there are none. */
double compare_root_mean_square(const struct element_view *view, const void *data);
/* Elements between rows and between batches that are no longer poison. */
uint64_t compare_count_strays(const struct element_view *view, const void *data);

/* One line of text about a report: what is wrong, or the error and its bound. */
void compare_describe(const struct compare_report *report, char *buffer, size_t size);

#endif
