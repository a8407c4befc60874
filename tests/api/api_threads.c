/* SPDX-License-Identifier: MIT */
/* Threads over one context and one handle. A plain program, fit for ThreadSanitizer. */
#include <pthread.h>
#include <stdio.h>

#include "api_fixture.h"
#include "jit_gemm/recipe.h"
#include "plain_test.h"

#define THREADS 16
#define RUNS    400

struct job {
    struct api_fixture *fixture;
    pthread_barrier_t *barrier;
    const char *text;
    jit_gemm *gemm;
    jit_gemm_status status;
    bool has_text; /* the thread has the error's words */
    int number;
};

static void *create_at_once(void *user)
{
    struct job *job = user;
    const jit_gemm_problem problem = api_problem(job->text);
    pthread_barrier_wait(job->barrier);
    job->status = jit_gemm_create(job->fixture->context, &problem, &job->gemm);
    job->has_text = job->status != JIT_GEMM_OK && api_error_has("DUMMY_ERROR");
    return NULL;
}

static void *run_often(void *user)
{
    struct job *job = user;
    const uint64_t base = UINT64_C(0x100000) * (uint64_t)(job->number + 1);
    pthread_barrier_wait(job->barrier);
    for (int i = 0; i < RUNS && job->status == JIT_GEMM_OK; i++) {
        const jit_gemm_args args = {
            .struct_size = sizeof(args),
            .a = {.pointer = base},
            .b = {.pointer = base + 0x10000},
            .d = {.pointer = base + 0x20000 + (uint64_t)(i % 3) * 256}};
        job->status = jit_gemm_run(job->gemm, &args, NULL);
    }
    return NULL;
}

/* Odd threads give the context a recipe, even ones ask for its problem. */
static void *add_or_create(void *user)
{
    static const char recipe[] = "jit_gemm recipe 1\nproblem sm_90a 768x512x512 bf16 "
                                 "config=tile=128x128 cluster=1x1\n";
    struct job *job = user;
    const jit_gemm_problem problem = api_problem(job->text);
    jit_gemm_context *context = job->fixture->context;
    pthread_barrier_wait(job->barrier);
    job->status = job->number % 2 != 0 ? jit_gemm_context_add_recipe(context, "r", recipe,
                                                                     sizeof(recipe) - 1)
                                       : jit_gemm_create(context, &problem, &job->gemm);
    return NULL;
}

static void run_jobs(struct job *jobs, void *(*body)(void *))
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        jobs[i].barrier = &barrier;
        threads[i] = plain_begin_thread(body, &jobs[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&barrier);
}

static void same_problem_is_compiled_once(struct api_fixture *fixture, struct job *jobs)
{
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.fixture = fixture, .text = "512x512x512 bf16", .number = i};
    }
    run_jobs(jobs, create_at_once);
    int compiled = 0;
    for (int i = 0; i < THREADS; i++) {
        expect(jobs[i].status == JIT_GEMM_OK, "a create on a thread");
        jit_gemm_info info = {.struct_size = sizeof(info)};
        expect(jit_gemm_get_info(jobs[i].gemm, &info) == JIT_GEMM_OK, "info");
        compiled += info.origin == JIT_GEMM_ORIGIN_COMPILED;
    }
    expect(compiled == 1, "one thread compiled");
    expect(jg_compiler_dummy_calls(fixture->compiler) == 1, "one compile");
    expect(atomic_load(&fixture->fake->loads) == 1, "one load");
}

static void one_handle_runs_on_all_threads(struct job *jobs)
{
    jit_gemm *shared = jobs[0].gemm;
    struct job runs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        runs[i] = (struct job){.gemm = shared, .number = i};
    }
    const long before = atomic_load(&jobs[0].fixture->fake->launches);
    run_jobs(runs, run_often);
    for (int i = 0; i < THREADS; i++) {
        expect(runs[i].status == JIT_GEMM_OK, "runs on a thread");
    }
    expect(atomic_load(&jobs[0].fixture->fake->launches) - before == THREADS * RUNS,
           "every run launched once");
}

static void failed_build_tells_everyone(struct api_fixture *fixture)
{
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue), .name = "wrong", .source = "d = DUMMY_ERROR;"};
    expect(jit_gemm_epilogue_register(fixture->context, &epilogue) == JIT_GEMM_OK,
           "register");
    const int before = jg_compiler_dummy_calls(fixture->compiler);
    struct job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] =
            (struct job){.fixture = fixture, .text = "512x512x512 bf16 epilogue=wrong"};
    }
    run_jobs(jobs, create_at_once);
    for (int i = 0; i < THREADS; i++) {
        expect(jobs[i].status == JIT_GEMM_ERR_COMPILE, "the same status everywhere");
        expect(jobs[i].has_text, "the same words everywhere");
    }
    /* A thread that comes after the failure tries again, so more than one is legal. */
    const int calls = jg_compiler_dummy_calls(fixture->compiler) - before;
    expect(calls >= 1 && calls <= THREADS, "compiles of the wrong snippet");
}

