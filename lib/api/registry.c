/* SPDX-License-Identifier: MIT */
#include "api/registry.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text_index.h"
#include "base/thread.h"
#include "plan/named_epilogue.h"

struct list {
    struct jg_epilogue **items; /* owned */
    size_t count, capacity;
};

struct jg_registry {
    jg_mutex mutex;
    struct list own;              /* the caller's */
    struct jg_text_index by_name; /* of these */
    struct list named; /* those of the library that were asked for: one per type of D */
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

static void free_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        jg_epilogue_destroy(list->items[i]);
    }
    jg_free(list->items);
}

void jg_registry_destroy(struct jg_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    free_list(&registry->own);
    free_list(&registry->named);
    jg_text_index_free(&registry->by_name);
    pthread_mutex_destroy(&registry->mutex);
    jg_free(registry);
}

/* One of the caller's; NULL if there is none. Called with the mutex held. */
static const struct jg_epilogue *find_by_name(struct jg_registry *registry,
                                              const char *name)
{
    const size_t index = jg_text_index_find(&registry->by_name, name, strlen(name));
    return index != JG_TEXT_INDEX_NONE ? registry->own.items[index] : NULL;
}

static bool make_room_for_one(struct list *list)
{
    if (list->count < list->capacity) {
        return true;
    }
    const size_t capacity = list->capacity > 0 ? list->capacity * 2 : 16;
    struct jg_epilogue **items =
        jg_realloc(list->items, capacity * sizeof(struct jg_epilogue *));
    if (items == NULL) {
        return false;
    }
    list->items = items;
    list->capacity = capacity;
    return true;
}

/* OK with *ret_is_known: the same one is there. Called with the mutex held. */
static jit_gemm_status compare(struct jg_registry *registry,
                               const struct jg_epilogue *epilogue, bool *ret_is_known)
{
    if (jg_named_epilogue_find(epilogue->name) != NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.name",
                       "choose another name, or name it in the problem without "
                       "registering one",
                       "'%s' is an epilogue of the library", epilogue->name);
    }
    const struct jg_epilogue *known = find_by_name(registry, epilogue->name);
    if (known != NULL && !jg_epilogue_equal(known, epilogue)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.name",
                       "choose another name, or register exactly the same text and "
                       "operands again",
                       "another epilogue is registered as '%s'", epilogue->name);
    }
    *ret_is_known = known != NULL;
    return JIT_GEMM_OK;
}

/* Takes the epilogue over only if `ret_taken` is set. Called with the mutex held. */
static jit_gemm_status add_or_compare(struct jg_registry *registry,
                                      struct jg_epilogue *epilogue, bool *ret_taken)
{
    bool is_known = false;
    JG_TRY(compare(registry, epilogue, &is_known));
    if (is_known) {
        return JIT_GEMM_OK;
    }
    if (!make_room_for_one(&registry->own) || !jg_text_index_reserve(&registry->by_name)) {
        return jg_fail_memory();
    }
    jg_text_index_add(&registry->by_name, epilogue->name, strlen(epilogue->name),
                      registry->own.count);
    registry->own.items[registry->own.count++] = epilogue;
    *ret_taken = true;
    return JIT_GEMM_OK;
}

void jg_epilogue_warn(const struct jg_epilogue *epilogue, struct jg_log *log)
{
    if (epilogue->double_line > 0) {
        jg_log_line(
            log, JIT_GEMM_SEVERITY_WARNING,
            "%s:%u:%u: warning: a literal of type double makes the arithmetic slow; "
            "add an f, as in 0.5f",
            epilogue->source_name, epilogue->double_line, epilogue->double_column);
    }
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
    jg_epilogue_warn(epilogue, log);
    return JIT_GEMM_OK;
}

/* Takes or destroys those of `other` in their order; *ret_taken is how many of them.
 * Called with the mutex of `registry` held. */
