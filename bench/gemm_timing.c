/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_match.h"

#define MAX_LAUNCHES     400 /* of one timing: the queue of a stream holds about 1000 */
#define LEAD_IN_LAUNCHES 2   /* untimed; keep the device busy until the first event */

static int launch_rival(struct match *match, const struct contender *contender, size_t set)
{
    const jit_gemm_args *args = &match->sets->args[set];
    struct cublaslt_launch launch = {
        .a = args->a.pointer,
        .b = args->b.pointer,
        .c = args->c.pointer,
        .d = args->d.pointer,
        .bias = args->operand_count > contender->bias_operand
                    ? args->operands[contender->bias_operand].pointer
                    : 0,
        .a_scale = rival_scales_of_a(match->rival_scales, set),
        .b_scale = rival_scales_of_b(match->rival_scales, set),
        .workspace = match->bench->workspace,
        .stream = match->bench->stream};
    if (match->sets->shape.is_column_major) { /* its product is the transposed one */
        const struct cublaslt_launch own = launch;
        launch.a = own.b;
        launch.b = own.a;
        launch.a_scale = own.b_scale;
        launch.b_scale = own.a_scale;
    }
    if (cublaslt_plan_run(contender->plan, contender->algorithm, &launch, match->error) !=
        0) {
        return -1;
    }
    if (contender->after == NULL) {
        return 0;
    }
    return elementwise_run(contender->after, match->sets, set, contender->after_operands,
                           match->bench->stream, match->error);
}

int gemm_match_launch(struct match *match, const struct contender *contender, size_t set)
{
    if (contender->plan != NULL) {
        return launch_rival(match, contender, set);
    }
    if (contender->dense != NULL) {
        return gemm_dense_run(contender->dense, match->sets, set, match->bench->stream,
                              match->error);
    }
    if (jit_gemm_run(contender->gemm, &match->sets->args[set], match->bench->stream) !=
        JIT_GEMM_OK) {
        return bench_fail(match->error, "jit_gemm_run: %s", jit_gemm_last_error());
    }
    return 0;
}

int gemm_match_launch_many(struct match *match, const struct contender *contender,
                           int count)
{
    for (int i = 0; i < count; i++) {
        if (gemm_match_launch(match, contender, match->next_set) != 0) {
            return -1;
        }
        match->next_set = (match->next_set + 1) % match->sets->count;
    }
    return 0;
}

int gemm_match_synchronize(struct match *match)
{
    if (jit_gemm_device_synchronize(match->bench->context) != JIT_GEMM_OK) {
        return bench_fail(match->error, "a kernel failed: %s", jit_gemm_last_error());
    }
    return 0;
}

/* All launches of a timing: one by one, or by one replay of the contender's graph. */
static int queue_launches(struct match *match, const struct contender *contender,
                          CUgraphExec graph, int count)
{
    const struct cuda_driver *driver = match->bench->driver;
    if (graph == NULL) {
        return gemm_match_launch_many(match, contender, count);
    }
    return cuda_driver_check(driver, driver->graph_launch(graph, match->bench->stream),
                             "cuGraphLaunch", match->error);
}

/* `state`: whose clock and power to read while the device works; NULL: nobody's. */
static int time_launches(struct match *match, const struct contender *contender,
                         CUgraphExec graph, int count, const struct gpu_state *state,
                         struct launch_times *ret_times)
{
    jit_gemm_timer *timer = match->bench->timer;
    CUstream stream = match->bench->stream;
    struct launch_times times = {0};
    double elapsed_us = 0.0;
    if (gemm_match_launch_many(match, contender, LEAD_IN_LAUNCHES) != 0) {
        return -1;
    }
    if (jit_gemm_timer_start(timer, stream) != JIT_GEMM_OK) {
        return bench_fail(match->error, "timer: %s", jit_gemm_last_error());
    }
    const double begin_us = bench_now_us();
    if (queue_launches(match, contender, graph, count) != 0) {
        return -1;
    }
    const double end_us = bench_now_us();
    if (jit_gemm_timer_stop(timer, stream) != JIT_GEMM_OK) {
        return bench_fail(match->error, "timer: %s", jit_gemm_last_error());
    }
    gpu_state_read(state, &times.sm_mhz, &times.watts);
    if (jit_gemm_timer_elapsed_us(timer, &elapsed_us) != JIT_GEMM_OK) {
        return bench_fail(match->error, "timer: %s", jit_gemm_last_error());
    }
    if (!(elapsed_us > 0.0)) {
        return bench_fail(match->error, "the device's events measured no time");
    }
    times.us = elapsed_us / count;
    times.issue_us = (end_us - begin_us) / count;
    *ret_times = times;
    return 0;
}

int gemm_match_time(struct match *match, const struct contender *contender, int count,
                    struct launch_times *ret_times)
{
    return time_launches(match, contender, NULL, count, NULL, ret_times);
}

int gemm_match_time_turn(struct match *match, const struct contender *contender,
                         struct launch_times *ret_times)
{
    return time_launches(match, contender, contender->graph, contender->launches,
                         match->bench->gpu_state, ret_times);
}

