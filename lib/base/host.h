/* SPDX-License-Identifier: MIT */
/* How many processors and how much memory this process may use now: what the machine has,
 * and what its control groups leave of it. */
#ifndef JG_BASE_HOST_H
#define JG_BASE_HOST_H

#include <stdint.h>

struct jg_host {
    int64_t processors; /* at least 1 */
    int64_t free_bytes; /* of memory, without swapping; INT64_MAX: unknown */
};

/* `root` is put before each path that is read: "" but for tests. Control groups of both
 * versions count, from the process's own up to the top. Never fails: what cannot be read
 * sets no limit; without the memory to read it none is free. */
struct jg_host jg_host_read(const char *root);

/* How many compiles may run at a time: each has a processor and memory. At least 1. */
int64_t jg_host_jobs(const char *root);

/* Bytes of addresses that this process may still map (RLIMIT_AS); INT64_MAX: as many as it
 * likes. */
int64_t jg_host_free_addresses(void);

#endif
