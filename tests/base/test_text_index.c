/* SPDX-License-Identifier: MIT */
/* Numbers by text: found again, and in a few looks however many there are. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/text_index.h"

enum { COUNT = 4096, TEXT = 24 };

static char texts[COUNT][TEXT];

static void add_all(struct jg_text_index *index)
{
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(texts[i], TEXT, "epilogue_%zu", i);
        cr_assert(jg_text_index_reserve(index));
        jg_text_index_add(index, texts[i], strlen(texts[i]), i);
    }
}

Test(text_index, each_text_has_its_number_and_others_have_none)
{
    struct jg_text_index index = {0};
    cr_expect_eq(jg_text_index_find(&index, "x", 1), JG_TEXT_INDEX_NONE);
    add_all(&index);

    for (size_t i = 0; i < COUNT; i++) {
        char text[TEXT];
        const int size = snprintf(text, sizeof(text), "epilogue_%zu", i);
        cr_expect_eq(jg_text_index_find(&index, text, (size_t)size), i);
        text[0] = 'E';
        cr_expect_eq(jg_text_index_find(&index, text, (size_t)size), JG_TEXT_INDEX_NONE);
    }
    cr_expect_eq(jg_text_index_find(&index, "epilogue_12 and more", 11), 12);
    cr_expect_eq(jg_text_index_find(&index, "", 0), JG_TEXT_INDEX_NONE);
    jg_text_index_free(&index);
}

Test(text_index, a_search_does_not_take_more_looks_the_more_there_are)
{
    struct jg_text_index index = {0};
    add_all(&index);
    cr_assert_eq(index.looks, 0);

    for (size_t i = 0; i < COUNT; i++) {
        (void)jg_text_index_find(&index, texts[i], strlen(texts[i]));
        (void)jg_text_index_find(&index, texts[i], strlen(texts[i]) - 1);
    }

    cr_expect_lt(index.looks, 2 * COUNT * 4, "%zu looks", index.looks);
    jg_text_index_free(&index);
}
