/* SPDX-License-Identifier: MIT */
#include "base/busy.h"

#include <unistd.h>

#define PROCESS_SHIFT 32

bool jg_busy_begin(struct jg_busy *busy)
{
    const uint64_t process = (uint64_t)getpid() << PROCESS_SHIFT;
    uint64_t before = atomic_load(&busy->state);
    uint64_t after = 0;
    do {
        const uint64_t calls = (uint32_t)before;
        if (calls > 0 && before - calls != process) {
            return false;
        }
        after = process + calls + 1;
    } while (!atomic_compare_exchange_weak(&busy->state, &before, after));
    return true;
}

void jg_busy_end(struct jg_busy *busy)
{
    atomic_fetch_sub(&busy->state, 1);
}
