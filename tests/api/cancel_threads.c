/* SPDX-License-Identifier: MIT */
/* Calls that another thread cancels. No clock: a compile is held inside the compiler until
 * the test lets it go, and who waits is counted. A plain program, fit for ThreadSanitizer.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "plain_test.h"

#define THREADS 6
#define TEXT    "512x512x512 bf16"

/* A call on a thread of its own, and what came of it. */
struct call {
    struct api_fixture *fixture;
    void (*body)(struct call *call);
    pthread_t thread;
    jit_gemm_status status;
    char error[256];
    jit_gemm_prewarm_result result;
};

static void *make_call(void *user)
{
    struct call *call = user;
    call->body(call);
    snprintf(call->error, sizeof(call->error), "%s", jit_gemm_last_error());
    return NULL;
}

static void begin(struct call *call, struct api_fixture *fixture,
                  void (*body)(struct call *))
{
    *call = (struct call){.fixture = fixture, .body = body};
    call->thread = plain_begin_thread(make_call, call);
}

static void end_cancelled(struct call *call, const char *what)
{
    pthread_join(call->thread, NULL);
    expect(call->status == JIT_GEMM_ERR_CANCELLED, what);
    expect(strstr(call->error, "context: jit_gemm_cancel was called") != NULL, call->error);
}

static void create_one(struct call *call)
{
    const jit_gemm_problem problem = api_problem(TEXT);
    jit_gemm *gemm = NULL;
    call->status = jit_gemm_create(call->fixture->context, &problem, &gemm);
    expect((gemm != NULL) == (call->status == JIT_GEMM_OK), "a handle, or none");
    jit_gemm_destroy(&gemm);
}

static void build_one(struct call *call)
{
    const jit_gemm_problem problem = api_problem("1024x512x512 bf16");
    jit_gemm_artifact *artifact = NULL;
    call->status =
        jit_gemm_build(call->fixture->context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact);
    jit_gemm_artifact_destroy(&artifact);
}

static void check_one(struct call *call)
{
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue), .name = "plus", .source = "d = acc + 1.0f;"};
    call->status = jit_gemm_epilogue_check(call->fixture->context, &epilogue, NULL);
}

static const char manifest[] = "jit_gemm manifest 1\n"
                               "problem 64x256x256 bf16\nproblem 128x256x256 bf16\n"
                               "problem 192x256x256 bf16\nproblem 256x256x256 bf16\n";

static void prewarm_all(struct call *call)
{
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options), .jobs = 2};
    call->result = (jit_gemm_prewarm_result){.struct_size = sizeof(call->result)};
    call->status = jit_gemm_prewarm(call->fixture->context, manifest, strlen(manifest),
                                    &options, &call->result);
}

static void wait_for_waiters(const struct api_fixture *fixture, int count)
{
    while (jg_table_waiters(fixture->context->table) != count) {
        sched_yield();
    }
}

static void who_compiles_and_who_waits_is_cancelled(void)
{
    struct api_fixture fixture;
    struct call calls[THREADS];
    struct call later;
    api_fixture_open(&fixture);
    jg_compiler_dummy_hold(fixture.compiler, true);
    for (int i = 0; i < THREADS; i++) {
        begin(&calls[i], &fixture, create_one);
    }
    api_fixture_wait_for_held(&fixture, 1);
    wait_for_waiters(&fixture, THREADS - 1);

    expect(jit_gemm_cancel(fixture.context) == JIT_GEMM_OK, "cancel");
    jg_compiler_dummy_hold(fixture.compiler, false);

    for (int i = 0; i < THREADS; i++) {
        end_cancelled(&calls[i], "one of many creates");
    }
    expect(jg_compiler_dummy_calls(fixture.compiler) == 1, "one compile began");
    expect(api_fixture_stats(&fixture).compile_failures == 0,
           "a cancelled compile is no failure");
    begin(&later, &fixture, create_one);
    pthread_join(later.thread, NULL);
    expect(later.status == JIT_GEMM_OK, "a later create works as before");
    expect(jg_compiler_dummy_calls(fixture.compiler) == 2, "and compiles");
    (void)jit_gemm_cancel(fixture.context);
    begin(&later, &fixture, create_one);
    pthread_join(later.thread, NULL);
    expect(later.status == JIT_GEMM_OK, "what is loaded needs no compile");
    api_fixture_close(&fixture);
}

