/* SPDX-License-Identifier: MIT */
/* Threads, also of several contexts, that ask for one key: it is compiled once. No clock: a
 * compile is held inside the compiler until the test lets it go, and who waits is counted.
 * A plain program, fit for ThreadSanitizer. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "compile/flight.h"
#include "plain_test.h"

#define THREADS 6

/* A build on a thread of its own, and what came of it. */
struct call {
    struct api_fixture *fixture;
    const char *text;
    pthread_t thread;
    jit_gemm_status status;
    jit_gemm_origin origin;
    char error[256];
    char *code; /* owned */
    size_t size;
};

/* jit_gemm_build asks no table of kernels: each call comes to the compiler. */
static void *build_one(void *user)
{
    struct call *call = user;
    const jit_gemm_problem problem = api_problem(call->text);
    jit_gemm_artifact *artifact = NULL;
    call->status =
        jit_gemm_build(call->fixture->context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact);
    snprintf(call->error, sizeof(call->error), "%s", jit_gemm_last_error());
    if (call->status == JIT_GEMM_OK) {
        jit_gemm_info info = {.struct_size = sizeof(info)};
        expect(jit_gemm_artifact_get_info(artifact, &info) == JIT_GEMM_OK, "info");
        call->origin = info.origin;
        const void *code = jit_gemm_artifact_data(artifact, &call->size);
        call->code = malloc(call->size);
        memcpy(call->code, code, call->size);
        jit_gemm_artifact_destroy(&artifact);
    }
    return NULL;
}

static void begin(struct call *call, struct api_fixture *fixture, const char *text)
{
    *call = (struct call){.fixture = fixture, .text = text};
    call->thread = plain_begin_thread(build_one, call);
}

static void end(struct call *call)
{
    pthread_join(call->thread, NULL);
    free(call->code);
    call->code = NULL;
}

static void wait_for_waiters(int count)
{
    while (jg_flight_waiters() != count) {
        sched_yield();
    }
}

/* The second folder gets the kernel, too. Budgets are no part of a key. */
static void one_key_is_compiled_once_for_all_threads_and_contexts(void)
{
    static const char *const texts[] = {"512x512x512 bf16",
                                        "512x512x512 bf16 max_registers=200"};
    struct api_fixture fixtures[2];
    struct call calls[THREADS];
    api_fixture_open(&fixtures[0]);
    api_fixture_open(&fixtures[1]);
    jg_compiler_dummy_hold(fixtures[0].compiler, true);
    begin(&calls[0], &fixtures[0], texts[0]);
    api_fixture_wait_for_held(&fixtures[0], 1);
    for (int i = 1; i < THREADS; i++) {
        begin(&calls[i], &fixtures[i % 2], texts[i / 2 % 2]);
    }
    wait_for_waiters(THREADS - 1);

    jg_compiler_dummy_hold(fixtures[0].compiler, false);

    for (int i = 0; i < THREADS; i++) {
        pthread_join(calls[i].thread, NULL);
        expect(calls[i].status == JIT_GEMM_OK, calls[i].error);
        expect(calls[i].origin ==
                   (i == 0 ? JIT_GEMM_ORIGIN_COMPILED : JIT_GEMM_ORIGIN_MEMORY),
               "who waited did not compile");
        expect(calls[i].size == calls[0].size &&
                   memcmp(calls[i].code, calls[0].code, calls[0].size) == 0,
               "all have the same code");
    }
    for (int i = 0; i < THREADS; i++) {
        free(calls[i].code);
    }
    expect(jg_compiler_dummy_calls(fixtures[0].compiler) == 1, "one compile");
    expect(jg_compiler_dummy_calls(fixtures[1].compiler) == 0, "and none elsewhere");
    expect(api_fixture_stats(&fixtures[0]).compiles +
                   api_fixture_stats(&fixtures[1]).compiles ==
               1,
           "stats");
    begin(&calls[0], &fixtures[1], texts[0]);
    end(&calls[0]);
    expect(calls[0].origin == JIT_GEMM_ORIGIN_DISK, "the other folder has it");
    api_fixture_close(&fixtures[0]);
    api_fixture_close(&fixtures[1]);
}

static void register_broken(struct api_fixture *fixture)
{
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue), .name = "broken", .source = "d = DUMMY_ERROR;"};
    expect(jit_gemm_epilogue_register(fixture->context, &epilogue) == JIT_GEMM_OK,
           "register");
}

#define BROKEN "512x512x512 bf16 epilogue=broken"

static void a_failure_is_given_to_all_who_wait(void)
{
    struct api_fixture fixture;
    struct call calls[THREADS];
    api_fixture_open(&fixture);
    register_broken(&fixture);
    jg_compiler_dummy_hold(fixture.compiler, true);
    for (int i = 0; i < THREADS; i++) {
        begin(&calls[i], &fixture, BROKEN);
    }
    api_fixture_wait_for_held(&fixture, 1);
    wait_for_waiters(THREADS - 1);

    jg_compiler_dummy_hold(fixture.compiler, false);

    for (int i = 0; i < THREADS; i++) {
        end(&calls[i]);
        expect(calls[i].status == JIT_GEMM_ERR_COMPILE, "each call fails");
        expect(strstr(calls[i].error, "\"DUMMY_ERROR\" is undefined") != NULL,
               calls[i].error);
    }
    expect(jg_compiler_dummy_calls(fixture.compiler) == 1, "one compile");
    expect(api_fixture_stats(&fixture).compile_failures == 1, "and one failure");
    api_fixture_close(&fixture);
}

