/* SPDX-License-Identifier: MIT */
/* Being asked to stop by another thread. Requests are only counted: a call keeps the number
 * that it found at its begin, and nothing has to be set back for those that come later. */
#ifndef JG_BASE_STOP_H
#define JG_BASE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "base/thread.h"

struct jg_stop {
    const atomic_uint *requests; /* borrowed; NULL: nobody asks */
    unsigned seen;               /* when the call began */
    double end_ms;               /* of jg_now_ms, when the call's time is over; 0: never */
};

static inline bool jg_stop_is_late(const struct jg_stop *stop)
{
    return stop->end_ms > 0 && jg_now_ms() >= stop->end_ms;
}

static inline bool jg_stop_is_asked(const struct jg_stop *stop)
{
    return (stop->requests != NULL && atomic_load(stop->requests) != stop->seen) ||
           jg_stop_is_late(stop);
}

/* CANCELLED. */
jit_gemm_status jg_stop_fail(void);

#endif
