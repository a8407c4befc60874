/* SPDX-License-Identifier: MIT */
/* Finding the compiler: places, versions, and signatures that need no library. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "compile/toolchain.h"
#include "cuda/nvrtc.h"
#include "unit_maker.h"

static jg_cache *open_cache(const char *folder)
{
    const jg_cache_options options = {.folder = folder, .no_sync = 1};
    jg_cache *cache = NULL;
    cr_assert_eq(jg_cache_open(&options, &cache, NULL, 0), JG_CACHE_OK);
    return cache;
}

static struct jg_toolchain *make_toolchain(const char *path)
{
    struct jg_toolchain *toolchain = NULL;
    cr_assert_eq(jg_toolchain_create(path, &toolchain), JIT_GEMM_OK, "%s", jg_error_text());
    return toolchain;
}

/* Copies a library, so that each test has a file of its own. */
static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    cr_assert(in != NULL && out != NULL, "%s to %s", from, to);
    char block[4096];
    for (size_t got; (got = fread(block, 1, sizeof(block), in)) > 0;) {
        cr_assert_eq(fwrite(block, 1, got, out), got);
    }
    fclose(in);
    cr_assert_eq(fclose(out), 0);
}

Test(toolchain, named_file_that_is_absent_is_no_compiler)
{
    struct jg_toolchain *toolchain = make_toolchain("/nonexistent/libnvrtc.so.13");
    struct jg_compiler *compiler = NULL;

    cr_expect_null(jg_toolchain_signature(toolchain, NULL, NULL));
    cr_expect_eq(jg_error_status(), JIT_GEMM_OK, "asking for the signature is no failure");
    cr_expect_eq(jg_toolchain_compiler(toolchain, NULL, NULL, &compiler),
                 JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_null(compiler);
    cr_expect_not_null(strstr(jg_error_text(), "/nonexistent/libnvrtc.so.13"), "%s",
                       jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), "JIT_GEMM_NVRTC"), "%s", jg_error_text());
    jg_toolchain_destroy(toolchain);
}

