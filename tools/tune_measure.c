/* SPDX-License-Identifier: MIT */
/* The measuring of jit-gemm tune: candidates, their kernels, their times. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "tune.h"

enum { MOST_THREADS = 16 };

int tune_list_candidates(jit_gemm_context *context, size_t most, bool verbose,
                         struct tune_problem *problem)
{
    struct cli_snippet snippet = {.text = problem->problem->problem.snippet};
    const jit_gemm_problem *asked = &problem->problem->problem.problem;
    jit_gemm_candidate *list = cli_alloc(most * sizeof(*list));
    size_t count = 0;
    const jit_gemm_status status =
        jit_gemm_plan_candidates(context, asked, list, most, &count);

    if (status != JIT_GEMM_OK) {
        free(list);
        return cli_report(status, &snippet, verbose);
    }
    count = count < most ? count : most;
    free(problem->candidates);
    problem->candidates = cli_alloc(count * sizeof(*problem->candidates));
    problem->candidate_count = count;
    for (size_t i = 0; i < count; i++) {
        problem->candidates[i] =
            (struct tune_candidate){.predicted_us = list[i].predicted_us};
        memcpy(problem->candidates[i].config, list[i].config, sizeof(list[i].config));
    }
    free(list);
    return CLI_OK;
}

/* --------------------------------------------------------------------------- compiling */

/* What the threads that compile share. */
struct queue {
    jit_gemm_context *context;
    struct tune_problem *problem;
    bool (*is_stopped)(void);
    pthread_mutex_t mutex; /* guards `next` */
    size_t next;
};

static struct tune_candidate *take_candidate(struct queue *queue)
{
    struct tune_candidate *candidate = NULL;

    pthread_mutex_lock(&queue->mutex);
    if (queue->next < queue->problem->candidate_count && !queue->is_stopped()) {
        candidate = &queue->problem->candidates[queue->next++];
    }
    pthread_mutex_unlock(&queue->mutex);
    return candidate;
}

static void *make_kernels(void *user)
{
    struct queue *queue = user;
    struct tune_candidate *candidate;

    while ((candidate = take_candidate(queue)) != NULL) {
        jit_gemm_problem problem = queue->problem->problem->problem.problem;

        memcpy(problem.config, candidate->config, sizeof(problem.config));
        if (jit_gemm_create(queue->context, &problem, &candidate->gemm) != JIT_GEMM_OK) {
            const char *error = jit_gemm_last_error();

            snprintf(candidate->reason, sizeof(candidate->reason), "%.*s",
                     (int)strcspn(error, "\n"), error);
        }
    }
    return NULL;
}

/* By as many as a prewarm takes. This thread works too. */
static void make_all(struct queue *queue)
{
    pthread_t threads[MOST_THREADS];
    const size_t jobs = (size_t)jg_host_jobs("");
    const size_t count = queue->problem->candidate_count;
    const size_t wanted = jobs < count ? jobs : count;
    size_t started = 0;

    while (started + 1 < wanted && started < MOST_THREADS &&
           pthread_create(&threads[started], NULL, make_kernels, queue) == 0) {
        started++;
    }
    make_kernels(queue);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* ------------------------------------------------------------------------------ timing */

static void destroy_kernels(struct tune_problem *problem)
{
    for (size_t i = 0; i < problem->candidate_count; i++) {
        jit_gemm_destroy(&problem->candidates[i].gemm);
    }
}

static void note_results(const struct gemm_bench_result *result,
                         struct tune_problem *problem)
{
    size_t entry = 0;

    problem->best = 0;
    for (size_t i = 0; i < problem->candidate_count; i++) {
        struct tune_candidate *candidate = &problem->candidates[i];

        if (candidate->gemm == NULL) {
            continue;
        }
        candidate->measured_us = result->entries[entry].median_us;
        candidate->spread = result->entries[entry].spread;
        entry++;
        if (candidate->measured_us < problem->candidates[problem->best].measured_us) {
            problem->best = i;
        }
    }
    problem->is_measured = true;
}

static int time_kernels(struct gemm_bench *bench, bool (*is_stopped)(void),
                        struct tune_problem *problem)
{
    jit_gemm_epilogue epilogue;
    const struct gemm_bench_problem measured =
        listed_problem_of(problem->problem, &epilogue);
    jit_gemm *gemms[GEMM_BENCH_MAX_ENTRIES];
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    size_t count = 0;

    for (size_t i = 0; i < problem->candidate_count; i++) {
        if (problem->candidates[i].gemm != NULL) {
            gemms[count++] = problem->candidates[i].gemm;
        }
    }
    struct gemm_bench_result *result = cli_alloc(sizeof(*result));
    int code = CLI_OK;
    if (gemm_bench_measure_kernels(bench, &measured, gemms, count, result, error) == 0) {
        note_results(result, problem);
    } else {
        code = is_stopped() ? CLI_FAILED : cli_error("%s: %s", problem->text, error);
    }
    free(result);
    return code;
}

int tune_measure(struct gemm_bench *bench, jit_gemm_context *context,
                 bool (*is_stopped)(void), bool verbose, struct tune_problem *problem)
{
    const struct cli_snippet snippet = {.text = problem->problem->problem.snippet};
    struct queue queue = {
        .context = context, .problem = problem, .is_stopped = is_stopped, .next = 1};
    jit_gemm *chosen = NULL;
    /* First, because its load may find that the device holds smaller clusters only: then
     * others are candidates. */
    const jit_gemm_status status =
        jit_gemm_create(context, &problem->problem->problem.problem, &chosen);

    if (status != JIT_GEMM_OK) {
        if (is_stopped()) {
            return CLI_FAILED;
        }
        cli_error("%s: the model's choice cannot be made", problem->text);
        return cli_report(status, &snippet, verbose);
    }
    int code = tune_list_candidates(context, problem->candidate_count, verbose, problem);
    if (code == CLI_OK && pthread_mutex_init(&queue.mutex, NULL) != 0) {
        code = cli_error("no memory");
    }
    if (code != CLI_OK) {
        jit_gemm_destroy(&chosen);
        return code;
    }
    problem->candidates[0].gemm = chosen;
    make_all(&queue);
    pthread_mutex_destroy(&queue.mutex);
    code = is_stopped() ? CLI_FAILED : time_kernels(bench, is_stopped, problem);
    destroy_kernels(problem);
    return code;
}
