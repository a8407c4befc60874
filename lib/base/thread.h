/* SPDX-License-Identifier: MIT */
/* POSIX mutex, condition and monotonic clock behind short names. */
#ifndef JG_BASE_THREAD_H
#define JG_BASE_THREAD_H

#include <pthread.h>
#include <time.h>

typedef pthread_mutex_t jg_mutex;
typedef pthread_cond_t jg_condition;

static inline double jg_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

#endif