static void different_problems_at_once(struct api_fixture *fixture)
{
    static const char *const texts[] = {"128x512x512 bf16", "256x512x512 bf16",
                                        "384x512x512 bf16", "640x512x512 bf16"};
    struct job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.fixture = fixture, .text = texts[i % 4]};
    }
    const int before = jg_compiler_dummy_calls(fixture->compiler);
    run_jobs(jobs, create_at_once);
    for (int i = 0; i < THREADS; i++) {
        expect(jobs[i].status == JIT_GEMM_OK, "a create on a thread");
        jit_gemm_destroy(&jobs[i].gemm);
    }
    expect(jg_compiler_dummy_calls(fixture->compiler) - before == 4, "four compiles");
}

static void recipes_come_while_others_create(struct api_fixture *fixture)
{
    struct job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.fixture = fixture, .text = "768x512x512 bf16", .number = i};
    }
    const int before = jg_compiler_dummy_calls(fixture->compiler);
    run_jobs(jobs, add_or_create);
    for (int i = 0; i < THREADS; i++) {
        expect(jobs[i].status == JIT_GEMM_OK, "a create beside recipes");
        jit_gemm_destroy(&jobs[i].gemm);
    }
    const int calls = jg_compiler_dummy_calls(fixture->compiler) - before;
    expect(calls == 1 || calls == 2, "at most one compile without and one with the recipe");
    const jit_gemm_problem problem = api_problem("768x512x512 bf16");
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm *gemm = NULL;
    expect(jit_gemm_create(fixture->context, &problem, &gemm) == JIT_GEMM_OK &&
               jit_gemm_get_info(gemm, &info) == JIT_GEMM_OK && info.recipe[0] != '\0',
           "a create after them takes the recipe");
    jit_gemm_destroy(&gemm);
}

/* One in four adds the folder as a root, the others build what it has. */
static void *add_root_or_build(void *user)
{
    struct job *job = user;
    const jit_gemm_problem problem = api_problem(job->text);
    pthread_barrier_wait(job->barrier);
    for (int i = 0; i < 8 && job->status == JIT_GEMM_OK; i++) {
        jit_gemm_artifact *artifact = NULL;
        job->status = job->number % 4 == 0
                          ? jit_gemm_context_add_cache_root(job->fixture->context,
                                                            job->fixture->folder)
                          : jit_gemm_build(job->fixture->context, &problem,
                                           JIT_GEMM_EMIT_CUBIN, &artifact);
        jit_gemm_artifact_destroy(&artifact);
    }
    return NULL;
}

static void roots_are_added_while_kernels_are_built(struct api_fixture *fixture)
{
    struct job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.fixture = fixture, .text = "128x512x512 bf16", .number = i};
    }
    const int before = jg_compiler_dummy_calls(fixture->compiler);
    run_jobs(jobs, add_root_or_build);
    for (int i = 0; i < THREADS; i++) {
        expect(jobs[i].status == JIT_GEMM_OK, "a root or a build on a thread");
    }
    expect(jg_compiler_dummy_calls(fixture->compiler) == before, "nothing is compiled");
}

int main(void)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.log_level = JIT_GEMM_SEVERITY_INFO;
    api_fixture_open_with(&fixture, &options, 50);
    struct job jobs[THREADS];
    same_problem_is_compiled_once(&fixture, jobs);
    one_handle_runs_on_all_threads(jobs);
    failed_build_tells_everyone(&fixture);
    different_problems_at_once(&fixture);
    recipes_come_while_others_create(&fixture);
    roots_are_added_while_kernels_are_built(&fixture);
    jit_gemm_context_destroy(&fixture.context);
    for (int i = 0; i < THREADS; i++) {
        jit_gemm_destroy(&jobs[i].gemm);
    }
    expect(atomic_load(&fixture.fake->loads) == atomic_load(&fixture.fake->unloads),
           "every library is unloaded");
    expect(atomic_load(&fixture.fake->retains) == atomic_load(&fixture.fake->releases),
           "the primary context is released");
    api_fixture_close(&fixture);
    return plain_end("api threads");
}
