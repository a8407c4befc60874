/* SPDX-License-Identifier: MIT */
/* status, hash, bytes, env, log, math. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/math.h"
#include "base/str.h"

Test(status, every_code_has_its_own_name_and_a_sentence)
{
    static const jit_gemm_status codes[] = {
        JIT_GEMM_OK,
        JIT_GEMM_ERR_ARGUMENT,
        JIT_GEMM_ERR_UNSUPPORTED,
        JIT_GEMM_ERR_NO_MEMORY,
        JIT_GEMM_ERR_NO_DRIVER,
        JIT_GEMM_ERR_NO_COMPILER,
        JIT_GEMM_ERR_DEVICE,
        JIT_GEMM_ERR_COMPILE,
        JIT_GEMM_ERR_LINK,
        JIT_GEMM_ERR_LOAD,
        JIT_GEMM_ERR_LAUNCH,
        JIT_GEMM_ERR_NOT_CACHED,
        JIT_GEMM_ERR_CAPTURE,
        JIT_GEMM_ERR_VERSION,
        JIT_GEMM_ERR_CANCELLED,
        JIT_GEMM_ERR_IO,
        JIT_GEMM_ERR_BUDGET,
        JIT_GEMM_ERR_INTERNAL,
    };
    const size_t count = sizeof(codes) / sizeof(codes[0]);
    for (size_t i = 0; i < count; i++) {
        cr_expect_str_neq(jg_status_name(codes[i]), "UNKNOWN");
        cr_expect_gt(strlen(jg_status_text(codes[i])), 5);
        for (size_t j = 0; j < i; j++) {
            cr_expect_str_neq(jg_status_name(codes[i]), jg_status_name(codes[j]));
        }
    }
    cr_expect_str_eq(jg_status_name(JIT_GEMM_ERR_UNSUPPORTED), "UNSUPPORTED");
    cr_expect_str_eq(jg_status_name((jit_gemm_status)-1000), "UNKNOWN");
    cr_expect_not_null(jg_status_text((jit_gemm_status)-1000));
}

Test(hash, is_canonical_xxh3_128)
{
    /* Published value of XXH3-128 of nothing. */
    const struct jg_hash empty = jg_hash_bytes("", 0);
    char hex[33];

    jg_hash_hex(&empty, hex);

    cr_expect_str_eq(hex, "99aa06d3014798d86001c324468d497f");
}

Test(hash, equal_bytes_are_equal_and_others_are_not)
{
    const struct jg_hash a = jg_hash_bytes("abc", 3);
    const struct jg_hash same = jg_hash_bytes("abcd", 3);
    const struct jg_hash other = jg_hash_bytes("abd", 3);

    cr_expect(jg_hash_equal(&a, &same));
    cr_expect_not(jg_hash_equal(&a, &other));
}

Test(bytes, integers_are_little_endian_and_fields_carry_tag_and_length)
{
    struct jg_str out = {0};

    jg_bytes_u32(&out, 0x01020304u);
    jg_bytes_u64(&out, 0x1122334455667788u);
    jg_bytes_field(&out, 7, "ab", 2);

    static const unsigned char expected[] = {
        4, 3, 2, 1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 7,
        0, 0, 0, 2, 0,    0,    0,    0,    0,    0,    0,    'a',  'b'};
    cr_assert_eq(out.size, sizeof(expected));
    cr_expect_eq(memcmp(out.data, expected, sizeof(expected)), 0);
    jg_str_free(&out);
}

Test(env, each_variable_is_read_by_its_name)
{
    static const char *const names[JG_ENV_COUNT] = {
        [JG_ENV_CACHE_DIR] = "JIT_GEMM_CACHE_DIR",
        [JG_ENV_ARCH] = "JIT_GEMM_ARCH",
        [JG_ENV_DRIVER] = "JIT_GEMM_DRIVER",
        [JG_ENV_NVRTC] = "JIT_GEMM_NVRTC",
        [JG_ENV_DUMP_DIR] = "JIT_GEMM_DUMP_DIR",
        [JG_ENV_CACHE_LIMIT] = "JIT_GEMM_CACHE_LIMIT",
        [JG_ENV_CACHE_ROOTS] = "JIT_GEMM_CACHE_ROOTS",
        [JG_ENV_PLAN_FOR] = "JIT_GEMM_PLAN_FOR",
        [JG_ENV_CAPSULES] = "JIT_GEMM_CAPSULES",
        [JG_ENV_CACHE_KEYS] = "JIT_GEMM_CACHE_KEYS",
        [JG_ENV_CACHE_LEAST_SERIAL] = "JIT_GEMM_CACHE_LEAST_SERIAL",
        [JG_ENV_LOG] = "JIT_GEMM_LOG",
        [JG_ENV_NVTX] = "JIT_GEMM_NVTX"};
    for (int i = 0; i < JG_ENV_COUNT; i++) {
        cr_assert_eq(setenv(names[i], names[i], 1), 0);
    }
    for (int i = 0; i < JG_ENV_COUNT; i++) {
        cr_expect_str_eq(jg_env_get((enum jg_env)i), names[i]);
    }
}

