/* SPDX-License-Identifier: MIT */
/* The process's driver: its lock, what is alive in it, and the thread's contexts. */
#include <stdio.h>

#include "driver/driver.h"

struct emu_driver emu_driver;
_Thread_local struct emu_contexts emu_contexts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void emu_lock(void)
{
    pthread_mutex_lock(&lock);
}

/* As with a GPU, nothing of the driver is of use in a child of fork. Another thread of the
 * parent may have held the lock. */
static void forget_parent(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    emu_driver.initialised = false;
    emu_driver.waiting = NULL; /* its launches are its own */
    emu_driver.forked = true;
}

void emu_watch_forks(void)
{
    static bool watches; /* under the lock */
    if (!watches) {
        watches = pthread_atfork(NULL, NULL, forget_parent) == 0;
    }
}

CUresult emu_leave(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult emu_refuse(CUresult result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emu_text_free(&emu_driver.last_error);
    emu_text_addv(&emu_driver.last_error, format, args);
    va_end(args);
    if (emu_driver.settings.show <= EMU_ERROR) {
        fprintf(stderr, "emulator: %s\n", emu_text_get(&emu_driver.last_error));
    }
    return result;
}

/* --------------------------------------------------------------------------- objects */

void *emu_object_create(size_t bytes, enum emu_kind kind, CUcontext context)
{
    struct emu_object *object = emu_alloc(bytes);
    object->kind = kind;
    object->context = context;
    object->next = emu_driver.alive[kind];
    emu_driver.alive[kind] = object;
    return object;
}

bool emu_object_is_alive(const void *handle, enum emu_kind kind)
{
    for (const struct emu_object *at = emu_driver.alive[kind]; at != NULL; at = at->next) {
        if (at == handle) {
            return true;
        }
    }
    return false;
}

void emu_object_destroy(void *object)
{
    struct emu_object *gone = object;
    struct emu_object **at = &emu_driver.alive[gone->kind];
    while (*at != gone) {
        at = &(*at)->next;
    }
    *at = gone->next;
    emu_free(gone);
}

CUcontext emu_context_current(void)
{
    CUcontext top =
        emu_contexts.depth == 0 ? NULL : emu_contexts.contexts[emu_contexts.depth - 1];
    return emu_object_is_alive(top, EMU_KIND_CONTEXT) ? top : NULL;
}
