/* SPDX-License-Identifier: MIT */
#include "api_fixture.h"

#include <dlfcn.h>
#include <ftw.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* A fixture that cannot be made must not look like a passing test. */
static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fixture: %s: %s\n", what, jit_gemm_last_error());
        abort();
    }
}

static void keep_log_line(void *user, jit_gemm_severity severity, const char *text)
{
    struct api_fixture *fixture = user;
    const size_t left = sizeof(fixture->log) - fixture->log_size;
    const int written =
        snprintf(fixture->log + fixture->log_size, left, "%d %s\n", (int)severity, text);
    if (written > 0 && (size_t)written < left) {
        fixture->log_size += (size_t)written;
    }
}

struct fake_driver *api_fixture_driver(void)
{
    return api_fixture_driver_at(JG_FAKE_DRIVER);
}

struct fake_driver *api_fixture_driver_at(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    must(library != NULL, "the fake driver cannot be opened");
    fake_driver_get_fn get = NULL;
    void *symbol = dlsym(library, FAKE_DRIVER_GET);
    must(symbol != NULL, "the fake driver has no state");
    memcpy(&get, &symbol, sizeof(get));
    return get();
}

jit_gemm_context_options api_fixture_options(struct api_fixture *fixture)
{
    memset(fixture, 0, sizeof(*fixture));
    fixture->fake = api_fixture_driver();
    snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/jit_gemm_test_XXXXXX");
    must(mkdtemp(fixture->folder) != NULL, "no folder for the cache");
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .driver = JG_FAKE_DRIVER,
                                              .cache_dir = fixture->folder,
                                              .log = keep_log_line,
                                              .log_user = fixture,
                                              .log_level = JIT_GEMM_SEVERITY_DEBUG};
    return options;
}

void api_fixture_open_with(struct api_fixture *fixture,
                           const jit_gemm_context_options *options, int compile_ms)
{
    must(jit_gemm_context_create(options, &fixture->context) == JIT_GEMM_OK, "context");
    must(jg_compiler_dummy_create(compile_ms, &fixture->compiler) == JIT_GEMM_OK, "dummy");
    struct jg_toolchain *toolchain = NULL;
    must(jg_toolchain_create_with(fixture->compiler, &toolchain) == JIT_GEMM_OK,
         "toolchain");
    jg_context_use_toolchain(fixture->context, toolchain);
}

void api_fixture_open(struct api_fixture *fixture)
{
    const jit_gemm_context_options options = api_fixture_options(fixture);
    api_fixture_open_with(fixture, &options, 0);
}

void api_fixture_reopen(struct api_fixture *fixture)
{
    jit_gemm_context_destroy(&fixture->context);
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .driver = JG_FAKE_DRIVER,
                                              .cache_dir = fixture->folder,
                                              .log = keep_log_line,
                                              .log_user = fixture,
                                              .log_level = JIT_GEMM_SEVERITY_DEBUG};
    api_fixture_open_with(fixture, &options, 0);
}

static int remove_one(const char *path, const struct stat *status, int kind,
                      struct FTW *position)
{
    (void)status;
    (void)kind;
    (void)position;
    return remove(path);
}

void api_fixture_close(struct api_fixture *fixture)
{
    jit_gemm_context_destroy(&fixture->context);
    must(nftw(fixture->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0,
         "the cache folder cannot be removed");
}

jit_gemm_stats api_fixture_stats(const struct api_fixture *fixture)
{
    jit_gemm_stats stats = {.struct_size = sizeof(stats)};
    must(jit_gemm_context_stats(fixture->context, &stats) == JIT_GEMM_OK, "stats");
    return stats;
}

void api_fixture_wait_for_held(const struct api_fixture *fixture, int count)
{
    while (jg_compiler_dummy_held(fixture->compiler) != count) {
        sched_yield();
    }
}

static const jit_gemm_operand fused_operands[] = {
    {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
    {.name = "r", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_BF16},
    {.name = "aux",
     .kind = JIT_GEMM_OPERAND_MATRIX,
     .dtype = JIT_GEMM_DTYPE_F32,
     .role = JIT_GEMM_OPERAND_OUTPUT},
};
const jit_gemm_epilogue api_fused = {.struct_size = sizeof(api_fused),
                                     .name = "fused",
                                     .source = "aux = acc; d = acc + bias + r;",
                                     .operands = fused_operands,
                                     .operand_count = 3};

jit_gemm_problem api_problem(const char *text)
{
    jit_gemm_problem problem;
    must(jit_gemm_problem_parse(text, &problem) == JIT_GEMM_OK, text);
    return problem;
}

jit_gemm_info api_info_of(const struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm *gemm = NULL;
    must(jit_gemm_create(fixture->context, &problem, &gemm) == JIT_GEMM_OK, text);
    must(jit_gemm_get_info(gemm, &info) == JIT_GEMM_OK, text);
    jit_gemm_destroy(&gemm);
    return info;
}

/* The dummy's code has the hash of the unit that it was made of. */
static bool is_code_of(const jit_gemm_artifact *code, const jit_gemm_artifact *source)
{
    size_t code_size = 0;
    size_t source_size = 0;
    char hex[33];
    const void *code_bytes = jit_gemm_artifact_data(code, &code_size);
    const char *text = jit_gemm_artifact_data(source, &source_size);
    const struct jg_hash hash = jg_hash_bytes(text, source_size);
    jg_hash_hex(&hash, hex);
    return memmem(code_bytes, code_size, hex, sizeof(hex)) != NULL;
}

jit_gemm_status api_build_and_compare(const struct api_fixture *fixture,
                                      const jit_gemm_problem *problem,
                                      jit_gemm_info *ret_info, bool *ret_is_right)
{
    jit_gemm_artifact *code = NULL;
    jit_gemm_artifact *source = NULL;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm_status status =
        jit_gemm_build(fixture->context, problem, JIT_GEMM_EMIT_SOURCE, &source);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_build(fixture->context, problem, JIT_GEMM_EMIT_CUBIN, &code);
    }
    if (status == JIT_GEMM_OK) {
        must(jit_gemm_artifact_get_info(code, &info) == JIT_GEMM_OK, "info");
        *ret_info = info;
        *ret_is_right = is_code_of(code, source);
    }
    jit_gemm_artifact_destroy(&code);
    jit_gemm_artifact_destroy(&source);
    return status;
}

int api_error_has(const char *text)
{
    const bool found = strstr(jit_gemm_last_error(), text) != NULL;
    if (!found) {
        fprintf(stderr, "'%s' is not in '%s'\n", text, jit_gemm_last_error());
    }
    return found;
}
