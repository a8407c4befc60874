/* SPDX-License-Identifier: MIT */
#include "api/registry.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

struct jg_registry {
    jg_mutex mutex;
    struct jg_epilogue **items; /* owned */
    size_t count, capacity;
};

struct jg_registry *jg_registry_create(void)
{
    struct jg_registry *registry = jg_alloc(sizeof(*registry));
    if (registry == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&registry->mutex, NULL) != 0) {
        jg_free(registry);
        return NULL;
    }
    return registry;
}

void jg_registry_destroy(struct jg_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    for (size_t i = 0; i < registry->count; i++) {
        jg_epilogue_destroy(registry->items[i]);
    }
    jg_free(registry->items);
    pthread_mutex_destroy(&registry->mutex);
    jg_free(registry);
}

static const struct jg_epilogue *find_by_name(const struct jg_registry *registry,
                                              const char *name)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (strcmp(registry->items[i]->name, name) == 0) {
            return registry->items[i];
        }
    }
    return NULL;
}

static bool make_room_for_one(struct jg_registry *registry)
{
    if (registry->count < registry->capacity) {
        return true;
    }
    const size_t capacity = registry->capacity > 0 ? registry->capacity * 2 : 16;
    struct jg_epilogue **items =
        jg_realloc(registry->items, capacity * sizeof(struct jg_epilogue *));
    if (items == NULL) {
        return false;
    }
    registry->items = items;
    registry->capacity = capacity;
    return true;
}

/* Takes the epilogue over only if `ret_taken` is set. Called with the mutex held. */
static jit_gemm_status add_or_compare(struct jg_registry *registry,
                                      struct jg_epilogue *epilogue, bool *ret_taken)
{
    const struct jg_epilogue *known = find_by_name(registry, epilogue->name);
    if (known != NULL) {
        if (jg_epilogue_equal(known, epilogue)) {
            return JIT_GEMM_OK;
        }
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.name",
                       "choose another name, or register exactly the same text, operands "
                       "and source name again",
                       "another epilogue is registered as '%s'", epilogue->name);
    }
    if (!make_room_for_one(registry)) {
        return jg_fail_memory();
    }
    registry->items[registry->count++] = epilogue;
    *ret_taken = true;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_registry_add(struct jg_registry *registry, struct jg_log *log,
                                const jit_gemm_epilogue *user)
{
    struct jg_epilogue *epilogue = NULL;
    JG_TRY(jg_epilogue_create(user, &epilogue));
    bool taken = false;
    pthread_mutex_lock(&registry->mutex);
    const jit_gemm_status status = add_or_compare(registry, epilogue, &taken);
    pthread_mutex_unlock(&registry->mutex);
    if (!taken) {
        jg_epilogue_destroy(epilogue);
        return status;
    }
    if (epilogue->double_line > 0) {
        jg_log_line(
            log, JIT_GEMM_SEVERITY_WARNING,
            "%s:%u:%u: warning: a literal of type double makes the arithmetic slow; "
            "add an f, as in 0.5f",
            epilogue->source_name, epilogue->double_line, epilogue->double_column);
    }
    return JIT_GEMM_OK;
}

const struct jg_epilogue *jg_registry_find(void *registry, const char *name)
{
    struct jg_registry *own = registry;
    pthread_mutex_lock(&own->mutex);
    const struct jg_epilogue *epilogue = find_by_name(own, name);
    pthread_mutex_unlock(&own->mutex);
    return epilogue;
}

const struct jg_epilogue *jg_registry_at(struct jg_registry *registry, size_t index)
{
    pthread_mutex_lock(&registry->mutex);
    const struct jg_epilogue *epilogue =
        index < registry->count ? registry->items[index] : NULL;
    pthread_mutex_unlock(&registry->mutex);
    return epilogue;
}
