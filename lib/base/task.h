/* SPDX-License-Identifier: MIT */
/* Work for compilers of others: they recurse as deep as their input is nested, may take
 * for ever, and are no reason that the calling thread's stack runs out or that it waits. */
#ifndef JG_BASE_TASK_H
#define JG_BASE_TASK_H

#include <stdbool.h>

#include "base/status.h"

struct jg_task {
    /* Runs on a thread of its own, with JG_TASK_STACK_BYTES and all signals blocked. What
     * it records as an error becomes the caller's. */
    jit_gemm_status (*work)(void *user);
    void *user;
    bool (*is_over)(void *over_user); /* asked by the caller's thread; NULL: never */
    void *over_user;
    /* Tells the work that it is over: called once, from the caller's thread. */
    void (*stop)(void *user);
    /* Releases `user` where nobody waits any more: on the work's thread, when it ends. */
    void (*release)(void *user);
    unsigned grace_ms; /* from `stop` on, until the work is left alone */
};

/* Most of it is never touched, and costs addresses only. */
#define JG_TASK_STACK_BYTES (64 << 20)

/*
 * Runs a task and waits for it. *ret_is_left: it did not end in time after it was stopped;
 * then OK is returned, and `user` belongs to it; the library stays loaded from then on, and
 * an exit of the process waits for it, for two seconds at most. NO_MEMORY: no thread could
 * be started, and the error says why; nothing ran.
 */
jit_gemm_status jg_task_run(const struct jg_task *task, bool *ret_is_left);

#endif
