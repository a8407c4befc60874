/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

/* The clock of the machine's time may be set, and a wait would become long. */
bool jg_condition_init(jg_condition *condition, jg_mutex *mutex)
{
    pthread_condattr_t clock;
    if (pthread_condattr_init(&clock) != 0) {
        return false;
    }
    bool is_made = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) == 0 &&
                   pthread_mutex_init(mutex, NULL) == 0;
    if (is_made && pthread_cond_init(condition, &clock) != 0) {
        pthread_mutex_destroy(mutex);
        is_made = false;
    }
    pthread_condattr_destroy(&clock);
    return is_made;
}

void jg_condition_wait(jg_condition *condition, jg_mutex *mutex)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += JG_ASK_EVERY_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(condition, mutex, &end);
}