/* It began after the cancel, and finds the build that was cancelled still under way. */
static void who_comes_later_builds_by_itself(void)
{
    struct api_fixture fixture;
    struct call first, second;
    api_fixture_open(&fixture);
    jg_compiler_dummy_hold(fixture.compiler, true);
    begin(&first, &fixture, create_one);
    api_fixture_wait_for_held(&fixture, 1);
    (void)jit_gemm_cancel(fixture.context);
    begin(&second, &fixture, create_one);
    wait_for_waiters(&fixture, 1);

    jg_compiler_dummy_hold(fixture.compiler, false);

    end_cancelled(&first, "the create before the cancel");
    pthread_join(second.thread, NULL);
    expect(second.status == JIT_GEMM_OK, "the create after the cancel");
    expect(second.error[0] == '\0', "a success leaves no error");
    expect(jg_compiler_dummy_calls(fixture.compiler) == 2, "two compiles");
    api_fixture_close(&fixture);
}

static void builds_and_checks_are_cancelled(void)
{
    struct api_fixture fixture;
    struct call build, check;
    api_fixture_open(&fixture);
    jg_compiler_dummy_hold(fixture.compiler, true);
    begin(&build, &fixture, build_one);
    begin(&check, &fixture, check_one);
    api_fixture_wait_for_held(&fixture, 2);

    (void)jit_gemm_cancel(fixture.context);
    jg_compiler_dummy_hold(fixture.compiler, false);

    end_cancelled(&build, "build");
    end_cancelled(&check, "epilogue check");
    api_fixture_close(&fixture);
}

static void a_cancelled_prewarm_goes_on_at_the_next_call(void)
{
    struct api_fixture fixture;
    struct call prewarm;
    api_fixture_open(&fixture);
    jg_compiler_dummy_hold(fixture.compiler, true);
    begin(&prewarm, &fixture, prewarm_all);
    api_fixture_wait_for_held(&fixture, 2);

    (void)jit_gemm_cancel(fixture.context);
    jg_compiler_dummy_hold(fixture.compiler, false);

    end_cancelled(&prewarm, "prewarm");
    expect(strstr(prewarm.error, "after 0 of 4 builds") != NULL, prewarm.error);
    expect(jg_compiler_dummy_calls(fixture.compiler) == 2, "no other compile began");
    expect(prewarm.result.failed == 0 && prewarm.result.compiled == 0, "nothing failed");
    begin(&prewarm, &fixture, prewarm_all);
    pthread_join(prewarm.thread, NULL);
    expect(prewarm.status == JIT_GEMM_OK, "the next prewarm");
    expect(prewarm.result.compiled == 4, "compiles all");
    api_fixture_close(&fixture);
}

/* Through NVRTC's own question whether to go on, which this one asks for ever. */
static void nvrtc_is_told_to_stop(void)
{
    struct api_fixture fixture;
    struct call create;
    int (*questions)(void) = NULL;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.nvrtc = JG_FAKE_NVRTC_FLOW;
    options.compile_limit_ms = JIT_GEMM_NO_LIMIT;
    void *library = dlopen(JG_FAKE_NVRTC_FLOW, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "fake_nvrtc_questions") : NULL;
    if (symbol == NULL ||
        jit_gemm_context_create(&options, &fixture.context) != JIT_GEMM_OK) {
        fprintf(stderr, "no fake NVRTC: %s\n", jit_gemm_last_error());
        exit(1);
    }
    memcpy(&questions, &symbol, sizeof(questions));
    begin(&create, &fixture, create_one);
    while (questions() == 0) {
        sched_yield();
    }

    (void)jit_gemm_cancel(fixture.context);

    end_cancelled(&create, "a create inside NVRTC");
    api_fixture_close(&fixture);
}

int main(void)
{
    expect(jit_gemm_cancel(NULL) == JIT_GEMM_ERR_ARGUMENT, "a context is needed");
    who_compiles_and_who_waits_is_cancelled();
    who_comes_later_builds_by_itself();
    builds_and_checks_are_cancelled();
    a_cancelled_prewarm_goes_on_at_the_next_call();
    nvrtc_is_told_to_stop();
    return plain_end("cancel threads");
}