Test(toolchain, file_that_is_no_library_is_no_compiler)
{
    char folder[64];
    unit_make_folder(folder);
    char path[128];
    snprintf(path, sizeof(path), "%s/libnvrtc.so.13", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("no library\n", file);
    fclose(file);
    struct jg_toolchain *toolchain = make_toolchain(path);
    struct jg_compiler *compiler = NULL;

    cr_expect_eq(jg_toolchain_compiler(toolchain, NULL, NULL, &compiler),
                 JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_not_null(strstr(jg_error_text(), path), "%s", jg_error_text());
    jg_toolchain_destroy(toolchain);
    unit_remove_folder(folder);
}

Test(toolchain, old_version_is_refused_with_both_versions)
{
    struct jg_toolchain *toolchain = make_toolchain(JG_FAKE_NVRTC_OLD);
    struct jg_compiler *compiler = NULL;

    cr_expect_eq(jg_toolchain_compiler(toolchain, NULL, NULL, &compiler),
                 JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_not_null(strstr(jg_error_text(), "version 12.8"), "%s", jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), "12.9 or newer"), "%s", jg_error_text());
    jg_toolchain_destroy(toolchain);
}

Test(toolchain, old_version_is_not_opened_again)
{
    char folder[64];
    unit_make_folder(folder);
    jg_cache *cache = open_cache(folder);
    const pid_t child = fork();
    if (child == 0) {
        struct jg_toolchain *first = make_toolchain(JG_FAKE_NVRTC_OLD);
        _exit(jg_toolchain_signature(first, cache, NULL) == NULL ? 0 : 1);
    }
    int code = -1;
    waitpid(child, &code, 0);
    cr_assert_eq(code, 0);
    struct jg_toolchain *second = make_toolchain(JG_FAKE_NVRTC_OLD);
    struct jg_compiler *compiler = NULL;

    cr_expect_null(jg_toolchain_signature(second, cache, NULL));
    cr_expect_null(dlopen(JG_FAKE_NVRTC_OLD, RTLD_LAZY | RTLD_NOLOAD));
    cr_expect_eq(jg_toolchain_compiler(second, cache, NULL, &compiler),
                 JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_not_null(strstr(jg_error_text(), "version 12.8"), "%s", jg_error_text());
    jg_toolchain_destroy(second);
    jg_cache_close(cache);
    unit_remove_folder(folder);
}

Test(toolchain, incomplete_library_names_the_function)
{
    struct jg_toolchain *toolchain = make_toolchain(JG_FAKE_NVRTC_INCOMPLETE);
    struct jg_compiler *compiler = NULL;

    cr_expect_eq(jg_toolchain_compiler(toolchain, NULL, NULL, &compiler),
                 JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_not_null(strstr(jg_error_text(), "nvrtcGetPTX"), "%s", jg_error_text());
    jg_toolchain_destroy(toolchain);
}

Test(toolchain, missing_builtins_are_no_compiler_not_a_bug)
{
    struct jg_toolchain *toolchain = make_toolchain(JG_FAKE_NVRTC_NO_BUILTINS);
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_compiler(toolchain, NULL, NULL, &compiler), JIT_GEMM_OK, "%s",
                 jg_error_text());
    const struct jg_compile_request request = {.arch = "sm_90a", .text = "", .entry = "k"};
    struct jg_compile_result result;

    cr_expect_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_ERR_NO_COMPILER);
    cr_expect_not_null(strstr(jg_error_text(), "libnvrtc-builtins.so.99.0"), "%s",
                       jg_error_text());
    jg_toolchain_destroy(toolchain);
}

Test(toolchain, compiler_s_own_failure_is_internal_with_its_log)
{
    struct jg_toolchain *toolchain = make_toolchain(JG_FAKE_NVRTC_BROKEN);
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_compiler(toolchain, NULL, NULL, &compiler), JIT_GEMM_OK);
    const struct jg_compile_request request = {.arch = "sm_90a", .text = "", .entry = "k"};
    struct jg_compile_result result;

    cr_expect_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_ERR_INTERNAL);
    cr_expect_not_null(strstr(jg_error_text(), "nvrtcCompileProgram failed: FAKE_ERROR"),
                       "%s", jg_error_text());
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    cr_expect_str_eq(jg_diagnostics_log(diagnostics), "fake log\n");
    jg_diagnostics_destroy(&diagnostics);
    jg_toolchain_destroy(toolchain);
}

