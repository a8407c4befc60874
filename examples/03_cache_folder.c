/* SPDX-License-Identifier: MIT */
/*
 * Prove before serving that nothing will compile: record the problems of a program in a
 * manifest, prewarm a cache folder with it, and open that folder in a context that may not
 * compile. Needs no GPU: with one, jit_gemm_create takes the place of jit_gemm_build.
 *
 * usage: 03_cache_folder FOLDER      (an absolute path; it is made if need be)
 */
#include <stdio.h>

#include <jit_gemm/jit_gemm.h>

enum { PROBLEM_COUNT = 2 };

static const char *const problems[PROBLEM_COUNT] = {
    "m=64 n=1024 k=512 a=bf16 dynamic=m",
    "1024x1024x512 bf16",
};

static int fail(const char *call)
{
    fprintf(stderr, "%s: %s\n", call, jit_gemm_last_error());
    return 1;
}

/* Without a folder there is no disk cache. NULL after an error. */
static jit_gemm_context *open_context(const char *folder, jit_gemm_policy policy)
{
    jit_gemm_context_options options = {.struct_size = sizeof(options),
                                        .arch = "sm_90a",
                                        .no_device = 1,
                                        .cache_dir = folder,
                                        .no_cache = folder == NULL,
                                        .policy = policy};
    jit_gemm_context *context = NULL;

    (void)jit_gemm_context_create(&options, &context); /* the caller sees NULL */
    return context;
}

static jit_gemm_status build_problem(jit_gemm_context *context, const char *text)
{
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    jit_gemm_artifact *artifact = NULL;
    jit_gemm_status status = jit_gemm_problem_parse(text, &problem);

    if (status == JIT_GEMM_OK) {
        status = jit_gemm_build(context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact);
    }
    jit_gemm_artifact_destroy(&artifact);
    return status;
}

/* Development: whatever the program asks for is recorded. */
static int record_manifest(const char *path)
{
    jit_gemm_context *context = open_context(NULL, JIT_GEMM_POLICY_ALLOW);
    int code = context != NULL ? 0 : fail("context");

    for (int i = 0; i < PROBLEM_COUNT && code == 0; i++) {
        code = build_problem(context, problems[i]) ? fail(problems[i]) : 0;
    }
    if (code == 0 && jit_gemm_context_write_manifest(context, path)) {
        code = fail("manifest");
    }
    jit_gemm_context_destroy(&context);
    return code;
}

/* Deployment: `jit-gemm prewarm MANIFEST --arch sm_90a --cache FOLDER` does the same. */
static int prewarm_folder(const char *path, const char *folder)
{
    static char manifest[65536];
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    jit_gemm_context *context = open_context(folder, JIT_GEMM_POLICY_ALLOW);
    FILE *file = fopen(path, "rb");
    size_t size = file != NULL ? fread(manifest, 1, sizeof(manifest), file) : 0;
    int code = file != NULL ? fclose(file) : 1;

    if (code || context == NULL ||
        jit_gemm_prewarm(context, manifest, size, NULL, &result)) {
        code = fail("prewarm");
    }
    printf("prewarm: %zu problems, %zu were cached, %zu compiled, %zu failed\n",
           result.total, result.cached, result.compiled, result.failed);
    jit_gemm_context_destroy(&context);
    return code;
}

/* Serving: a missing kernel is an error here, never a compile. */
static int prove_nothing_compiles(const char *folder)
{
    jit_gemm_context *context = open_context(folder, JIT_GEMM_POLICY_FORBID);
    jit_gemm_stats stats = {.struct_size = sizeof(stats)};
    int code = context != NULL ? 0 : fail("context");

    for (int i = 0; i < PROBLEM_COUNT && code == 0; i++) {
        code = build_problem(context, problems[i]) ? fail(problems[i]) : 0;
    }
    if (code == 0 && build_problem(context, "48x48x48 f16") == JIT_GEMM_ERR_NOT_CACHED) {
        printf("as intended, what nobody prewarmed is refused: %s\n",
               jit_gemm_last_error());
    }
    if (code == 0 && jit_gemm_context_stats(context, &stats) == JIT_GEMM_OK) {
        printf("serving: %d kernels from disk, %d compiled\n", (int)stats.disk_hits,
               (int)stats.compiles);
        code = stats.compiles != 0 || stats.disk_hits != PROBLEM_COUNT;
    }
    jit_gemm_context_destroy(&context);
    return code;
}

int main(int argc, char **argv)
{
    char path[4096];

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    snprintf(path, sizeof(path), "%s.manifest", argv[1]);
    return record_manifest(path) || prewarm_folder(path, argv[1]) ||
           prove_nothing_compiles(argv[1]);
}
