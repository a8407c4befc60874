/* SPDX-License-Identifier: MIT */
/* Debug builds and traces: what the kernel is given, and what is made of its slots. */
#include <criterion/criterion.h>
#include <string.h>

#include "api_fixture.h"
#include "jit_gemm/debug.h"

/* As jg/debug/waits.cuh has it. */
struct slot {
    uint32_t state, role, cta, sm, warp, ring, side, stage, parity, row, col, batch, split,
        rest[3];
};

static jit_gemm *create(struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return gemm;
}

/* Where the kernel was told that its slots are. */
static struct slot *slots_of(const struct api_fixture *fixture)
{
    uint64_t address;
    memcpy(&address, fixture->fake->variable, sizeof(address));
    return (struct slot *)(uintptr_t)address;
}

Test(debug, ordinary_kernels_have_neither)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");

    cr_expect_eq(jit_gemm_debug_report(gemm, NULL, 0, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "debug=1"));
    cr_expect_eq(jit_gemm_trace_attach(gemm, 256, 1, 1), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "trace=1"));
    cr_expect_null(slots_of(&fixture));
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(debug, report_says_who_waited_for_what)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16 config=debug=1");
    struct slot *slots = slots_of(&fixture);
    char text[1024];
    size_t length = 7;
    cr_assert_not_null(slots);

    slots[1] = (struct slot){.state = 1, .role = 3, .warp = 1};
    cr_expect_eq(jit_gemm_debug_report(gemm, text, sizeof(text), &length), JIT_GEMM_OK);
    cr_expect(length == 0 && text[0] == '\0', "nobody gave up: %s", text);

    slots[16 * 5 + 4] = (struct slot){.state = 2,
                                      .cta = 5,
                                      .sm = 9,
                                      .warp = 4,
                                      .side = 1,
                                      .stage = 3,
                                      .parity = 1,
                                      .row = 256,
                                      .col = 640,
                                      .batch = 2};
    slots[16 * 1023 + 15] = (struct slot){.state = 2, .role = 1, .warp = 15, .ring = 2};
    cr_expect_eq(jit_gemm_debug_report(gemm, text, sizeof(text), &length), JIT_GEMM_OK);
    cr_expect_str_eq(
        text, "CTA 5 on multiprocessor 9, warp 4, role load, tile at row 256 column 640 "
              "batch 2: waited in vain until stage 3 of input tiles was empty, parity 1\n"
              "CTA 0 on multiprocessor 0, warp 15, role mma, tile at row 0 column 0: "
              "waited in vain until stage 0 of accumulators was full, parity 0\n"
              "Others, at their last tile:\n"
              "CTA 0 on multiprocessor 0, warp 1, role epilogue, tile at row 0 column 0\n");
    cr_expect_eq(length, strlen(text));
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(debug, report_says_which_part_of_k_waited_for_how_many)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16 config=split_k=4 debug=1");
    char text[1024];

    slots_of(&fixture)[0] = (struct slot){
        .state = 2, .role = 3, .ring = 9, .stage = 3, .parity = 1, .row = 128, .split = 3};
    cr_expect_eq(jit_gemm_debug_report(gemm, text, sizeof(text), NULL), JIT_GEMM_OK);
    cr_expect_str_eq(text,
                     "CTA 0 on multiprocessor 0, warp 0, role epilogue, tile at row 128 "
                     "column 0, part 3 of K: waited in vain for 3 parts of the tile's sum, "
                     "found 1\n");
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(debug, slots_are_given_back)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16 config=debug=1");
    cr_expect_eq(atomic_load(&fixture.fake->allocations), 1);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&fixture.context);
    cr_expect_eq(atomic_load(&fixture.fake->allocations), 0);
    api_fixture_close(&fixture);
}

Test(debug, trace_buffer_reaches_the_kernel)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16 config=trace=1");
    struct {
        uint64_t address;
        uint32_t ctas, events;
    } given;

    cr_expect_eq(jit_gemm_trace_attach(gemm, 4096, 148, 6), JIT_GEMM_OK);
    memcpy(&given, fixture.fake->variable, sizeof(given));
    cr_expect(given.address == 4096 && given.ctas == 148 && given.events == 6);
    cr_expect_eq(jit_gemm_trace_attach(gemm, 4100, 148, 6), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "multiple of 32"));
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(debug, tracks_have_names)
{
    cr_expect_str_eq(jit_gemm_trace_track_name(0), "load");
    cr_expect_str_eq(jit_gemm_trace_track_name(2), "mma");
    cr_expect_str_eq(jit_gemm_trace_track_name(6), "epilogue");
    cr_expect_null(jit_gemm_trace_track_name(15));
    cr_expect_null(jit_gemm_trace_track_name(16));
}
