/* SPDX-License-Identifier: MIT */
/* The table of kernels, without a driver: one build a key, failures are not remembered. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "handmade_kernel.h"
#include "runtime/table.h"

static jit_gemm_status acquire(struct jg_table *table, const char *key,
                               struct jg_kernel **ret_kernel,
                               struct jg_table_entry **ret_entry)
{
    *ret_kernel = NULL;
    *ret_entry = NULL;
    static const struct jg_stop nobody_stops = {0};
    return jg_table_acquire(table, key, strlen(key), &nobody_stops, ret_kernel, ret_entry);
}

Test(table, published_kernel_is_found_and_counted)
{
    struct handmade made;
    handmade_kernel(&made);
    struct jg_table *table = jg_table_create();
    struct jg_kernel *kernel = NULL;
    struct jg_table_entry *entry = NULL;

    cr_assert_eq(acquire(table, "one", &kernel, &entry), JIT_GEMM_OK);
    cr_assert_not_null(entry);
    cr_assert_null(kernel);
    jg_table_publish(table, entry, made.kernel);
    cr_assert_eq(acquire(table, "one", &kernel, &entry), JIT_GEMM_OK);

    cr_expect_eq(kernel, made.kernel);
    cr_expect_null(entry);
    cr_expect_eq(atomic_load(&made.kernel->references), 3);
    jg_kernel_release(kernel);
    jg_table_destroy(table);
    cr_expect_eq(atomic_load(&made.kernel->references), 1);
    handmade_free(&made);
}

Test(table, abandoned_key_can_be_built_again)
{
    struct jg_table *table = jg_table_create();
    struct jg_kernel *kernel = NULL;
    struct jg_table_entry *entry = NULL;
    cr_assert_eq(acquire(table, "one", &kernel, &entry), JIT_GEMM_OK);
    jg_fail(JIT_GEMM_ERR_COMPILE, "snippet", "", "broken");

    jg_table_abandon(table, entry, JIT_GEMM_ERR_COMPILE);

    cr_expect_str_eq(jg_error_text(), "snippet: broken");
    cr_expect_eq(acquire(table, "one", &kernel, &entry), JIT_GEMM_OK);
    cr_expect_not_null(entry);
    jg_table_abandon(table, entry, JIT_GEMM_ERR_COMPILE);
    jg_table_destroy(table);
}

Test(table, many_keys_stay_apart)
{
    struct handmade made;
    handmade_kernel(&made);
    struct jg_table *table = jg_table_create();
    struct jg_kernel *kernel = NULL;
    struct jg_table_entry *entry = NULL;
    char key[32];

    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "key %d", i);
        cr_assert_eq(acquire(table, key, &kernel, &entry), JIT_GEMM_OK);
        cr_assert_not_null(entry, "%s was there", key);
        jg_table_publish(table, entry, made.kernel);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "key %d", i);
        cr_assert_eq(acquire(table, key, &kernel, &entry), JIT_GEMM_OK);
        cr_assert_null(entry, "%s is gone", key);
        jg_kernel_release(kernel);
    }
    cr_assert_eq(acquire(table, "key 1000", &kernel, &entry), JIT_GEMM_OK);
    cr_expect_not_null(entry);
    jg_table_abandon(table, entry, JIT_GEMM_ERR_COMPILE);
    jg_table_destroy(table);
    handmade_free(&made);
}

Test(table, lack_of_memory_is_reported)
{
    struct jg_table *table = jg_table_create();
    struct jg_kernel *kernel = NULL;
    struct jg_table_entry *entry = NULL;

    jg_alloc_fail_at(1, 0);
    const jit_gemm_status status = acquire(table, "one", &kernel, &entry);
    jg_alloc_fail_at(0, 0);

    cr_expect_eq(status, JIT_GEMM_ERR_NO_MEMORY);
    cr_expect_null(entry);
    jg_table_destroy(table);
}

struct waiter {
    struct jg_table *table;
    jit_gemm_status status;
    char text[128];
};

static void *wait_for_the_builder(void *user)
{
    struct waiter *waiter = user;
    struct jg_kernel *kernel = NULL;
    struct jg_table_entry *entry = NULL;
    waiter->status = acquire(waiter->table, "one", &kernel, &entry);
    if (entry != NULL) { /* came too late: the failure was over */
        jg_fail(JIT_GEMM_ERR_COMPILE, "snippet", "", "broken");
        jg_table_abandon(waiter->table, entry, JIT_GEMM_ERR_COMPILE);
        waiter->status = JIT_GEMM_ERR_COMPILE;
    }
    snprintf(waiter->text, sizeof(waiter->text), "%s", jg_error_text());
    return NULL;
}

Test(table, waiter_gets_the_builders_error)
{
    struct waiter waiter = {.table = jg_table_create()};
    struct jg_kernel *kernel = NULL;
    struct jg_table_entry *entry = NULL;
    pthread_t thread;
    cr_assert_eq(acquire(waiter.table, "one", &kernel, &entry), JIT_GEMM_OK);
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_the_builder, &waiter), 0);
    while (jg_table_waiters(waiter.table) != 1) {
        sched_yield();
    }
    jg_fail(JIT_GEMM_ERR_COMPILE, "snippet", "", "broken");

    jg_table_abandon(waiter.table, entry, JIT_GEMM_ERR_COMPILE);
    pthread_join(thread, NULL);

    cr_expect_eq(waiter.status, JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(waiter.text, "snippet: broken");
    cr_expect_str_eq(jg_error_text(), "snippet: broken");
    jg_table_destroy(waiter.table);
}
