/* SPDX-License-Identifier: MIT */
/*
 * In place of the C library's allocations, also those that libraries call: each fails where
 * strikes() of the file that includes this, once in a program, says so. glibc only.
 */
#ifndef JG_TESTS_FAILING_ALLOCATIONS_H
#define JG_TESTS_FAILING_ALLOCATIONS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* Is this the call that fails? */
static bool strikes(void);

/* NOLINTBEGIN: glibc's names for its own */
#pragma GCC visibility push(default)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static bool fails(void)
{
    if (!strikes()) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(memory, bytes);
}
#pragma GCC visibility pop
/* NOLINTEND */

#endif
