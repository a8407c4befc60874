/* SPDX-License-Identifier: MIT */
#include "compile/flight.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

struct airspace;

/* In the list until it lands; then it lives until the last thread that waited has read it.
 */
struct jg_flight {
    struct jg_flight *next;
    struct airspace *space;
    const struct jg_key *key; /* of who makes it; NULL once it has landed */
    uint32_t limit_ms;        /* of who makes it; 0: none */
    int waiters;
    jit_gemm_status status;
    struct jg_binary binary;           /* OK; its code has failed if memory ran out */
    jit_gemm_diagnostics *diagnostics; /* otherwise; NULL if memory ran out */
};

/* All flights of a process. A child of a fork has none of the threads that fly, and may
 * have got the mutex locked: it begins with a space of its own. */
struct airspace {
    pid_t process;
    jg_mutex mutex;
    jg_condition landed;
    struct jg_flight *flights;
    int waiters;
};

static _Atomic(struct airspace *) current_space; /* never freed */

/* NULL without memory. */
static struct airspace *find_space(void)
{
    struct airspace *found = atomic_load(&current_space);
    if (found != NULL && found->process == getpid()) {
        return found;
    }
    struct airspace *made = jg_alloc(sizeof(*made));
    if (made == NULL || !jg_condition_init(&made->landed, &made->mutex)) {
        jg_free(made);
        return NULL;
    }
    made->process = getpid();
    if (atomic_compare_exchange_strong(&current_space, &found, made)) {
        return made;
    }
    pthread_cond_destroy(&made->landed);
    pthread_mutex_destroy(&made->mutex);
    jg_free(made);
    return found; /* another thread was quicker */
}

static struct jg_flight *find_flight(const struct airspace *space, const struct jg_key *key)
{
    for (struct jg_flight *flight = space->flights; flight != NULL; flight = flight->next) {
        const struct jg_str *material = &flight->key->material;
        if (jg_hash_equal(&flight->key->hash, &key->hash) &&
            material->size == key->material.size &&
            memcmp(material->data, key->material.data, material->size) == 0) {
            return flight;
        }
    }
    return NULL;
}

static void free_flight(struct jg_flight *flight)
{
    jg_binary_free(&flight->binary);
    jg_diagnostics_destroy(&flight->diagnostics);
    jg_free(flight);
}

static jit_gemm_status fail_limit(const struct jg_flight_ask *ask)
{
    return jg_fail_system(
        JIT_GEMM_ERR_COMPILE, "compiler",
        "raise options.compile_limit_ms (--compile-limit)",
        "the same kernel is being compiled on another thread, and was not "
        "ready after %u ms",
        ask->limit_ms);
}

/* Called with the mutex held. The flight may have landed at the end, or not. */
static jit_gemm_status wait_for_landing(struct airspace *space,
                                        const struct jg_flight *flight,
                                        const struct jg_flight_ask *ask, double end_ms)
{
    while (flight->key != NULL) {
        if (jg_stop_is_asked(&ask->stop)) {
            return jg_stop_fail();
        }
        if (jg_now_ms() >= end_ms) {
            return fail_limit(ask);
        }
        jg_condition_wait(&space->landed, &space->mutex);
    }
    return JIT_GEMM_OK;
}

/* Does the failure of a flight hold for this one, too? */
static bool is_for(const struct jg_flight *flight, const struct jg_flight_ask *ask)
{
    const bool may_take_longer =
        flight->limit_ms != 0 && (ask->limit_ms == 0 || ask->limit_ms > flight->limit_ms);
    return flight->status == JIT_GEMM_ERR_CANCELLED ? jg_stop_is_asked(&ask->stop)
                                                    : !may_take_longer;
}