static jit_gemm_status take_each(struct jg_registry *registry, const struct list *other,
                                 size_t *ret_taken)
{
    for (size_t i = 0; i < other->count; i++) {
        bool is_taken = false;
        JG_TRY(add_or_compare(registry, other->items[i], &is_taken));
        if (!is_taken) {
            jg_epilogue_destroy(other->items[i]);
        }
        *ret_taken = i + 1;
    }
    return JIT_GEMM_OK;
}

/* Called with the mutex of `registry` held; `other` is the caller's alone, and of no use
 * afterwards but to be destroyed. */
static jit_gemm_status take_all(struct jg_registry *registry, struct jg_registry *other)
{
    bool is_known = false;
    for (size_t i = 0; i < other->own.count; i++) {
        JG_TRY(compare(registry, other->own.items[i], &is_known));
    }
    size_t taken = 0;
    const jit_gemm_status status = take_each(registry, &other->own, &taken);
    jg_text_index_free(&other->by_name); /* which has names of those that have gone */
    other->own.count -= taken;
    if (other->own.count > 0) {
        memmove(other->own.items, other->own.items + taken,
                other->own.count * sizeof(struct jg_epilogue *));
    }
    return status;
}

jit_gemm_status jg_registry_take_all(struct jg_registry *registry,
                                     struct jg_registry *other)
{
    pthread_mutex_lock(&registry->mutex);
    const jit_gemm_status status = take_all(registry, other);
    pthread_mutex_unlock(&registry->mutex);
    return status;
}

static bool has_equal_operands(const struct jg_epilogue *epilogue,
                               const struct jg_named_epilogue *named,
                               const jit_gemm_operand *operands)
{
    for (uint32_t i = 0; i < named->operand_count; i++) {
        if (epilogue->operands[i].dtype != operands[i].dtype) {
            return false;
        }
    }
    return strcmp(epilogue->name, named->name) == 0;
}

/* One of the library's own, made when it is first asked for. Called with the mutex held. */
static jit_gemm_status find_named(struct jg_registry *registry,
                                  const struct jg_named_epilogue *named, jit_gemm_dtype d,
                                  const struct jg_epilogue **ret_epilogue)
{
    struct list *list = &registry->named;
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    jg_named_epilogue_operands(named, d, operands);
    for (size_t i = 0; i < list->count; i++) {
        if (has_equal_operands(list->items[i], named, operands)) {
            *ret_epilogue = list->items[i];
            return JIT_GEMM_OK;
        }
    }
    if (!make_room_for_one(list)) {
        return jg_fail_memory();
    }
    JG_TRY(jg_named_epilogue_create(named, d, &list->items[list->count]));
    *ret_epilogue = list->items[list->count++];
    return JIT_GEMM_OK;
}

jit_gemm_status jg_registry_find(void *registry, const char *name, jit_gemm_dtype d,
                                 const struct jg_epilogue **ret_epilogue)
{
    struct jg_registry *own = registry;
    const struct jg_named_epilogue *named = jg_named_epilogue_find(name);
    jit_gemm_status status = JIT_GEMM_OK;
    pthread_mutex_lock(&own->mutex);
    if (named != NULL) {
        status = find_named(own, named, d, ret_epilogue);
    } else {
        *ret_epilogue = find_by_name(own, name);
    }
    pthread_mutex_unlock(&own->mutex);
    return status;
}

bool jg_registry_has(struct jg_registry *registry, const char *name)
{
    pthread_mutex_lock(&registry->mutex);
    const bool is_there = find_by_name(registry, name) != NULL;
    pthread_mutex_unlock(&registry->mutex);
    return is_there;
}

const struct jg_epilogue *jg_registry_at(struct jg_registry *registry, size_t index)
{
    pthread_mutex_lock(&registry->mutex);
    const struct jg_epilogue *epilogue =
        index < registry->own.count ? registry->own.items[index] : NULL;
    pthread_mutex_unlock(&registry->mutex);
    return epilogue;
}
