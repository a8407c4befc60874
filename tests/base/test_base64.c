/* SPDX-License-Identifier: MIT */
/* Bytes as text: the examples of RFC 4648, section 10, and what is no base64. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base64.h"

Test(base64, examples_of_the_standard_in_both_directions)
{
    static const struct {
        const char *bytes, *text;
    } rows[] = {{"f", "Zg==\n"},        {"fo", "Zm8=\n"},        {"foo", "Zm9v\n"},
                {"foob", "Zm9vYg==\n"}, {"fooba", "Zm9vYmE=\n"}, {"foobar", "Zm9vYmFy\n"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_str text = {0};
        struct jg_str bytes = {0};

        jg_base64_print(rows[i].bytes, strlen(rows[i].bytes), &text);
        const bool is_read =
            jg_base64_parse_line(rows[i].text, strlen(rows[i].text) - 1, &bytes);

        cr_expect_str_eq(jg_str_text(&text), rows[i].text);
        cr_expect(is_read);
        cr_expect_str_eq(jg_str_text(&bytes), rows[i].bytes);
        jg_str_free(&text);
        jg_str_free(&bytes);
    }
}

Test(base64, every_byte_and_every_length_comes_back_from_lines_of_76)
{
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(i * 7);
    }
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        struct jg_str text = {0};
        struct jg_str back = {0};

        jg_base64_print(bytes, size, &text);
        for (const char *line = jg_str_text(&text); *line != '\0';) {
            const size_t length = strcspn(line, "\n");
            cr_assert_leq(length, 76);
            cr_assert(jg_base64_parse_line(line, length, &back), "%zu bytes", size);
            line += length + 1;
        }

        cr_assert_eq(back.size, size);
        cr_assert_eq(memcmp(jg_str_text(&back), bytes, size), 0);
        jg_str_free(&text);
        jg_str_free(&back);
    }
}

Test(base64, anything_else_is_refused)
{
    static const char *const rows[] = {"Z",    "Zg",   "Zg=",       "Z===",     "====",
                                       "Zg=a", "Zh==", "Zm9=",      "Zg==Zg==", "Zm9v\r",
                                       "Zm9-", "Zm 9", "Zm9vZm9v=", " Zm9v"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_str bytes = {0};

        cr_expect_not(jg_base64_parse_line(rows[i], strlen(rows[i]), &bytes), "%s",
                      rows[i]);

        jg_str_free(&bytes);
    }
}
