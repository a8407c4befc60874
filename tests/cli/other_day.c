/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: its calendar is OTHER_DAY_SECONDS away. The functions take the
 * place of the C library's; each is given to the linker under its name. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define IN_PLACE_OF(name) __asm__(name) __attribute__((visibility("default")))

int other_clock(clockid_t clock, struct timespec *now) IN_PLACE_OF("clock_gettime");
time_t other_time(time_t *ret_now) IN_PLACE_OF("time");
int other_day(struct timeval *now, void *zone) IN_PLACE_OF("gettimeofday");

static time_t shift(void)
{
    const char *seconds = getenv("OTHER_DAY_SECONDS");
    return seconds != NULL ? (time_t)strtoll(seconds, NULL, 10) : 0;
}

int other_clock(clockid_t clock, struct timespec *now)
{
    int (*next)(clockid_t, struct timespec *);
    void *symbol = dlsym(RTLD_NEXT, "clock_gettime");
    memcpy(&next, &symbol, sizeof(next));
    const int result = next(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += shift();
    }
    return result;
}

time_t other_time(time_t *ret_now)
{
    struct timespec now;
    other_clock(CLOCK_REALTIME, &now);
    if (ret_now != NULL) {
        *ret_now = now.tv_sec;
    }
    return now.tv_sec;
}

int other_day(struct timeval *now, void *zone)
{
    struct timespec exact;
    (void)zone;
    other_clock(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
