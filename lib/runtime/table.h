/* SPDX-License-Identifier: MIT */
/*
 * The kernels of a context, by canonical problem bytes. One build per key at a time: the
 * first thread gets the right to build, the others wait and get the same kernel or the same
 * error. A failed build is not remembered. One that was cancelled is the answer for those
 * who were cancelled too; another one who waited gets the right to build.
 */
#ifndef JG_RUNTIME_TABLE_H
#define JG_RUNTIME_TABLE_H

#include "base/stop.h"
#include "runtime/module.h"

struct jg_table;
/* One key. A thread that was given an entry has the right to build its kernel. */
struct jg_table_entry;

/* NULL on lack of memory. */
struct jg_table *jg_table_create(void);
/* Releases its kernels. No build may be under way. Accepts NULL. */
void jg_table_destroy(struct jg_table *table);

/*
 * Finds the kernel of a key, waiting for a build under way. On success exactly one of the
 * two is set: `ret_kernel`, which the caller releases, or `ret_entry`, which the caller
 * must give back with publish or abandon. `stop` is the caller's. NO_MEMORY, or the error
 * of the build that was waited for.
 */
jit_gemm_status jg_table_acquire(struct jg_table *table, const void *key, size_t key_size,
                                 const struct jg_stop *stop, struct jg_kernel **ret_kernel,
                                 struct jg_table_entry **ret_entry);

/* Makes a kernel visible and wakes who waits. The table holds its own reference. */
void jg_table_publish(struct jg_table *table, struct jg_table_entry *entry,
                      struct jg_kernel *kernel);

/* Gives up: who waits gets `status` and this thread's error record. The record stays this
 * thread's last error. */
void jg_table_abandon(struct jg_table *table, struct jg_table_entry *entry,
                      jit_gemm_status status);

/* Threads that wait for a build now. For tests. */
int jg_table_waiters(struct jg_table *table);

#endif
