/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_long allocation_count;
static atomic_long failing_number; /* value of allocation_count that fails; 0: none */
static atomic_bool failing_after;

static bool count_and_allow(void)
{
    const long number = atomic_fetch_add(&allocation_count, 1) + 1;
    const long failing = atomic_load(&failing_number);
    if (failing == 0 || number < failing) {
        return true;
    }
    return number != failing && !atomic_load(&failing_after);
}

void *jg_alloc(size_t bytes)
{
    return count_and_allow() ? calloc(1, bytes > 0 ? bytes : 1) : NULL;
}

void *jg_alloc_array(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        return NULL;
    }
    return jg_alloc(total);
}

void *jg_realloc(void *memory, size_t bytes)
{
    return count_and_allow() ? realloc(memory, bytes > 0 ? bytes : 1) : NULL;
}

char *jg_copy_text(const char *text, size_t size)
{
    if (size == SIZE_MAX) {
        return NULL;
    }
    char *copy = jg_alloc(size + 1);
    if (copy != NULL && size > 0) {
        memcpy(copy, text, size);
    }
    return copy;
}

void jg_free(void *memory)
{
    free(memory);
}

void jg_alloc_fail_at(long number, bool all_after)
{
    atomic_store(&failing_after, all_after);
    atomic_store(&failing_number, number > 0 ? atomic_load(&allocation_count) + number : 0);
}

long jg_alloc_count(void)
{
    return atomic_load(&allocation_count);
}
