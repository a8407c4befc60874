/* SPDX-License-Identifier: MIT */
/*
 * A server's day: kernels of many problems are created, launched and destroyed over and
 * over, and contexts come and go over the same folder. Memory, descriptors, threads and
 * what the driver has loaded stay as they were after each problem's first time.
 *
 *     server_day [CREATES [PROBLEMS]]
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "draws.h"
#include "plain_test.h"

enum {
    USUAL_CREATES = 20000,
    USUAL_PROBLEMS = 500,
    CREATES_OF_A_CONTEXT = 50, /* of one that is made for a single create */
    MOST_GROWTH = 65536        /* bytes, however many creates: pools of libc */
};

struct state {
    size_t bytes; /* that the heap has given out; 0: this libc, or a sanitizer, says none */
    int descriptors, threads;
    long loaded;       /* libraries that the driver has */
    uint64_t compiles; /* of the context that stays */
};

static int count_files(const char *folder)
{
    DIR *list = opendir(folder);
    int count = 0;
    expect(list != NULL, folder);
    while (list != NULL && readdir(list) != NULL) {
        count++;
    }
    if (list != NULL) {
        closedir(list);
    }
    return count;
}

static struct state look(const struct api_fixture *fixture)
{
    return (struct state){.bytes = mallinfo2().uordblks + mallinfo2().hblkhd,
                          .descriptors = count_files("/proc/self/fd"),
                          .threads = count_files("/proc/self/task"),
                          .loaded = atomic_load(&fixture->fake->loads) -
                                    atomic_load(&fixture->fake->unloads),
                          .compiles = api_fixture_stats(fixture).compiles};
}

static void print_state(const char *when, const struct state *state)
{
    printf("%s: %zu bytes, %d descriptors, %d threads, %ld kernels loaded\n", when,
           state->bytes, state->descriptors, state->threads, state->loaded);
}

/* A problem of its own for each number. */
static jit_gemm_problem problem_of(uint64_t number)
{
    char text[64];
    snprintf(text, sizeof(text), "m=%d n=%d k=%d a=bf16 dynamic=m",
             1 << (5 + (int)(number % 8)), 128 * (1 + (int)(number / 8 % 16)),
             64 * (1 + (int)(number / 128)));
    return api_problem(text);
}

static void use(jit_gemm_context *context, uint64_t number)
{
    const jit_gemm_problem problem = problem_of(number);
    jit_gemm *gemm = NULL;
    expect(jit_gemm_create(context, &problem, &gemm) == JIT_GEMM_OK, "create");
    if (gemm == NULL) {
        return;
    }
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .m = 1 + (int64_t)draw(256),
                                .a = {.pointer = 1 << 20},
                                .b = {.pointer = 1 << 21},
                                .d = {.pointer = 1 << 22},
                                .workspace = UINT64_C(1) << 32,
                                .workspace_bytes = UINT64_C(1) << 32};
    expect(jit_gemm_run(gemm, &args, NULL) == JIT_GEMM_OK, "run");
    jit_gemm_destroy(&gemm);
}

/* Somebody who comes, creates one kernel, and goes. */
static void use_another_context(const struct api_fixture *fixture, uint64_t number)
{
    struct api_fixture *other = calloc(1, sizeof(*other));
    memcpy(other->folder, fixture->folder, sizeof(other->folder));
    api_fixture_reopen(other);
    use(other->context, number);
    jit_gemm_context_destroy(&other->context);
    free(other);
}

static void live(struct api_fixture *fixture, long creates, long problems)
{
    for (long i = 0; i < creates; i++) {
        const uint64_t number = draw((uint64_t)problems);
        if (i % CREATES_OF_A_CONTEXT == 0) {
            use_another_context(fixture, number);
        } else {
            use(fixture->context, number);
        }
        fixture->log_size = 0;
    }
}

int main(int argc, char **argv)
{
    const long creates = argc > 1 ? atol(argv[1]) : USUAL_CREATES;
    const long problems = argc > 2 ? atol(argv[2]) : USUAL_PROBLEMS;
    static struct api_fixture fixture;
    if (creates < 2 * CREATES_OF_A_CONTEXT || problems < 1) {
        fprintf(stderr, "at least %d creates, of at least one problem\n",
                2 * CREATES_OF_A_CONTEXT);
        return 2;
    }
    api_fixture_open(&fixture);
    for (long i = 0; i < problems; i++) {
        use(fixture.context, (uint64_t)i);
        fixture.log_size = 0;
    }
    live(&fixture, 2 * CREATES_OF_A_CONTEXT, problems); /* whatever is made once */
    const struct state before = look(&fixture);
    print_state("each problem once", &before);

    live(&fixture, creates, problems);

    const struct state after = look(&fixture);
    print_state("at the end", &after);
    expect(after.bytes <= before.bytes + MOST_GROWTH, "memory is flat");
    expect(after.descriptors == before.descriptors, "descriptors are closed");
    expect(after.threads == before.threads, "threads end");
    expect(after.loaded == before.loaded, "what contexts loaded goes with them");
    expect(before.compiles > 0 && after.compiles == before.compiles,
           "nothing is compiled twice");
    api_fixture_close(&fixture);
    expect(atomic_load(&fixture.fake->loads) == atomic_load(&fixture.fake->unloads),
           "nothing stays loaded");
    return plain_end("server_day");
}
