/* SPDX-License-Identifier: MIT */
/* The key: every field counts, no two field lists share material. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/key.h"
#include "compile/stored.h"

static struct jg_key_parts make_parts(void)
{
    struct jg_key_parts parts = {
        .source_format = 1,
        .version = "0.1.0",
        .compiler_signature = "nvrtc 13.0 build 0123; -std=c++17",
        .arch = "sm_90a",
        .code_kind = "cubin",
        .entry = "jit_gemm_sm90a_bf16_bf16_128x256_plain",
        .text = "struct Config {};\n",
        .text_size = 18,
    };
    for (int i = 0; i < 16; i++) {
        parts.headers.bytes[i] = (unsigned char)i;
    }
    return parts;
}

static struct jg_key make_key(const struct jg_key_parts *parts)
{
    struct jg_key key = {0};
    cr_assert_eq(jg_key_from_parts(parts, &key), JIT_GEMM_OK);
    return key;
}

/* Rewritten when JG_UPDATE_GOLDEN is set: then every kernel on disk is lost, so raise a
 * version instead of changing the form by accident. */
static const char golden_file[] = JG_GOLDEN_DIR "/source_key.hex";

static void update_golden_if_asked(const struct jg_str *text)
{
    if (getenv("JG_UPDATE_GOLDEN") != NULL) {
        FILE *file = fopen(golden_file, "w");
        cr_assert_not_null(file);
        fputs(jg_str_text(text), file);
        cr_assert_eq(fclose(file), 0);
    }
}

Test(key, material_equals_the_golden_file)
{
    const struct jg_key_parts parts = make_parts();

    struct jg_key key = make_key(&parts);

    struct jg_str got = {0};
    for (size_t i = 0; i < key.material.size; i++) {
        jg_str_printf(&got, "%02x%s", (unsigned char)key.material.data[i],
                      i % 32 == 31 ? "\n" : "");
    }
    char hex[33];
    jg_hash_hex(&key.hash, hex);
    jg_str_printf(&got, "\nname %s\n", hex);
    update_golden_if_asked(&got);
    char want[4096] = "";
    FILE *file = fopen(golden_file, "r");
    cr_assert_not_null(file);
    const size_t size = fread(want, 1, sizeof(want) - 1, file);
    fclose(file);
    cr_assert_lt(size, sizeof(want) - 1);
    cr_expect_str_eq(jg_str_text(&got), want, "the form of the key changed:\n%s",
                     jg_str_text(&got));
    jg_str_free(&got);
    jg_key_free(&key);
}

Test(key, every_field_changes_it)
{
    enum { FIELDS = 9 };
    struct jg_key_parts parts[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        parts[i] = make_parts();
    }
    parts[1].source_format = 2;
    parts[2].version = "0.1.1";
    parts[3].headers.bytes[15] ^= 1;
    parts[4].compiler_signature = "nvrtc 13.0 build 0124; -std=c++17";
    parts[5].arch = "sm_90";
    parts[6].entry = "jit_gemm_sm90a_bf16_bf16_128x256_plaim";
    parts[7].text = "struct Config {}; ";
    parts[8].code_kind = "ptx";

    struct jg_key keys[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        keys[i] = make_key(&parts[i]);
    }

    for (int i = 0; i < FIELDS; i++) {
        for (int j = i + 1; j < FIELDS; j++) {
            cr_expect(!jg_hash_equal(&keys[i].hash, &keys[j].hash), "%d and %d", i, j);
        }
    }
    for (int i = 0; i < FIELDS; i++) {
        jg_key_free(&keys[i]);
    }
}

Test(key, text_does_not_slide_between_fields)
{
    struct jg_key_parts parts = make_parts();
    parts.arch = "ab";
    parts.entry = "c";
    struct jg_key first = make_key(&parts);
    parts.arch = "a";
    parts.entry = "bc";
    struct jg_key second = make_key(&parts);

    cr_expect(!jg_hash_equal(&first.hash, &second.hash));
    cr_expect_eq(first.material.size, second.material.size);
    cr_expect_neq(memcmp(first.material.data, second.material.data, first.material.size),
                  0);
    jg_key_free(&first);
    jg_key_free(&second);
}

Test(key, same_parts_give_the_same_key)
{
    const struct jg_key_parts parts = make_parts();

    struct jg_key first = make_key(&parts);
    struct jg_key second = make_key(&parts);

    cr_expect(jg_hash_equal(&first.hash, &second.hash));
    cr_expect_eq(first.material.size, second.material.size);
    cr_expect_arr_eq(first.material.data, second.material.data, first.material.size);
    jg_key_free(&first);
    jg_key_free(&second);
}

/* An exact allocation, so that the sanitizer sees a read past the end. */
static const char *check_copy(const struct jg_key *key, size_t size, const char *code)
{
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, key->material.data, size);
    const char *wrong = jg_stored_check(copy, size, code, strlen(code));
    free(copy);
    return wrong;
}

static const char ptx[] = ".version 9.0\n.visible .entry kernel_a()\n{\n}\n";

Test(stored, code_is_looked_at_as_its_key_says)
{
    struct jg_key_parts parts = make_parts();
    parts.code_kind = "ptx";
    parts.entry = "kernel_a";
    struct jg_key good = make_key(&parts);
    parts.entry = "kernel_b";
    struct jg_key other_kernel = make_key(&parts);
    parts.code_kind = "cubin";
    struct jg_key other_form = make_key(&parts);

    cr_expect_null(check_copy(&good, good.material.size, ptx));
    cr_expect_str_eq(check_copy(&other_kernel, other_kernel.material.size, ptx),
                     "it has no kernel of the expected name");
    cr_expect_str_eq(check_copy(&other_form, other_form.material.size, ptx),
                     "it is shorter than an ELF header");
    jg_key_free(&good);
    jg_key_free(&other_kernel);
    jg_key_free(&other_form);
}

/* The small records of compilers are entries of the same folder. */
Test(stored, what_is_no_kernel_is_left_alone)
{
    cr_expect_null(jg_stored_check(NULL, 0, "anything", 8));
    cr_expect_null(jg_stored_check("jit_gemm toolchain", 18, "anything", 8));
}

Test(stored, material_that_is_cut_anywhere_is_refused_or_no_kernel)
{
    struct jg_key_parts parts = make_parts();
    parts.code_kind = "ptx";
    parts.entry = "kernel_a";
    struct jg_key key = make_key(&parts);
    int refused = 0;

    for (size_t size = 0; size < key.material.size - parts.text_size - 12; size++) {
        refused += check_copy(&key, size, ptx) != NULL;
    }

    cr_expect_gt(refused, 50);
    jg_key_free(&key);
}
