/* SPDX-License-Identifier: MIT */
/* nvJitLink: found beside NVRTC, refused when it is old, described when it is absent. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "compile/toolchain.h"
#include "cuda/nvjitlink.h"
#include "unit_maker.h"

static void copy_library(const char *from, const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(path, "wb");
    cr_assert(in != NULL && out != NULL, "%s to %s", from, path);
    char block[4096];
    for (size_t got; (got = fread(block, 1, sizeof(block), in)) > 0;) {
        cr_assert_eq(fwrite(block, 1, got, out), got);
    }
    fclose(in);
    cr_assert_eq(fclose(out), 0);
}

static void copy_as_nvjitlink(const char *from, const char *folder)
{
    copy_library(from, folder, "libnvJitLink.so.13");
}

Test(nvjitlink, library_beside_nvrtc_is_taken)
{
    char folder[64];
    char beside[128];
    unit_make_folder(folder);
    copy_as_nvjitlink(JG_FAKE_NVJITLINK_FUTURE, folder);
    snprintf(beside, sizeof(beside), "%s/libnvrtc.so.13", folder);
    struct jg_nvjitlink linker = {0};
    struct jg_str reasons = {0};

    cr_assert_eq(jg_nvjitlink_open(beside, &linker, &reasons), JIT_GEMM_OK);

    cr_expect_eq(linker.version, 99070);
    cr_expect_eq(strncmp(jg_str_text(&linker.path), folder, strlen(folder)), 0);
    jg_nvjitlink_close(&linker);
    jg_str_free(&reasons);
    unit_remove_folder(folder);
}

static bool has_linker_beside(const char *compiler)
{
    const char *slash = strrchr(compiler, '/');
    const int folder_size = slash != NULL ? (int)(slash - compiler) : 0;
    char path[PATH_MAX];
    bool is_there = false;
    for (int release = 12; release <= 13; release++) {
        snprintf(path, sizeof(path), "%.*s/libnvJitLink.so.%d", folder_size, compiler,
                 release);
        is_there |= access(path, R_OK) == 0;
    }
    return is_there;
}

/* The first place has an NVRTC that is too old, and a linker beside it. */
Test(nvjitlink, library_beside_an_nvrtc_that_is_passed_is_not_taken_first)
{
    char folder[64], place[96];
    unit_make_folder(folder);
    snprintf(place, sizeof(place), "%s/lib64", folder);
    cr_assert_eq(mkdir(place, 0700), 0);
    copy_library(JG_FAKE_NVRTC_OLD, place, "libnvrtc.so.12");
    copy_as_nvjitlink(JG_FAKE_NVJITLINK_FUTURE, place);
    cr_assert_eq(unsetenv("JIT_GEMM_NVRTC"), 0);
    cr_assert_eq(setenv("CUDA_HOME", folder, 1), 0);
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    const struct jg_nvjitlink *linker = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK ||
        !has_linker_beside(compiler->path)) {
        cr_skip_test("NVRTC is needed, and nvJitLink beside it");
    }

    cr_assert_eq(jg_toolchain_linker(toolchain, &linker), JIT_GEMM_OK, "%s",
                 jg_error_text());

    cr_expect_neq(strncmp(jg_str_text(&linker->path), folder, strlen(folder)), 0,
                  "%s is not beside %s", jg_str_text(&linker->path), compiler->path);
    jg_toolchain_destroy(toolchain);
    unit_remove_folder(folder);
}

Test(nvjitlink, old_library_is_passed_over_with_its_version)
{
    char folder[64];
    char beside[128];
    unit_make_folder(folder);
    copy_as_nvjitlink(JG_FAKE_NVJITLINK_OLD, folder);
    snprintf(beside, sizeof(beside), "%s/libnvrtc.so.13", folder);
    struct jg_nvjitlink linker = {0};
    struct jg_str reasons = {0};

    /* A newer one may be installed on this machine; the old one is never taken. */
    const jit_gemm_status status = jg_nvjitlink_open(beside, &linker, &reasons);

    cr_expect_not_null(strstr(jg_str_text(&reasons), "version 12.4 is too old, 12.9"), "%s",
                       jg_str_text(&reasons));
    if (status == JIT_GEMM_OK) {
        cr_expect_geq(linker.version, JG_NVJITLINK_MIN_VERSION);
        cr_expect_neq(strncmp(jg_str_text(&linker.path), folder, strlen(folder)), 0);
        jg_nvjitlink_close(&linker);
    } else {
        cr_expect_eq(status, JIT_GEMM_ERR_NO_COMPILER);
    }
    cr_expect_eq(jg_error_status(), JIT_GEMM_OK, "looking is no failure");
    jg_str_free(&reasons);
    unit_remove_folder(folder);
}

Test(nvjitlink, library_without_a_function_is_passed_over_by_name)
{
    char folder[64];
    char beside[128];
    unit_make_folder(folder);
    copy_as_nvjitlink(JG_FAKE_NVJITLINK_INCOMPLETE, folder);
    snprintf(beside, sizeof(beside), "%s/libnvrtc.so.13", folder);
    struct jg_nvjitlink linker = {0};
    struct jg_str reasons = {0};

    const jit_gemm_status status = jg_nvjitlink_open(beside, &linker, &reasons);

    cr_expect_not_null(strstr(jg_str_text(&reasons), "has no function nvJitLinkGetInfoLog"),
                       "%s", jg_str_text(&reasons));
    if (status == JIT_GEMM_OK) {
        cr_expect_neq(linker.version, 99080);
        jg_nvjitlink_close(&linker);
    }
    jg_str_free(&reasons);
    unit_remove_folder(folder);
}
