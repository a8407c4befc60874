/* SPDX-License-Identifier: MIT */
/* The look at PTX: text, with the expected kernel, and nothing read past its end. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "compile/ptx_check.h"

static const char good[] = "//\n// Generated\n//\n\n.version 9.0\n.target sm_90a\n"
                           ".address_size 64\n\n\t// .globl\tkernel_a\n"
                           ".visible .entry kernel_a(\n\t.param .u64 p\n)\n{\n}\n";

/* An exact allocation, so that the sanitizer sees a read past the end. */
static const char *check_copy(const char *text, size_t size, const char *entry)
{
    char *copy = calloc(size > 0 ? size : 1, 1);
    memcpy(copy, text, size);
    const char *wrong = jg_ptx_check(copy, size, entry);
    free(copy);
    return wrong;
}

Test(ptx_check, text_with_the_kernel_is_good)
{
    cr_expect_null(check_copy(good, strlen(good), "kernel_a"));
}

Test(ptx_check, other_kernel_is_refused)
{
    static const char *const others[] = {"kernel_b", "kernel_", "kernel_aa", "ernel_a", ""};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const char *wrong = check_copy(good, strlen(good), others[i]);
        cr_expect_not_null(wrong, "%s", others[i]);
        cr_expect_str_eq(wrong, "it has no kernel of the expected name");
    }
}

Test(ptx_check, second_entry_is_found)
{
    static const char two[] = ".version 9.0\n.entry first()\n{\n}\n.entry second()\n{\n}\n";

    cr_expect_null(check_copy(two, strlen(two), "first"));
    cr_expect_null(check_copy(two, strlen(two), "second"));
}

Test(ptx_check, what_is_no_ptx_is_refused)
{
    cr_expect_str_eq(check_copy("", 0, "k"), "it is not text");
    cr_expect_str_eq(check_copy("\177ELF\2\1\1\0", 8, "k"), "it is not text");
    cr_expect_str_eq(check_copy(good, sizeof(good), "kernel_a"), "it is not text");
    cr_expect_str_eq(check_copy(".entry k()", 10, "k"), "it is not PTX");
}

Test(ptx_check, text_that_is_cut_before_the_kernel_is_refused)
{
    const size_t end = (size_t)(strstr(good, ".entry kernel_a(") - good) + 15;
    for (size_t size = 0; size <= end; size++) {
        cr_expect_not_null(check_copy(good, size, "kernel_a"), "%zu bytes", size);
    }
}