Test(toolchain, folder_is_searched_and_the_usable_version_wins)
{
    char folder[64];
    unit_make_folder(folder);
    char old[128];
    char good[128];
    snprintf(old, sizeof(old), "%s/libnvrtc.so.13", folder);
    snprintf(good, sizeof(good), "%s/libnvrtc.so.12", folder);
    copy_file(JG_FAKE_NVRTC_OLD, old);
    copy_file(JG_FAKE_NVRTC_BROKEN, good);
    struct jg_toolchain *toolchain = make_toolchain(folder);
    struct jg_compiler *compiler = NULL;

    cr_assert_eq(jg_toolchain_compiler(toolchain, NULL, NULL, &compiler), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_expect_str_eq(compiler->path, good);
    cr_expect_eq(strncmp(compiler->signature, "nvrtc 98.0 build ", 17), 0, "%s",
                 compiler->signature);
    jg_toolchain_destroy(toolchain);
    unit_remove_folder(folder);
}

Test(toolchain, environment_names_the_library)
{
    cr_assert_eq(setenv("JIT_GEMM_NVRTC", JG_FAKE_NVRTC_BROKEN, 1), 0);
    struct jg_toolchain *by_environment = make_toolchain(NULL);
    struct jg_toolchain *by_argument = make_toolchain("/nonexistent/x.so");

    const char *signature = jg_toolchain_signature(by_environment, NULL, NULL);

    cr_assert_not_null(signature);
    cr_expect_not_null(strstr(signature, "nvrtc 98.0"), "%s", signature);
    cr_expect_null(jg_toolchain_signature(by_argument, NULL, NULL),
                   "the argument goes before the environment");
    jg_toolchain_destroy(by_environment);
    jg_toolchain_destroy(by_argument);
}

Test(toolchain, usual_places_begin_with_cuda_home_and_end_with_bare_names)
{
    char folder[64];
    unit_make_folder(folder);
    char library[128];
    snprintf(library, sizeof(library), "%s/lib64", folder);
    cr_assert_eq(mkdir(library, 0700), 0);
    snprintf(library, sizeof(library), "%s/lib64/libnvrtc.so.12", folder);
    copy_file(JG_FAKE_NVRTC_OLD, library);
    cr_assert_eq(unsetenv("JIT_GEMM_NVRTC"), 0);
    cr_assert_eq(setenv("CUDA_HOME", folder, 1), 0);
    struct jg_library_paths places = {0};

    cr_assert_eq(jg_nvrtc_find(NULL, &places), JIT_GEMM_OK);

    cr_assert_geq(places.count, 3);
    cr_expect_str_eq(places.paths[0], library);
    cr_expect_str_eq(places.paths[places.count - 2], "libnvrtc.so.13");
    cr_expect_str_eq(places.paths[places.count - 1], "libnvrtc.so.12");
    const char *searched = jg_str_text(&places.searched);
    cr_expect_eq(strncmp(searched, folder, strlen(folder)), 0, "%s", searched);
    cr_expect_not_null(strstr(searched, "/usr/local/cuda/lib64, /opt/cuda/lib64"), "%s",
                       searched);
    jg_library_paths_free(&places);
    unit_remove_folder(folder);
}

/* Makes the folders of a path below `root`, and copies a library into the last one. */
static void put_library(const char *root, const char *path, char *ret_library, size_t size)
{
    snprintf(ret_library, size, "%s/%s", root, path);
    for (char *at = ret_library + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(ret_library, 0755);
        *at = '/';
    }
    copy_file(JG_FAKE_NVRTC_OLD, ret_library);
}

static bool has_path(const struct jg_library_paths *places, const char *path)
{
    for (size_t i = 0; i < places->count; i++) {
        if (strcmp(places->paths[i], path) == 0) {
            return true;
        }
    }
    return false;
}

Test(toolchain, wheels_of_python_are_found_where_packages_are)
{
    static const struct {
        const char *variable, *path;
    } rows[] = {
        {"VIRTUAL_ENV", "lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
        {"CONDA_PREFIX",
         "lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
        {"HOME", ".local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
    };
    cr_assert_eq(unsetenv("JIT_GEMM_NVRTC"), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char folder[64], library[192];
        unit_make_folder(folder);
        put_library(folder, rows[i].path, library, sizeof(library));
        cr_assert_eq(setenv(rows[i].variable, folder, 1), 0);
        struct jg_library_paths places = {0};

        cr_assert_eq(jg_nvrtc_find(NULL, &places), JIT_GEMM_OK);
        const bool is_found = has_path(&places, library);
        jg_library_paths_free(&places);
        cr_assert_eq(chmod(library, 0666), 0);
        cr_assert_eq(jg_nvrtc_find(NULL, &places), JIT_GEMM_OK);

        cr_expect(is_found, "%s", rows[i].path);
        cr_expect_not(has_path(&places, library), "%s", rows[i].path);
        cr_expect_not_null(strstr(jg_str_text(&places.searched), "is not trusted"));
        cr_expect_str_eq(places.paths[places.count - 1], "libnvrtc.so.12");
        jg_library_paths_free(&places);
        cr_assert_eq(unsetenv(rows[i].variable), 0);
        unit_remove_folder(folder);
    }
}

Test(toolchain, a_root_is_no_pattern)
{
    char folder[64], root[96], library[192];
    unit_make_folder(folder);
    snprintf(root, sizeof(root), "%s/[1]*", folder);
    cr_assert_eq(mkdir(root, 0755), 0);
    put_library(root, "lib/python3.12/dist-packages/nvidia/cu13/lib/libnvrtc.so.13",
                library, sizeof(library));
    cr_assert_eq(unsetenv("JIT_GEMM_NVRTC"), 0);
    cr_assert_eq(setenv("VIRTUAL_ENV", root, 1), 0);
    struct jg_library_paths places = {0};

    cr_assert_eq(jg_nvrtc_find(NULL, &places), JIT_GEMM_OK);

    cr_expect(has_path(&places, library), "%s", library);
    jg_library_paths_free(&places);
    unit_remove_folder(folder);
}

Test(toolchain, a_library_that_others_may_write_is_passed)
{
    char folder[64], place[96], library[128];
    unit_make_folder(folder);
    snprintf(place, sizeof(place), "%s/lib64", folder);
    cr_assert_eq(mkdir(place, 0700), 0);
    snprintf(library, sizeof(library), "%s/libnvrtc.so.12", place);
    copy_file(JG_FAKE_NVRTC_OLD, library);
    cr_assert_eq(unsetenv("JIT_GEMM_NVRTC"), 0);
    cr_assert_eq(setenv("CUDA_HOME", folder, 1), 0);
    static const struct {
        mode_t mode, folder;
        bool is_taken;
    } rows[] = {{0644, 0755, true},
                {0666, 0755, false},
                {0664, 0755, false},
                {0644, 0777, false},
                {0644, 0775, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_library_paths places = {0};
        cr_assert_eq(chmod(library, rows[i].mode), 0);
        cr_assert_eq(chmod(place, rows[i].folder), 0);

        cr_assert_eq(jg_nvrtc_find(NULL, &places), JIT_GEMM_OK);

        cr_expect_eq(strcmp(places.paths[0], library) == 0, rows[i].is_taken, "row %zu", i);
        cr_expect_eq(strstr(jg_str_text(&places.searched), "not trusted") == NULL,
                     rows[i].is_taken, "%s", jg_str_text(&places.searched));
        jg_library_paths_free(&places);
    }
    unit_remove_folder(folder);
}

Test(toolchain, every_failing_allocation_is_no_memory)
{
    int failures = 0;
    bool is_finished = false;
    for (long number = 1; !is_finished && number < 500; number++) {
        struct jg_toolchain *toolchain = NULL;
        struct jg_compiler *compiler = NULL;
        const long before = jg_alloc_count();
        jg_alloc_fail_at(number, 0);
        jit_gemm_status status = jg_toolchain_create(JG_FAKE_NVRTC_BROKEN, &toolchain);
        if (status == JIT_GEMM_OK) {
            status = jg_toolchain_compiler(toolchain, NULL, NULL, &compiler);
        }
        is_finished = jg_alloc_count() - before < number;
        jg_alloc_fail_at(0, 0);
        if (status != JIT_GEMM_OK) {
            failures++;
            cr_expect_eq(status, JIT_GEMM_ERR_NO_MEMORY, "%ld: %s", number,
                         jg_error_text());
        } else {
            cr_expect_not_null(compiler);
        }
        jg_toolchain_destroy(toolchain);
    }
    cr_expect(is_finished);
    cr_expect_geq(failures, 5);
}

Test(toolchain, signature_from_the_cache_opens_no_library)
{
    char folder[64];
    unit_make_folder(folder);
    jg_cache *cache = open_cache(folder);
    const pid_t child = fork();
    if (child == 0) {
        struct jg_toolchain *first = make_toolchain(JG_FAKE_NVRTC_BROKEN);
        _exit(jg_toolchain_signature(first, cache, NULL) != NULL ? 0 : 1);
    }
    int code = -1;
    waitpid(child, &code, 0);
    cr_assert_eq(code, 0);
    struct jg_toolchain *second = make_toolchain(JG_FAKE_NVRTC_BROKEN);

    const char *signature = jg_toolchain_signature(second, cache, NULL);

    cr_assert_not_null(signature);
    cr_expect_null(dlopen(JG_FAKE_NVRTC_BROKEN, RTLD_LAZY | RTLD_NOLOAD));
    struct jg_compiler *compiler = NULL;
    cr_expect_eq(jg_toolchain_compiler(second, cache, NULL, &compiler), JIT_GEMM_OK);
    cr_expect_str_eq(compiler->signature, signature);
    jg_toolchain_destroy(second);
    jg_cache_close(cache);
    unit_remove_folder(folder);
}

Test(toolchain, changed_file_has_another_fingerprint)
{
    char folder[64];
    unit_make_folder(folder);
    char path[128];
    snprintf(path, sizeof(path), "%s/libnvrtc.so.13", folder);
    copy_file(JG_FAKE_NVRTC_OLD, path);
    struct jg_str first = {0};
    struct jg_str same = {0};
    struct jg_str second = {0};
    cr_assert(jg_library_paths_fingerprint(path, &first));
    cr_assert(jg_library_paths_fingerprint(path, &same));
    const struct timespec times[2] = {{1, 0}, {1, 5}};

    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    cr_assert(jg_library_paths_fingerprint(path, &second));

    cr_expect_str_eq(first.data, same.data);
    cr_expect_str_neq(first.data, second.data);
    cr_expect(!jg_library_paths_fingerprint("libnvrtc.so.13", &same));
    cr_expect(!jg_library_paths_fingerprint(folder, &same));
    jg_str_free(&first);
    jg_str_free(&same);
    jg_str_free(&second);
    unit_remove_folder(folder);
}

Test(toolchain, builds_of_one_version_have_different_signatures)
{
    struct jg_toolchain *first = make_toolchain(JG_FAKE_NVRTC_BROKEN);
    struct jg_toolchain *second = make_toolchain(JG_FAKE_NVRTC_BROKEN_TOO);

    const char *one = jg_toolchain_signature(first, NULL, NULL);
    const char *other = jg_toolchain_signature(second, NULL, NULL);

    cr_assert(one != NULL && other != NULL);
    cr_expect_eq(strncmp(one, other, 17), 0, "the version is the same");
    cr_expect_str_neq(one, other);
    cr_expect_null(strstr(one, "build hash-"), "%s", one);
    cr_expect_not_null(strstr(other, "build hash-"), "it has no build id: %s", other);
    jg_toolchain_destroy(first);
    jg_toolchain_destroy(second);
}

Test(toolchain, signatures_are_remembered_by_number)
{
    char folder[64];
    unit_make_folder(folder);
    jg_cache *cache = open_cache(folder);
    struct jg_str text = {0};

    cr_expect(!jg_toolchain_known(cache, 0, &text));
    jg_toolchain_remember(cache, NULL, "one");
    jg_toolchain_remember(cache, NULL, "two");
    jg_toolchain_remember(cache, NULL, "one");

    cr_expect(jg_toolchain_known(cache, 0, &text));
    cr_expect(jg_toolchain_known(cache, 1, &text));
    cr_expect(!jg_toolchain_known(cache, 2, &text));
    cr_expect_str_eq(jg_str_text(&text), "onetwo");
    jg_str_free(&text);
    jg_cache_close(cache);
    unit_remove_folder(folder);
}

static void collect_line(void *user, jit_gemm_severity severity, const char *text)
{
    jg_str_printf(user, "%d %s\n", (int)severity, text);
}

Test(toolchain, full_list_of_signatures_is_a_warning)
{
    char folder[64];
    unit_make_folder(folder);
    jg_cache *cache = open_cache(folder);
    struct jg_str lines = {0};
    struct jg_log *log =
        jg_log_create(collect_line, &lines, JIT_GEMM_SEVERITY_WARNING, NULL);

    for (int i = 0; i <= JG_TOOLCHAIN_KNOWN_MAX; i++) {
        char signature[32];
        snprintf(signature, sizeof(signature), "number %d", i);
        cr_expect_eq(lines.size, 0);
        jg_toolchain_remember(cache, log, signature);
    }

    cr_expect_not_null(
        strstr(jg_str_text(&lines), "1 in the cache folder 16 compilers are remembered"));
    jg_log_destroy(log);
    jg_str_free(&lines);
    jg_cache_close(cache);
    unit_remove_folder(folder);
}

Test(toolchain, null_cache_remembers_nothing)
{
    struct jg_str text = {0};

    jg_toolchain_remember(NULL, NULL, "one");

    cr_expect(!jg_toolchain_known(NULL, 0, &text));
}