int gemm_match_capture(struct match *match, struct contender *contender)
{
    const struct cuda_driver *driver = match->bench->driver;
    CUstream stream = match->bench->stream;
    CUgraph graph = NULL;
    if (cuda_driver_check(driver,
                          driver->begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                          "cuStreamBeginCapture", match->error) != 0) {
        return -1;
    }
    const int launched = gemm_match_launch_many(match, contender, contender->launches);
    const CUresult ended = driver->end_capture(stream, &graph);
    if (launched != 0 ||
        cuda_driver_check(driver, ended, "cuStreamEndCapture", match->error) != 0) {
        return -1;
    }
    const int status =
        cuda_driver_check(driver, driver->graph_instantiate(&contender->graph, graph, 0),
                          "cuGraphInstantiate", match->error);
    driver->graph_destroy(graph);
    return status;
}

/* How many launches fill about `ms`. */
int gemm_match_fit(struct match *match, const struct contender *contender, double ms,
                   int *ret_launches)
{
    struct launch_times times = {0};
    if (gemm_match_time(match, contender, 3, &times) != 0) {
        return -1;
    }
    const double wanted = ms * 1000.0 / times.us;
    *ret_launches = wanted < 3.0                    ? 3
                    : wanted > (double)MAX_LAUNCHES ? MAX_LAUNCHES
                                                    : (int)wanted;
    return 0;
}

double gemm_match_difference(const float *reference, const float *values, size_t count)
{
    double scale = 0.0;
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double wanted = (double)reference[i];
        const double value = (double)values[i];
        if (isfinite(wanted) && isfinite(value)) {
            scale = fmax(scale, fabs(wanted));
            worst = fmax(worst, fabs(value - wanted));
        } else if (wanted != value && !(isnan(wanted) && isnan(value))) {
            return INFINITY;
        }
    }
    return worst > 0.0 ? worst / scale : 0.0;
}

/* The worst of all results. */
static double measure_difference(const struct gemm_results *results, const float *reference,
                                 const float *values)
{
    double worst = 0.0;
    size_t at = 0;
    for (size_t i = 0; i < results->count; i++) {
        worst = fmax(worst,
                     gemm_match_difference(reference + at, values + at, results->sizes[i]));
        at += results->sizes[i];
    }
    return worst;
}

static int read_over_poison(struct match *match, const struct contender *contender,
                            bool inverts, float *values)
{
    if (gemm_sets_poison(match->sets, 0, inverts, match->error) != 0 ||
        gemm_match_synchronize(match) != 0 || gemm_match_launch(match, contender, 0) != 0 ||
        gemm_match_synchronize(match) != 0) {
        return -1;
    }
    return gemm_sets_read_results(match->sets, 0, contender->entry->name, values,
                                  match->error);
}

static int read_twice(struct match *match, const struct contender *contender, float *values,
                      float *again, size_t d_count)
{
    if (read_over_poison(match, contender, false, values) != 0 ||
        read_over_poison(match, contender, true, again) != 0) {
        return -1;
    }
    return memcmp(values, again, d_count * sizeof(*again)) == 0
               ? 0
               : bench_fail(
                     match->error,
                     "%s: D has elements that are not written: wrong result, nothing "
                     "is timed",
                     contender->entry->name);
}

int gemm_match_read(struct match *match, const struct contender *contender, float *values)
{
    struct gemm_results results;
    gemm_sets_list_results(match->sets, &results);
    if (!gemm_sets_hide_poison(match->sets)) {
        return read_over_poison(match, contender, false, values);
    }
    float *again = calloc(results.total, sizeof(*again));
    const int status = again != NULL
                           ? read_twice(match, contender, values, again, results.sizes[0])
                           : bench_fail(match->error, "out of memory");
    free(again);
    return status;
}

/* Every contender must compute what jit_gemm computes. */
int gemm_match_compare(struct match *match)
{
    struct gemm_results results;
    gemm_sets_list_results(match->sets, &results);
    float *reference = calloc(results.total, sizeof(*reference));
    float *values = calloc(results.total, sizeof(*values));
    if (reference == NULL || values == NULL) {
        free(reference);
        free(values);
        return bench_fail(match->error, "out of memory");
    }
    int status = gemm_match_read(match, &match->contenders[0], reference);
    for (size_t i = 1; i < match->contender_count && status == 0; i++) {
        const struct contender *contender = &match->contenders[i];
        status = gemm_match_read(match, contender, values);
        if (status != 0) {
            break;
        }
        const double difference = measure_difference(&results, reference, values);
        contender->entry->difference = difference;
        if (!(difference <= contender->tolerance)) {
            status = bench_fail(match->error,
                                "%s and jit_gemm disagree: largest difference %.3g of the "
                                "largest value, more than %.3g; nothing was timed (%s)",
                                contender->entry->name, difference, contender->tolerance,
                                contender->entry->note);
        }
    }
    free(reference);
    free(values);
    return status;
}
