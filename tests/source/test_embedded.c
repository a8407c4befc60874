/* SPDX-License-Identifier: MIT */
/* The embedded device sources and their digest. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/epilogue.h"
#include "source/embedded.h"

static bool is_embedded(const char *name, size_t size)
{
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        if (strlen(jg_embedded_files[i].name) == size &&
            memcmp(jg_embedded_files[i].name, name, size) == 0) {
            return true;
        }
    }
    return false;
}

Test(embedded, table_is_sorted_and_terminated)
{
    cr_assert_gt(jg_embedded_file_count, 0);
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        const struct jg_embedded_file *file = &jg_embedded_files[i];
        cr_expect_eq(strlen(file->text), file->size, "%s", file->name);
        cr_expect_eq(strncmp(file->name, "jg/", 3), 0, "%s", file->name);
        if (i > 0) {
            cr_expect_lt(strcmp(jg_embedded_files[i - 1].name, file->name), 0);
        }
    }
}

Test(embedded, texts_equal_the_files)
{
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        const struct jg_embedded_file *embedded = &jg_embedded_files[i];
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", JG_KERNEL_SRC, embedded->name);
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file, "%s", path);
        char *text = calloc(1, embedded->size + 2);
        const size_t size = fread(text, 1, embedded->size + 1, file);
        fclose(file);

        cr_expect_eq(size, embedded->size, "%s", path);
        cr_expect_arr_eq(text, embedded->text, embedded->size, "%s", path);
        free(text);
    }
}

Test(embedded, includes_name_embedded_files_only)
{
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        const struct jg_embedded_file *file = &jg_embedded_files[i];
        for (const char *at = file->text; (at = strstr(at, "#include ")) != NULL; at++) {
            const char *name = at + strlen("#include ");
            cr_expect_eq(*name, '<', "%s: %.40s", file->name, at);
            const char *end = strchr(name, '>');
            cr_assert_not_null(end, "%s", file->name);
            cr_expect(is_embedded(name + 1, (size_t)(end - name - 1)), "%s: %.60s",
                      file->name, at);
        }
    }
}

/* Refused as a name of what stands around the snippet. */
static void expect_refused(const char *name, int size)
{
    char text[128];
    struct jg_epilogue *epilogue = NULL;
    snprintf(text, sizeof(text), "d = acc; %.*s;", size, name);
    const jit_gemm_epilogue user = {
        .struct_size = sizeof(user), .name = "user", .source = text};
    cr_expect_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_ERR_COMPILE, "%s", text);
    cr_expect_not_null(strstr(jg_error_text(), "is a name of the kernel"), "%s: %s", text,
                       jg_error_text());
    jg_epilogue_destroy(epilogue);
}

/* The members of the struct whose function a snippet becomes. */
Test(embedded, names_around_the_snippet_are_refused)
{
    static const char *const before[] = {"struct ", "enum : jg::u32 { ", "enum : bool { ",
                                         "static JG_DEVICE void "};
    int count = 0;
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        if (strcmp(jg_embedded_files[i].name, "jg/epilogue/user_epilogue.cuh") != 0) {
            continue;
        }
        const char *const body =
            strstr(jg_embedded_files[i].text, "#define JG_EPILOGUE_BEGIN");
        cr_assert_not_null(body);
        for (size_t j = 0; j < sizeof(before) / sizeof(before[0]); j++) {
            for (const char *at = body; (at = strstr(at, before[j])) != NULL; count++) {
                at += strlen(before[j]);
                expect_refused(at, (int)strcspn(at, " ({"));
            }
        }
    }
    cr_expect_geq(count, 10, "%d members", count);
}

Test(digest, changes_with_every_part)
{
    const struct jg_embedded_file base[] = {{"jg/a.cuh", "int a;", 6},
                                            {"jg/b.cuh", "int b;", 6}};
    const struct jg_embedded_file text[] = {{"jg/a.cuh", "int a;", 6},
                                            {"jg/b.cuh", "int c;", 6}};
    const struct jg_embedded_file name[] = {{"jg/a.cuh", "int a;", 6},
                                            {"jg/c.cuh", "int b;", 6}};
    const struct jg_embedded_file order[] = {{"jg/b.cuh", "int b;", 6},
                                             {"jg/a.cuh", "int a;", 6}};
    const struct jg_hash want = jg_digest_files(base, 2);
    const struct jg_hash others[] = {jg_digest_files(text, 2), jg_digest_files(name, 2),
                                     jg_digest_files(order, 2), jg_digest_files(base, 1),
                                     jg_digest_files(base, 0)};

    const struct jg_hash again = jg_digest_files(base, 2);

    cr_expect(jg_hash_equal(&want, &again));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cr_expect(!jg_hash_equal(&want, &others[i]), "%zu", i);
    }
}

static void *read_digest(void *ret_hash)
{
    *(struct jg_hash *)ret_hash = jg_digest_headers();
    return NULL;
}

Test(digest, is_the_table_s_from_every_thread)
{
    const struct jg_hash want = jg_digest_files(jg_embedded_files, jg_embedded_file_count);
    struct jg_hash got[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, read_digest, &got[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }

    for (int i = 0; i < 4; i++) {
        cr_expect(jg_hash_equal(&want, &got[i]));
    }
}
