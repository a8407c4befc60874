/* SPDX-License-Identifier: MIT */
/* Calls under way inside of a library of others. A child of a fork has none of the threads
 * that make them, but what they had locked: the library is of no use in it. */
#ifndef JG_BASE_BUSY_H
#define JG_BASE_BUSY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of one library in this process; zero to begin with. */
struct jg_busy {
    _Atomic uint64_t state; /* the process, and in the lower half its calls */
};

/* A call begins. False: this process was forked in the middle of one; do not call. */
bool jg_busy_begin(struct jg_busy *busy);
void jg_busy_end(struct jg_busy *busy);

#endif