/* What a flight that has landed brings. *ret_is_over: nothing needs to be begun again. */
static jit_gemm_status read_landed(const struct jg_flight *flight,
                                   const struct jg_flight_ask *ask,
                                   struct jg_binary *ret_binary, bool *ret_is_over)
{
    if (flight->status != JIT_GEMM_OK && !is_for(flight, ask)) {
        *ret_is_over = false;
        return JIT_GEMM_OK;
    }
    *ret_is_over = true;
    if (flight->status == JIT_GEMM_OK && !flight->binary.code.failed) {
        struct jg_binary copy;
        jg_binary_copy(&flight->binary, &copy);
        if (!copy.code.failed) {
            *ret_binary = copy;
            return JIT_GEMM_OK;
        }
        jg_binary_free(&copy);
    }
    if (flight->status == JIT_GEMM_OK || flight->diagnostics == NULL) {
        return jg_fail_memory();
    }
    jg_error_restore(flight->status, flight->diagnostics);
    return flight->status;
}

/* Called with the mutex held. */
static jit_gemm_status fly_along(struct airspace *space, struct jg_flight *flight,
                                 const struct jg_flight_ask *ask, double end_ms,
                                 struct jg_binary *ret_binary, bool *ret_is_over)
{
    flight->waiters++;
    space->waiters++;
    jit_gemm_status status = wait_for_landing(space, flight, ask, end_ms);
    space->waiters--;
    flight->waiters--;
    if (status == JIT_GEMM_OK) {
        status = read_landed(flight, ask, ret_binary, ret_is_over);
    }
    if (flight->waiters == 0 && flight->key == NULL) {
        free_flight(flight);
    }
    return status;
}

/* Called with the mutex held. NULL without memory. */
static struct jg_flight *begin_flight(struct airspace *space,
                                      const struct jg_flight_ask *ask)
{
    struct jg_flight *flight = jg_alloc(sizeof(*flight));
    if (flight != NULL) {
        flight->space = space;
        flight->key = ask->key;
        flight->limit_ms = ask->limit_ms;
        flight->next = space->flights;
        space->flights = flight;
    }
    return flight;
}

jit_gemm_status jg_flight_join(const struct jg_flight_ask *ask,
                               struct jg_flight **ret_flight, struct jg_binary *ret_binary)
{
    struct airspace *space = find_space();
    if (space == NULL) {
        return jg_fail_memory();
    }
    const double end_ms =
        ask->limit_ms > 0 ? jg_now_ms() + ask->limit_ms : (double)INFINITY;
    jit_gemm_status status = JIT_GEMM_OK;
    struct jg_flight *begun = NULL;
    bool is_over = false;
    pthread_mutex_lock(&space->mutex);
    while (status == JIT_GEMM_OK && begun == NULL && !is_over) {
        struct jg_flight *flight = find_flight(space, ask->key);
        if (flight != NULL) {
            status = fly_along(space, flight, ask, end_ms, ret_binary, &is_over);
        } else {
            begun = begin_flight(space, ask);
            status = begun != NULL ? JIT_GEMM_OK : jg_fail_memory();
        }
    }
    pthread_mutex_unlock(&space->mutex);
    if (status == JIT_GEMM_OK) {
        *ret_flight = begun;
    }
    return status;
}

void jg_flight_land(struct jg_flight *flight, jit_gemm_status status,
                    const struct jg_binary *binary)
{
    struct airspace *space = flight->space;
    pthread_mutex_lock(&space->mutex);
    struct jg_flight **link = &space->flights;
    while (*link != flight) {
        link = &(*link)->next;
    }
    *link = flight->next;
    flight->key = NULL;
    flight->status = status;
    const bool is_awaited = flight->waiters > 0;
    if (is_awaited && status == JIT_GEMM_OK) {
        jg_binary_copy(binary, &flight->binary);
    } else if (is_awaited && jg_diagnostics_take(&flight->diagnostics) == JIT_GEMM_OK) {
        jg_error_restore(status, flight->diagnostics);
    }
    pthread_cond_broadcast(&space->landed);
    pthread_mutex_unlock(&space->mutex);
    if (!is_awaited) {
        free_flight(flight);
    }
}

int jg_flight_waiters(void)
{
    struct airspace *space = find_space();
    if (space == NULL) {
        return 0;
    }
    pthread_mutex_lock(&space->mutex);
    const int waiters = space->waiters;
    pthread_mutex_unlock(&space->mutex);
    return waiters;
}
