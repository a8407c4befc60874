/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: its calendar is OTHER_DAY_SECONDS away. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t shift(void)
{
    const char *seconds = getenv("OTHER_DAY_SECONDS");
    return seconds != NULL ? (time_t)strtoll(seconds, NULL, 10) : 0;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                         struct timespec *now)
{
    static int (*next)(clockid_t, struct timespec *);
    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    }
    const int result = next(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += shift();
    }
    return result;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_now)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_now != NULL) {
        *ret_now = now.tv_sec;
    }
    return now.tv_sec;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict now,
                                                        void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
