/* SPDX-License-Identifier: MIT */
/* The look at machine code, on the dummy's file: whole, cut, and with every byte changed.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compiler.h"
#include "compile/elf_check.h"

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
static const char *check_copy(const struct jg_str *elf, size_t size, size_t changed,
                              unsigned char bits)
{
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, elf->data, size);
    if (changed < size) {
        copy[changed] = (char)((unsigned char)copy[changed] ^ bits);
    }
    const char *wrong = jg_elf_check(copy, size, "kernel_a");
    free(copy);
    return wrong;
}

Test(elf_check, whole_file_with_the_kernel_is_good)
{
    struct jg_str elf = make_elf("kernel_a");

    cr_expect_null(jg_elf_check(elf.data, elf.size, "kernel_a"));
    jg_str_free(&elf);
}

Test(elf_check, other_kernel_is_refused)
{
    struct jg_str elf = make_elf("kernel_a");

    cr_expect_str_eq(jg_elf_check(elf.data, elf.size, "kernel_b"),
                     "it has no kernel of the expected name");
    cr_expect_not_null(jg_elf_check(elf.data, elf.size, "kernel"));
    cr_expect_not_null(jg_elf_check(elf.data, elf.size, "kernel_ab"));
    jg_str_free(&elf);
}

Test(elf_check, every_cut_file_is_refused)
{
    struct jg_str elf = make_elf("kernel_a");

    for (size_t size = 0; size < elf.size; size++) {
        cr_expect_not_null(check_copy(&elf, size, size, 0), "%zu of %zu bytes", size,
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
            refused += check_copy(&elf, elf.size, i, (unsigned char)(1 << bit)) != NULL;
        }
        refused += check_copy(&elf, elf.size, i, 0xff) != NULL;
    }

    cr_expect_gt(refused, 100);
    jg_str_free(&elf);
}

Test(elf_check, wrong_header_fields_are_named)
{
    struct jg_str elf = make_elf("kernel_a");

    cr_expect_str_eq(check_copy(&elf, elf.size, 0, 1), "it is not an ELF file");
    cr_expect_str_eq(check_copy(&elf, elf.size, EI_CLASS, 3),
                     "it is not a little-endian 64-bit ELF file");
    cr_expect_str_eq(check_copy(&elf, elf.size, offsetof(Elf64_Ehdr, e_machine), 1),
                     "it is not for a CUDA device");
    cr_expect_str_eq(check_copy(&elf, elf.size, offsetof(Elf64_Ehdr, e_shoff) + 7, 0x80),
                     "its section table is outside of the file");
    jg_str_free(&elf);
}
