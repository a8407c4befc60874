/* SPDX-License-Identifier: MIT */
/* nvJitLink: found beside NVRTC, refused when it is old, described when it is absent. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cuda/nvjitlink.h"
#include "unit_maker.h"

static void copy_as_nvjitlink(const char *from, const char *folder)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/libnvJitLink.so.13", folder);
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
