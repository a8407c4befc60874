/* SPDX-License-Identifier: MIT */
#include "plain_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "jit_gemm/jit_gemm.h"

static atomic_int failures;

void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "FAIL: %s (%s)\n", what, jit_gemm_last_error());
        atomic_fetch_add(&failures, 1);
    }
}

pthread_t plain_begin_thread(void *(*body)(void *), void *user)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, user) != 0) {
        fprintf(stderr, "no thread\n");
        exit(1);
    }
    return thread;
}

int plain_end(const char *name)
{
    const bool is_ok = atomic_load(&failures) == 0;
    printf("%s: %s\n", name, is_ok ? "ok" : "FAILED");
    return is_ok ? 0 : 1;
}
