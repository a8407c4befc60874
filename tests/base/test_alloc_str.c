/* SPDX-License-Identifier: MIT */
/* alloc: zeroing, overflow, chosen failures. str: growth, sticky failure, export. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

Test(alloc, memory_is_zeroed_and_size_zero_is_valid)
{
    unsigned char *memory = jg_alloc(100);
    void *empty = jg_alloc(0);

    cr_assert_not_null(memory);
    cr_expect_not_null(empty);
    for (int i = 0; i < 100; i++) {
        cr_expect_eq(memory[i], 0);
    }

    jg_free(memory);
    jg_free(empty);
    jg_free(NULL);
}

Test(alloc, array_size_that_overflows_is_refused)
{
    cr_expect_null(jg_alloc_array(SIZE_MAX / 2, 3));
    cr_expect_null(jg_alloc_array(3, SIZE_MAX / 2));

    void *memory = jg_alloc_array(3, 5);
    cr_expect_not_null(memory);
    jg_free(memory);
}

Test(alloc, copied_text_gets_a_zero_byte)
{
    char *text = jg_copy_text("abcdef", 3);

    cr_assert_not_null(text);
    cr_expect_str_eq(text, "abc");
    cr_expect_null(jg_copy_text("", SIZE_MAX));

    jg_free(text);
}

Test(alloc, only_the_chosen_allocation_fails)
{
    jg_alloc_fail_at(2, 0);
    void *first = jg_alloc(1);
    void *second = jg_alloc(1);
    void *third = jg_alloc(1);
    jg_alloc_fail_at(0, 0);

    cr_expect_not_null(first);
    cr_expect_null(second);
    cr_expect_not_null(third);

    jg_free(first);
    jg_free(third);
}

Test(alloc, all_after_the_chosen_allocation_fail)
{
    void *kept = jg_alloc(1);
    jg_alloc_fail_at(1, 1);
    cr_expect_null(jg_alloc(1));
    cr_expect_null(jg_realloc(kept, 2));
    cr_expect_null(jg_copy_text("a", 1));
    jg_alloc_fail_at(0, 0);

    void *after = jg_alloc(1);
    cr_expect_not_null(after);

    jg_free(after);
    jg_free(kept);
}

Test(alloc, count_grows_by_one_an_allocation)
{
    const long before = jg_alloc_count();
    void *memory = jg_alloc(8);
    memory = jg_realloc(memory, 16);
    const long after = jg_alloc_count();

    cr_expect_eq(after - before, 2);

    jg_free(memory);
}

Test(str, pieces_are_joined_and_terminated)
{
    struct jg_str str = {0};
    cr_expect_str_eq(jg_str_text(&str), "");

    jg_str_puts(&str, "tile=");
    jg_str_printf(&str, "%dx%d", 128, 256);
    jg_str_add(&str, "\0z", 2);

    cr_expect_eq(str.size, 14);
    cr_expect_eq(memcmp(str.data, "tile=128x256\0z", 15), 0);
    cr_expect_eq(jg_str_status(&str), JIT_GEMM_OK);
    jg_str_free(&str);
    cr_expect_null(str.data);
}

Test(str, long_text_grows_by_every_way_of_adding)
{
    struct jg_str str = {0};
    char long_text[5001];
    memset(long_text, 'x', 5000);
    long_text[5000] = '\0';

    jg_str_printf(&str, "%s", long_text);
    jg_str_puts(&str, long_text);
    for (int i = 0; i < 5000; i++) {
        jg_str_add(&str, "y", 1);
    }

    cr_expect_eq(str.size, 15000);
    cr_expect_eq(strlen(str.data), 15000);
    jg_str_free(&str);
}

Test(str, failed_growth_sticks)
{
    struct jg_str str = {0};
    jg_str_puts(&str, "short");
    char long_text[200];
    memset(long_text, 'x', sizeof(long_text));

    jg_alloc_fail_at(1, 0);
    jg_str_add(&str, long_text, sizeof(long_text));
    jg_str_puts(&str, "more");

    cr_expect_str_eq(jg_str_text(&str), "short");
    cr_expect_eq(jg_str_status(&str), JIT_GEMM_ERR_NO_MEMORY);
    cr_expect_str_eq(jg_error_text(), "out of memory");
    jg_str_free(&str);
}

Test(str, size_that_overflows_fails_and_does_not_crash)
{
    struct jg_str str = {0};
    jg_str_puts(&str, "a");

    jg_str_add(&str, "b", SIZE_MAX);

    cr_expect_eq(str.failed, 1);
    cr_expect_str_eq(jg_str_text(&str), "a");
    jg_str_free(&str);
}

Test(str, export_cuts_terminates_and_tells_the_length)
{
    char buffer[4] = "zzz";
    size_t length = 0;

    jg_str_export("abcdef", 6, buffer, sizeof(buffer), &length);
    cr_expect_str_eq(buffer, "abc");
    cr_expect_eq(length, 6);

    jg_str_export("ab", 2, buffer, sizeof(buffer), NULL);
    cr_expect_str_eq(buffer, "ab");

    jg_str_export("abcdef", 6, NULL, 0, &length);
    cr_expect_eq(length, 6);
}

Test(str, text_is_delivered_and_freed_unless_its_maker_failed)
{
    struct jg_str good = {0};
    struct jg_str bad = {0};
    char buffer[8] = "zzz";
    size_t length = 77;
    jg_str_puts(&good, "abc");
    jg_str_puts(&bad, "half a text");

    const jit_gemm_status failed =
        jg_str_deliver(&bad, JIT_GEMM_ERR_ARGUMENT, buffer, sizeof(buffer), &length);

    cr_expect_eq(failed, JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(buffer, "zzz");
    cr_expect_eq(length, 77);
    cr_expect_null(bad.data);

    const jit_gemm_status delivered =
        jg_str_deliver(&good, JIT_GEMM_OK, buffer, sizeof(buffer), &length);

    cr_expect_eq(delivered, JIT_GEMM_OK);
    cr_expect_str_eq(buffer, "abc");
    cr_expect_eq(length, 3);
    cr_expect_null(good.data);
}
