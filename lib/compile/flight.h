/* SPDX-License-Identifier: MIT */
/*
 * The compiles under way in this process, by key: whoever asks for a key that another
 * thread is making waits for it, whichever context either works for. Nothing is remembered
 * beyond that: what is made lies on disk, and what failed is tried again.
 */
#ifndef JG_COMPILE_FLIGHT_H
#define JG_COMPILE_FLIGHT_H

#include "base/stop.h"
#include "compile/binary.h"
#include "compile/key.h"

/* One compile. The thread that was given it makes the code. */
struct jg_flight;

/* Who asks, and how long it may take. `key` is borrowed until the flight has landed. */
struct jg_flight_ask {
    const struct jg_key *key;
    struct jg_stop stop;
    uint32_t limit_ms; /* of waiting; 0: none */
};

/*
 * Joins the compile of a key, or begins it. On success exactly one of the two is set:
 * `ret_flight`, which the caller must land, or `ret_binary`, a copy of what another thread
 * made, which is the caller's to free.
 *
 * Otherwise the error of the compile that was waited for, or CANCELLED, COMPILE (the limit)
 * or NO_MEMORY of the caller's own. A compile that was cancelled, and one that failed under
 * a shorter limit than the caller's, says nothing to the caller: it is begun again.
 */
jit_gemm_status jg_flight_join(const struct jg_flight_ask *ask,
                               struct jg_flight **ret_flight, struct jg_binary *ret_binary);

/* Ends a compile. Who waits gets a copy of the binary, or without one this thread's error
 * record, which stays this thread's last error. */
void jg_flight_land(struct jg_flight *flight, jit_gemm_status status,
                    const struct jg_binary *binary);

/* Threads that wait for compiles now. For tests. */
int jg_flight_waiters(void);

#endif
