/* SPDX-License-Identifier: MIT */
/* The look at code before it is trusted: the dummy's ELF file, whole, cut, and with every
 * byte changed; and PTX, with the expected kernel and without. Nothing is read past the
 * end. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "compile/code.h"
#include "compiler_dummy.h"

static struct jg_str make_elf(const char *entry)
{
    struct jg_compiler *dummy = NULL;
    struct jg_compile_result result;
    const struct jg_compile_request request = {
        .arch = "sm_90a", .text = "", .entry = entry};
    cr_assert_eq(jg_compiler_dummy_create(0, &dummy), JIT_GEMM_OK);
    cr_assert_eq(dummy->compile(dummy, &request, &result), JIT_GEMM_OK);
    dummy->destroy(dummy);
    struct jg_str elf = result.cubin;
    result.cubin = (struct jg_str){0};
    jg_compile_result_free(&result);
    return elf;
}

/* An exact allocation, so that the sanitizer sees a read past the end. */
static const char *check_elf_copy(const struct jg_str *elf, size_t size, size_t changed,
                                  unsigned char bits)
{
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, elf->data, size);
    if (changed < size) {
        copy[changed] = (char)((unsigned char)copy[changed] ^ bits);
    }
    const char *wrong = jg_code_check(JG_CODE_CUBIN, copy, size, "kernel_a");
    free(copy);
    return wrong;
}

Test(elf_check, whole_file_with_the_kernel_is_good)
{
    struct jg_str elf = make_elf("kernel_a");

    cr_expect_null(jg_code_check(JG_CODE_CUBIN, elf.data, elf.size, "kernel_a"));
    jg_str_free(&elf);
}

Test(elf_check, other_kernel_is_refused)
{
    struct jg_str elf = make_elf("kernel_a");

    cr_expect_str_eq(jg_code_check(JG_CODE_CUBIN, elf.data, elf.size, "kernel_b"),
                     "it has no kernel of the expected name");
    cr_expect_not_null(jg_code_check(JG_CODE_CUBIN, elf.data, elf.size, "kernel"));
    cr_expect_not_null(jg_code_check(JG_CODE_CUBIN, elf.data, elf.size, "kernel_ab"));
    jg_str_free(&elf);
}

Test(elf_check, every_cut_file_is_refused)
{
    struct jg_str elf = make_elf("kernel_a");

    for (size_t size = 0; size < elf.size; size++) {
        cr_expect_not_null(check_elf_copy(&elf, size, size, 0), "%zu of %zu bytes", size,
                           elf.size);
    }
    jg_str_free(&elf);
}

Test(elf_check, no_changed_byte_leads_outside)
{
    struct jg_str elf = make_elf("kernel_a");
    int refused = 0;

    for (size_t i = 0; i < elf.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            refused += check_elf_copy(&elf, elf.size, i, (unsigned char)(1 << bit)) != NULL;
        }
        refused += check_elf_copy(&elf, elf.size, i, 0xff) != NULL;
    }

    cr_expect_gt(refused, 100);
    jg_str_free(&elf);
}

Test(elf_check, wrong_header_fields_are_named)
{
    struct jg_str elf = make_elf("kernel_a");

    cr_expect_str_eq(check_elf_copy(&elf, elf.size, 0, 1), "it is not an ELF file");
    cr_expect_str_eq(check_elf_copy(&elf, elf.size, EI_CLASS, 3),
                     "it is not a little-endian 64-bit ELF file");
    cr_expect_str_eq(check_elf_copy(&elf, elf.size, offsetof(Elf64_Ehdr, e_machine), 1),
                     "it is not for a CUDA device");
    cr_expect_str_eq(
        check_elf_copy(&elf, elf.size, offsetof(Elf64_Ehdr, e_shoff) + 7, 0x80),
        "its section table is outside of the file");
    jg_str_free(&elf);
}

static const char good[] = "//\n// Generated\n//\n\n.version 9.0\n.target sm_90a\n"
                           ".address_size 64\n\n\t// .globl\tkernel_a\n"
                           ".visible .entry kernel_a(\n\t.param .u64 p\n)\n{\n}\n";

/* An exact allocation, so that the sanitizer sees a read past the end. */
static const char *check_ptx_copy(const char *text, size_t size, const char *entry)
{
    char *copy = calloc(size > 0 ? size : 1, 1);
    memcpy(copy, text, size);
    const char *wrong = jg_code_check(JG_CODE_PTX, copy, size, entry);
    free(copy);
    return wrong;
}

Test(ptx_check, text_with_the_kernel_is_good)
{
    cr_expect_null(check_ptx_copy(good, strlen(good), "kernel_a"));
}

Test(ptx_check, other_kernel_is_refused)
{
    static const char *const others[] = {"kernel_b", "kernel_", "kernel_aa", "ernel_a", ""};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const char *wrong = check_ptx_copy(good, strlen(good), others[i]);
        cr_expect_not_null(wrong, "%s", others[i]);
        cr_expect_str_eq(wrong, "it has no kernel of the expected name");
    }
}

Test(ptx_check, second_entry_is_found)
{
    static const char two[] = ".version 9.0\n.entry first()\n{\n}\n.entry second()\n{\n}\n";

    cr_expect_null(check_ptx_copy(two, strlen(two), "first"));
    cr_expect_null(check_ptx_copy(two, strlen(two), "second"));
}

Test(ptx_check, what_is_no_ptx_is_refused)
{
    cr_expect_str_eq(check_ptx_copy("", 0, "k"), "it is not text");
    cr_expect_str_eq(check_ptx_copy("\177ELF\2\1\1\0", 8, "k"), "it is not text");
    cr_expect_str_eq(check_ptx_copy(good, sizeof(good), "kernel_a"), "it is not text");
    cr_expect_str_eq(check_ptx_copy(".entry k()", 10, "k"), "it is not PTX");
}

Test(ptx_check, text_that_is_cut_before_the_kernel_is_refused)
{
    const size_t end = (size_t)(strstr(good, ".entry kernel_a(") - good) + 15;
    for (size_t size = 0; size <= end; size++) {
        cr_expect_not_null(check_ptx_copy(good, size, "kernel_a"), "%zu bytes", size);
    }
}
