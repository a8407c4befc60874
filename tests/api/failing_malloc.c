/* SPDX-License-Identifier: MIT */
/*
 * The C library's own allocations fail, too, one after the other: those of its functions
 * that list folders and read files, which no hook of ours sees. A context is made, plans
 * and describes itself, or there is no memory for it; the program goes on either way. The
 * functions of failing_allocations.h take the place of the C library's in this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "failing_allocations.h"
#include "jit_gemm/jit_gemm.h"
#include "plain_test.h"

enum { MOST_ALLOCATIONS = 20000 };

static struct {
    long call;  /* that fails, from 1; 0: none */
    long seen;  /* calls so far */
    bool is_on; /* only the one thread of this program is counted */
} fault;

static bool strikes(void)
{
    return fault.is_on && ++fault.seen == fault.call;
}

/* One that may fail for want of memory only; afterwards the call without a fault does not.
 */
static bool is_served(jit_gemm_status status, const char *what)
{
    expect(status == JIT_GEMM_OK || (fault.call != 0 && status == JIT_GEMM_ERR_NO_MEMORY),
           what);
    return status == JIT_GEMM_OK;
}

static void use_context(void)
{
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = "sm_90a", .no_device = 1, .no_cache = 1};
    jit_gemm_context *context = NULL;
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    char text[64], what[64];
    size_t length = 0;
    snprintf(what, sizeof(what), "allocation %ld fails", fault.call);
    fault.seen = 0;
    fault.is_on = true;
    if (is_served(jit_gemm_context_create(&options, &context), what) &&
        is_served(jit_gemm_problem_parse("512x512x512 bf16", &problem), what)) {
        (void)is_served(jit_gemm_plan(context, &problem, text, sizeof(text), &length),
                        what);
        (void)jit_gemm_context_describe(context, text, sizeof(text), &length);
        (void)is_served(jit_gemm_context_planned_device(context, text, sizeof(text), NULL),
                        what);
    }
    jit_gemm_context_destroy(&context);
    fault.is_on = false;
}

/* Folders that Python's packages may be in, so that there is something to list. */
static void make_packages(char root[64])
{
    static const char *const folders[] = {"/lib", "/lib/python3.11",
                                          "/lib/python3.11/site-packages"};
    char path[128];
    memcpy(root, "/tmp/jit_gemm_malloc_XXXXXX", sizeof("/tmp/jit_gemm_malloc_XXXXXX"));
    expect(mkdtemp(root) != NULL, "a folder");
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        expect(mkdir(path, 0755) == 0, path);
    }
    expect(setenv("VIRTUAL_ENV", root, 1) == 0, "a variable");
}

static void remove_packages(const char *root)
{
    static const char *const folders[] = {"/lib/python3.11/site-packages",
                                          "/lib/python3.11", "/lib", ""};
    char path[128];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        expect(remove(path) == 0, path);
    }
}

int main(void)
{
    char root[64];
    expect(unsetenv("JIT_GEMM_NVRTC") == 0, "no variable");
    make_packages(root);
    use_context(); /* what is allocated once, is */
    use_context();
    const long all = fault.seen;
    expect(all > 50 && all < MOST_ALLOCATIONS, "there are allocations to fail");
    for (fault.call = 1; fault.call <= all; fault.call++) {
        use_context();
    }
    fault.call = 0;
    use_context();
    remove_packages(root);
    printf("%ld allocations failed\n", all);
    return plain_end("failing_malloc");
}
