/* SPDX-License-Identifier: MIT */
/* Compares the ways to make Y: their results, then their times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_parallel_mlp.h"

enum { ROUNDS = 5 };

/* Runs one form and brings Y, which begins as NaN, to the host. */
static bool run_once(const struct rank *rank, form_fn *form, uint16_t *ret_y)
{
    const size_t bytes = (size_t)rank->sizes.tokens * (size_t)rank->sizes.width * 2;
    return !failed("fill", jit_gemm_device_fill(rank->context, rank->y, 0xff, bytes)) &&
           !failed("fill", jit_gemm_device_synchronize(rank->context)) && form(rank) &&
           !failed("run", jit_gemm_device_synchronize(rank->context)) &&
           !failed("download",
                   jit_gemm_device_download(rank->context, ret_y, rank->y, bytes));
}

/* Parts of Y are rounded to bf16 before they are added up, in bf16; NaN is never below. */
static bool is_right(const struct rank *rank, const char *name, const uint16_t *y,
                     const uint16_t *expected)
{
    const size_t count = (size_t)rank->sizes.tokens * (size_t)rank->sizes.width;
    double worst = 0, greatest = 0;
    for (size_t i = 0; i < count; i++) {
        const double want = (double)jit_gemm_bf16_to_float(expected[i]);
        const double difference = fabs((double)jit_gemm_bf16_to_float(y[i]) - want);
        worst = difference <= worst ? worst : difference;
        greatest = fmax(greatest, fabs(want));
    }
    const bool is_near = worst <= 0.02 * greatest && greatest > 0;
    printf("process %d, %s: largest difference %.2g of %.2g: %s\n", rank->number, name,
           worst, greatest, is_near ? "right" : "WRONG");
    return is_near;
}

bool check_results(const struct rank *rank)
{
    const size_t bytes = (size_t)rank->sizes.tokens * (size_t)rank->sizes.width * 2;
    uint16_t *expected = malloc(bytes), *y = malloc(bytes);
    const bool is_good =
        expected != NULL && y != NULL && run_once(rank, run_whole, expected) &&
        run_once(rank, run_in_order, y) && is_right(rank, "in order", y, expected) &&
        run_once(rank, run_overlapped, y) && is_right(rank, "overlapped", y, expected);
    free(expected);
    free(y);
    return is_good;
}

static int compare_times(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Medians over rounds, in which the forms take turns; all processes go through the same
 * calls, so that none waits for another. */
bool measure(const struct rank *rank)
{
    form_fn *const forms[] = {run_whole, run_in_order, run_overlapped};
    enum { FORMS = sizeof(forms) / sizeof(forms[0]) };
    double us[FORMS][ROUNDS];
    jit_gemm_timer *timer = NULL;
    bool is_good = !failed("timer", jit_gemm_timer_create(rank->context, &timer));
    for (int i = 0; i < FORMS * ROUNDS && is_good; i++) {
        is_good = add_up(rank, 0, 1, rank->streams[0]) && /* all are here */
                  !failed("start", jit_gemm_timer_start(timer, rank->streams[0]));
        for (int k = 0; k < rank->sizes.repeats && is_good; k++) {
            is_good = forms[i % FORMS](rank);
        }
        is_good =
            is_good && !failed("stop", jit_gemm_timer_stop(timer, rank->streams[0])) &&
            !failed("time", jit_gemm_timer_elapsed_us(timer, &us[i % FORMS][i / FORMS]));
    }
    for (int i = 0; i < FORMS && is_good; i++) {
        qsort(us[i], ROUNDS, sizeof(double), compare_times);
    }
    if (is_good && rank->number == 0) {
        const double one = us[0][ROUNDS / 2] / rank->sizes.repeats;
        const double in_order = us[1][ROUNDS / 2] / rank->sizes.repeats;
        const double overlapped = us[2][ROUNDS / 2] / rank->sizes.repeats;
        printf("one GPU          %10.1f us\n", one);
        printf("in order         %10.1f us, %.2f times as fast as one\n", in_order,
               one / in_order);
        printf("overlapped       %10.1f us, %.2f times as fast as one, %.3f of in order\n",
               overlapped, one / overlapped, overlapped / in_order);
    }
    jit_gemm_timer_destroy(&timer);
    return is_good;
}
