/* SPDX-License-Identifier: MIT */
/* The only callers of calloc, realloc and free in lib/, but for the path that realpath
 * gives in cuda/library_paths.c. Tests make chosen allocations fail.
 */
#ifndef JG_BASE_ALLOC_H
#define JG_BASE_ALLOC_H

#include <stdbool.h>

#include "base/status.h"

/* Zeroed memory, or NULL. Size 0 gives a valid pointer. */
void *jg_alloc(size_t bytes) __attribute__((malloc));
/* Zeroed memory for count elements, NULL on overflow. */
void *jg_alloc_array(size_t count, size_t bytes) __attribute__((malloc));
/* As realloc; new memory is not zeroed. */
void *jg_realloc(void *memory, size_t bytes);
/* Copies `size` bytes and adds a zero byte. */
char *jg_copy_text(const char *text, size_t size) __attribute__((malloc));
void jg_free(void *memory);

/* Test hook: the allocation with this number from now (1 is the next) fails, and all after
 * it if `all_after`; 0 ends it. Process-wide. */
void jg_alloc_fail_at(long number, bool all_after);
/* Allocations made so far in this process; for tests that a path allocates nothing. */
long jg_alloc_count(void);

#endif
