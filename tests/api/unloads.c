/* SPDX-License-Identifier: MIT */
/* A program that loads the library by itself and unloads it, while a thread has an error of
 * it and a compiler still works for it. No clock: by handshakes only.
 *     unloads LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/jit_gemm.h"

static void *open_library(const char *path, int flags)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
    if (library == NULL && (flags & RTLD_NOLOAD) == 0) {
        fprintf(stderr, "unloads: %s\n", dlerror());
        exit(1);
    }
    return library;
}

/* Writes the address of a function to the pointer at `out`. */
static void find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "unloads: no %s: %s\n", name, dlerror());
        exit(1);
    }
    memcpy(out, &symbol, sizeof(symbol));
}

static void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "unloads: %s\n", what);
        exit(1);
    }
}

static bool is_loaded(const char *path)
{
    void *library = open_library(path, RTLD_NOLOAD);
    if (library != NULL) {
        dlclose(library);
    }
    return library != NULL;
}

/* ------------------------------------------------- a thread that has an error of it */

struct failing {
    jit_gemm_status (*parse)(const char *text, jit_gemm_problem *ret_problem);
    sem_t has_failed, may_end;
};

static void *fail_and_wait(void *user)
{
    struct failing *failing = user;
    jit_gemm_problem problem;
    expect(failing->parse("64x64", &problem) == JIT_GEMM_ERR_ARGUMENT, "a wrong problem");
    sem_post(&failing->has_failed);
    while (sem_wait(&failing->may_end) != 0) {
    }
    return NULL;
}

static void a_thread_with_an_error_outlives_it(const char *path)
{
    void *library = open_library(path, 0);
    struct failing failing;
    pthread_t thread;
    find(library, "jit_gemm_problem_parse", &failing.parse);
    expect(sem_init(&failing.has_failed, 0, 0) == 0 &&
               sem_init(&failing.may_end, 0, 0) == 0,
           "semaphores");
    expect(pthread_create(&thread, NULL, fail_and_wait, &failing) == 0, "a thread");
    while (sem_wait(&failing.has_failed) != 0) {
    }

    dlclose(library);
    expect(!is_loaded(path), "nothing keeps the library");

    sem_post(&failing.may_end);
    pthread_join(thread, NULL);
    sem_destroy(&failing.has_failed);
    sem_destroy(&failing.may_end);
}

/* ------------------------------------------ a compile that nobody waits for any more */

struct api {
    jit_gemm_status (*create_context)(const jit_gemm_context_options *options,
                                      jit_gemm_context **ret_context);
    void (*destroy_context)(jit_gemm_context **context);
    jit_gemm_status (*parse)(const char *text, jit_gemm_problem *ret_problem);
    jit_gemm_status (*create)(jit_gemm_context *context, const jit_gemm_problem *problem,
                              jit_gemm **ret_gemm);
    const char *(*last_error)(void);
};

static void a_compile_that_goes_on_keeps_it(const char *path)
{
    void *library = open_library(path, 0);
    void *nvrtc = open_library(JG_FAKE_NVRTC_STUBBORN, 0);
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = "sm_90a",
                                              .driver = JG_FAKE_DRIVER,
                                              .nvrtc = JG_FAKE_NVRTC_STUBBORN,
                                              .no_cache = true,
                                              .compile_limit_ms = 1};
    struct api api;
    void (*let_go)(void) = NULL;
    jit_gemm_context *context = NULL;
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    find(library, "jit_gemm_context_create", &api.create_context);
    find(library, "jit_gemm_context_destroy", &api.destroy_context);
    find(library, "jit_gemm_problem_parse", &api.parse);
    find(library, "jit_gemm_create", &api.create);
    find(library, "jit_gemm_last_error", &api.last_error);
    find(nvrtc, "fake_nvrtc_let_go", &let_go);
    expect(api.create_context(&options, &context) == JIT_GEMM_OK, api.last_error());
    expect(api.parse("512x512x512 bf16", &problem) == JIT_GEMM_OK, api.last_error());

    expect(api.create(context, &problem, &gemm) == JIT_GEMM_ERR_COMPILE, "a create");
    expect(strstr(api.last_error(), "the compiler was stopped") != NULL, api.last_error());
    api.destroy_context(&context);
    dlclose(library);

    expect(is_loaded(path), "the compile's thread keeps the library");
    let_go(); /* an exit waits for the thread, which goes on in the library */
}

int main(int argc, char **argv)
{
    expect(argc == 2, "the library is the argument");
    a_thread_with_an_error_outlives_it(argv[1]);
    a_compile_that_goes_on_keeps_it(argv[1]);
    puts("2 passed, 0 failed");
    return 0;
}