Test(env, value_is_read_and_empty_counts_as_unset)
{
    unsetenv("JIT_GEMM_ARCH");
    cr_expect_null(jg_env_get(JG_ENV_ARCH));

    setenv("JIT_GEMM_ARCH", "", 1);
    cr_expect_null(jg_env_get(JG_ENV_ARCH));

    setenv("JIT_GEMM_ARCH", "sm_90a", 1);
    cr_assert_not_null(jg_env_get(JG_ENV_ARCH));
    cr_expect_str_eq(jg_env_get(JG_ENV_ARCH), "sm_90a");
}

struct received {
    int count;
    jit_gemm_severity severity;
    char last[2048];
    size_t last_length;
};

static void receive_line(void *user, jit_gemm_severity severity, const char *text)
{
    struct received *received = user;
    received->count++;
    received->severity = severity;
    received->last_length = strlen(text);
    strncpy(received->last, text, sizeof(received->last) - 1);
}

Test(log, null_logger_and_null_callback_are_silent)
{
    cr_redirect_stdout();
    cr_redirect_stderr();
    struct jg_log *log = jg_log_create(NULL, NULL, JIT_GEMM_SEVERITY_DEBUG, NULL);

    jg_log_line(NULL, JIT_GEMM_SEVERITY_ERROR, "nothing %d", 1);
    jg_log_line(log, JIT_GEMM_SEVERITY_ERROR, "nothing %d", 1);

    jg_log_destroy(log);
    jg_log_destroy(NULL);
    fflush(stdout);
    fflush(stderr);
    cr_expect_stdout_eq_str("");
    cr_expect_stderr_eq_str("");
}

Test(log, lines_below_the_level_are_dropped)
{
    struct received received = {0};
    struct jg_log *log =
        jg_log_create(receive_line, &received, JIT_GEMM_SEVERITY_WARNING, NULL);
    cr_assert_not_null(log);

    jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "dropped");
    jg_log_line(log, JIT_GEMM_SEVERITY_DEBUG, "dropped");
    cr_expect_eq(received.count, 0);

    jg_log_line(log, JIT_GEMM_SEVERITY_WARNING, "kept %d", 7);
    cr_expect_eq(received.count, 1);
    cr_expect_eq(received.severity, JIT_GEMM_SEVERITY_WARNING);
    cr_expect_str_eq(received.last, "kept 7");
    jg_log_destroy(log);
}

Test(log, each_line_is_one_call_without_its_end)
{
    struct received received = {0};
    struct jg_log *log =
        jg_log_create(receive_line, &received, JIT_GEMM_SEVERITY_DEBUG, NULL);

    jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "first\nsecond\n");

    cr_expect_eq(received.count, 2);
    cr_expect_str_eq(received.last, "second");
    jg_log_destroy(log);
}

Test(log, long_line_is_whole_and_is_cut_without_memory)
{
    struct received received = {0};
    struct jg_log *log =
        jg_log_create(receive_line, &received, JIT_GEMM_SEVERITY_DEBUG, NULL);
    char text[1501];
    memset(text, 'x', 1500);
    text[1500] = '\0';

    jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "%s", text);
    cr_expect_eq(received.last_length, 1500);

    jg_alloc_fail_at(1, 1);
    jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "%s", text);
    jg_alloc_fail_at(0, 0);
    cr_expect_eq(received.count, 2);
    cr_expect_eq(received.last_length, 1023);
    jg_log_destroy(log);
}

Test(log, creation_without_memory_gives_null)
{
    jg_alloc_fail_at(1, 0);
    cr_expect_null(jg_log_create(receive_line, NULL, JIT_GEMM_SEVERITY_DEBUG, NULL));
}

Test(math, division_alignment_and_checked_product)
{
    int64_t product = -1;

    cr_expect_eq(jg_ceil_div(1, 64), 1);
    cr_expect_eq(jg_ceil_div(64, 64), 1);
    cr_expect_eq(jg_ceil_div(65, 64), 2);
    cr_expect_eq(jg_align_up(1025, 1024), 2048);
    cr_expect(jg_mul_checked(INT64_C(1) << 31, INT64_C(1) << 31, &product));
    cr_expect_eq(product, INT64_C(1) << 62);
    cr_expect_not(jg_mul_checked(INT64_C(1) << 32, INT64_C(1) << 31, &product));
    cr_expect_eq(product, INT64_C(1) << 62);
}
