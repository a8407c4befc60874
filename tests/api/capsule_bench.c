/* SPDX-License-Identifier: MIT */
#include "capsule_bench.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

#define HOME      "/srv/jane doe"
#define FILE_NAME "/srv/jane doe/secret/my_epilogue.cu"

const char *const capsule_names[CAPSULE_NAME_COUNT] = {
    "capsule.txt", "problem.manifest", "unit.cu", "log.txt", "error.txt", "launch.txt"};

void capsule_set_up(struct capsule_bench *bench)
{
    setenv("HOME", HOME, 1);
    jit_gemm_context_options options = api_fixture_options(&bench->fixture);
    snprintf(bench->capsules, sizeof(bench->capsules), "%s/capsules",
             bench->fixture.folder);
    options.capsule_dir = bench->capsules;
    api_fixture_open_with(&bench->fixture, &options, 0);
}

jit_gemm_status capsule_create(jit_gemm_context *context, const char *name,
                               const char *source, const char *file, const char *text)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = name,
                                        .source = source,
                                        .source_name = file,
                                        .first_line = 5};
    char whole[256];
    cr_assert_eq(jit_gemm_epilogue_register(context, &epilogue), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    snprintf(whole, sizeof(whole), "%s epilogue=%s", text, name);
    const jit_gemm_problem problem = api_problem(whole);
    jit_gemm *gemm = NULL;
    const jit_gemm_status status = jit_gemm_create(context, &problem, &gemm);
    jit_gemm_destroy(&gemm);
    return status;
}

const char capsule_broken[] = "float DUMMY_BROKEN = acc;\nd = DUMMY_BROKEN;";

jit_gemm_status capsule_break_down(struct capsule_bench *bench)
{
    return capsule_create(bench->fixture.context, "shown_name", capsule_broken, FILE_NAME,
                          "512x512x512 bf16");
}

int capsule_list(const char *folder, char *ret_path, size_t size)
{
    int count = 0;
    DIR *all = opendir(folder);
    for (struct dirent *entry = all != NULL ? readdir(all) : NULL; entry != NULL;
         entry = readdir(all)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (ret_path != NULL) {
                snprintf(ret_path, size, "%s/%s", folder, entry->d_name);
            }
        }
    }
    if (all != NULL) {
        closedir(all);
    }
    return count;
}

void capsule_leave(struct capsule_bench *bench, char *ret_path, size_t size)
{
    capsule_set_up(bench);
    cr_assert_eq(capsule_break_down(bench), JIT_GEMM_ERR_COMPILE);
    cr_assert_eq(capsule_list(bench->capsules, ret_path, size), 1);
}

struct jg_str capsule_read_file(const char *folder, const char *name)
{
    char path[512];
    struct jg_str text = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(jg_file_read(path, 1 << 22, &text), JIT_GEMM_OK, "%s", jg_error_text());
    return text;
}

void capsule_write_file(const char *folder, const char *name, const char *bytes,
                        size_t size)
{
    char path[512];
    struct jg_str text = {0};
    jg_str_add(&text, bytes, size);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(jg_file_replace(path, &text), JIT_GEMM_OK, "%s", jg_error_text());
    jg_str_free(&text);
}

void capsule_expect(const char *folder, const char *name, const char *text)
{
    struct jg_str file = capsule_read_file(folder, name);
    cr_expect_not_null(strstr(jg_str_text(&file), text), "'%s' is not in %s:\n%s", text,
                       name, jg_str_text(&file));
    jg_str_free(&file);
}

void capsule_edit(const char *folder, const char *name, const char *from, const char *to)
{
    struct jg_str old = capsule_read_file(folder, name);
    struct jg_str text = {0};
    const char *at = strstr(jg_str_text(&old), from);
    cr_assert_not_null(at, "'%s' is not in %s", from, name);
    jg_str_add(&text, old.data, (size_t)(at - old.data));
    jg_str_printf(&text, "%s%s", to, at + strlen(from));
    capsule_write_file(folder, name, text.data, text.size);
    jg_str_free(&text);
    jg_str_free(&old);
}

jit_gemm_status capsule_replay(struct capsule_bench *bench, const char *folder,
                               int *ret_outcome, char *report, size_t size)
{
    jit_gemm_replay_outcome outcome = JIT_GEMM_REPLAY_SAME_ERROR;
    const jit_gemm_status status = jit_gemm_capsule_replay(bench->fixture.context, folder,
                                                           &outcome, report, size, NULL);
    *ret_outcome = status == JIT_GEMM_OK ? (int)outcome : -1;
    return status;
}