/* Another context is cancelled, and one has no patience; who compiles notices neither. */
static void who_waits_ends_by_its_own_cancel_and_limit(void)
{
    struct api_fixture first, cancelled, hasty;
    struct call calls[3];
    api_fixture_open(&first);
    api_fixture_open(&cancelled);
    jit_gemm_context_options options = api_fixture_options(&hasty);
    options.compile_limit_ms = 1;
    api_fixture_open_with(&hasty, &options, 0);
    jg_compiler_dummy_hold(first.compiler, true);
    begin(&calls[0], &first, "512x512x512 bf16");
    api_fixture_wait_for_held(&first, 1);

    begin(&calls[1], &cancelled, "512x512x512 bf16");
    wait_for_waiters(1);
    (void)jit_gemm_cancel(cancelled.context);
    end(&calls[1]);
    begin(&calls[2], &hasty, "512x512x512 bf16");
    end(&calls[2]);

    expect(calls[1].status == JIT_GEMM_ERR_CANCELLED, "the cancelled one");
    expect(calls[2].status == JIT_GEMM_ERR_COMPILE, "the hasty one");
    expect(strstr(calls[2].error, "compiled on another thread") != NULL, calls[2].error);
    expect(jg_compiler_dummy_held(first.compiler) == 1, "the compile goes on");
    jg_compiler_dummy_hold(first.compiler, false);
    end(&calls[0]);
    expect(calls[0].status == JIT_GEMM_OK, "and ends well");
    api_fixture_close(&first);
    api_fixture_close(&cancelled);
    api_fixture_close(&hasty);
}

static void who_waited_for_a_cancelled_compile_begins_it_again(void)
{
    struct api_fixture first, second;
    struct call calls[2];
    api_fixture_open(&first);
    api_fixture_open(&second);
    jg_compiler_dummy_hold(first.compiler, true);
    begin(&calls[0], &first, "512x512x512 bf16");
    api_fixture_wait_for_held(&first, 1);
    begin(&calls[1], &second, "512x512x512 bf16");
    wait_for_waiters(1);

    (void)jit_gemm_cancel(first.context);
    jg_compiler_dummy_hold(first.compiler, false);

    end(&calls[0]);
    end(&calls[1]);
    expect(calls[0].status == JIT_GEMM_ERR_CANCELLED, "the first");
    expect(calls[1].status == JIT_GEMM_OK, calls[1].error);
    expect(jg_compiler_dummy_calls(second.compiler) == 1, "the second compiles");
    api_fixture_close(&first);
    api_fixture_close(&second);
}

static void a_failure_under_a_shorter_limit_is_tried_again(void)
{
    struct api_fixture hasty, patient;
    struct call calls[2];
    jit_gemm_context_options options = api_fixture_options(&hasty);
    options.compile_limit_ms = 1000;
    api_fixture_open_with(&hasty, &options, 0);
    api_fixture_open(&patient);
    register_broken(&hasty);
    register_broken(&patient);
    jg_compiler_dummy_hold(hasty.compiler, true);
    begin(&calls[0], &hasty, BROKEN);
    api_fixture_wait_for_held(&hasty, 1);
    begin(&calls[1], &patient, BROKEN);
    wait_for_waiters(1);

    jg_compiler_dummy_hold(hasty.compiler, false);

    end(&calls[0]);
    end(&calls[1]);
    expect(calls[1].status == JIT_GEMM_ERR_COMPILE, "it is broken all the same");
    expect(jg_compiler_dummy_calls(patient.compiler) == 1, "but was tried");
    api_fixture_close(&hasty);
    api_fixture_close(&patient);
}

static void a_manifest_that_names_one_key_four_times_compiles_it_once(void)
{
    static const char manifest[] = "jit_gemm manifest 1\n"
                                   "problem 512x512x512 bf16\n"
                                   "problem 512x512x512 bf16 max_registers=210\n"
                                   "problem 512x512x512 bf16 max_registers=220\n"
                                   "problem 512x512x512 bf16 max_registers=230\n";
    struct api_fixture fixture;
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    const jit_gemm_prewarm_options options = {.struct_size = sizeof(options), .jobs = 4};
    api_fixture_open(&fixture);

    const jit_gemm_status status =
        jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), &options, &result);

    expect(status == JIT_GEMM_OK, "prewarm");
    expect(jg_compiler_dummy_calls(fixture.compiler) == 1, "one compile");
    expect(api_fixture_stats(&fixture).compiles == 1, "in the stats");
    expect(result.total == 4 && result.compiled == 1 && result.cached == 3, "the result");
    api_fixture_close(&fixture);
}

int main(void)
{
    one_key_is_compiled_once_for_all_threads_and_contexts();
    a_failure_is_given_to_all_who_wait();
    who_waits_ends_by_its_own_cancel_and_limit();
    who_waited_for_a_cancelled_compile_begins_it_again();
    a_failure_under_a_shorter_limit_is_tried_again();
    for (int i = 0; i < 20; i++) {
        a_manifest_that_names_one_key_four_times_compiles_it_once();
    }
    return plain_end("once threads");
}
