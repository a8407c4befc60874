/* SPDX-License-Identifier: MIT */
/* Each thread has its own record, freed at its end; a record can be carried to others. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"

enum { THREADS = 8, ROUNDS = 500 };

static int failures;
static pthread_mutex_t failures_mutex = PTHREAD_MUTEX_INITIALIZER;

static void expect(int truth, const char *what)
{
    if (!truth) {
        pthread_mutex_lock(&failures_mutex);
        failures++;
        pthread_mutex_unlock(&failures_mutex);
        fprintf(stderr, "FAIL: %s\n", what);
    }
}

struct job {
    int number;
    const jit_gemm_diagnostics *shared;
    struct jg_log *log;
};

static void *fail_often(void *argument)
{
    const struct job *job = argument;
    expect(jg_error_text()[0] == '\0', "a new thread has no error");
    for (int i = 0; i < ROUNDS; i++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "thread: number %d, round %d", job->number, i);
        jg_fail(JIT_GEMM_ERR_ARGUMENT, "thread", "", "number %d, round %d", job->number, i);
        expect(strcmp(jg_error_text(), expected) == 0, "a thread sees its own error");
        jg_error_restore(JIT_GEMM_ERR_COMPILE, job->shared);
        expect(strcmp(jg_error_text(), "1:2: error: shared; hint") == 0,
               "a restored error is the shared one");
        jg_log_line(job->log, JIT_GEMM_SEVERITY_ERROR, "line of thread %d", job->number);
    }
    /* Ends with a record that has text, items and a log: the thread's end frees them. */
    return NULL;
}

static int inside_callback;
static long lines_received;

static void receive_line(void *user, jit_gemm_severity severity, const char *text)
{
    (void)user;
    (void)severity;
    (void)text;
    /* Not atomic on purpose: the logger promises that calls do not overlap. */
    expect(inside_callback == 0, "log calls are serialised");
    inside_callback = 1;
    lines_received++;
    inside_callback = 0;
}

int main(void)
{
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, 1, 2, "ep", "shared",
                 "hint");
    jg_error_log("compiler log", 12);
    jit_gemm_diagnostics *shared = NULL;
    expect(jg_diagnostics_take(&shared) == JIT_GEMM_OK, "take");
    struct jg_log *log = jg_log_create(receive_line, NULL, JIT_GEMM_SEVERITY_DEBUG, NULL);

    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.number = i, .shared = shared, .log = log};
        expect(pthread_create(&threads[i], NULL, fail_often, &jobs[i]) == 0, "create");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    expect(lines_received == (long)THREADS * ROUNDS, "every line arrived");

    jg_log_destroy(log);
    jg_diagnostics_destroy(&shared);
    printf("%s\n", failures == 0 ? "ok" : "failed");
    return failures == 0 ? 0 : 1;
}
