/* SPDX-License-Identifier: MIT */
/* POSIX mutex, condition and monotonic clock behind short names. */
#ifndef JG_BASE_THREAD_H
#define JG_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

typedef pthread_mutex_t jg_mutex;
typedef pthread_cond_t jg_condition;

static inline double jg_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* How often who waits asks whether it is to stop: a signal handler may say so, which can
 * wake nobody. */
enum { JG_ASK_EVERY_MS = 5 };

/* A mutex and a condition for jg_condition_wait. False: neither is made. */
bool jg_condition_init(jg_condition *condition, jg_mutex *mutex);
/* Waits for a signal, JG_ASK_EVERY_MS at most; called with the mutex held. */
void jg_condition_wait(jg_condition *condition, jg_mutex *mutex);

#endif
