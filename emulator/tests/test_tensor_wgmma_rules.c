/* SPDX-License-Identifier: MIT */
/* wgmma used against its rules: each misuse is found, in every mode, and named. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_tensor_support.h"

#define IMAGE_BYTES 16384u
/* 64 rows of 128 bytes, K-major; B behind it. */
#define DESCRIPTOR UINT64_C(0x4000004000010000)
#define MMA_TO     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
#define D_0        "{%%r200, %%r201, %%r202, %%r203}"
#define D_1        "{%%r204, %%r205, %%r206, %%r207}"
#define MMA_0      MMA_TO D_0 ", %%d10, %%d11, 0, 1, 1, 0, 0;\n"
#define MMA_1      MMA_TO D_1 ", %%d10, %%d11, 0, 1, 1, 0, 0;\n"
#define FENCE      "wgmma.fence.sync.aligned;\n"
#define COMMIT     "wgmma.commit_group.sync.aligned;\n"
#define WAIT       "wgmma.wait_group.sync.aligned 0;\n"
#define STORE_0    "st.global.u32 [%%d1], %%r200;\n"
#define STORE_1    "st.global.u32 [%%d1], %%r204;\n"

static void start(struct emu_text *text)
{
    begin_kernel(text, 90, 128, IMAGE_BYTES);
    add_descriptor(text, 10, DESCRIPTOR, 0);
    add_descriptor(text, 11, DESCRIPTOR, 8192);
    emu_text_add(text, "setp.eq.u32 %%p6, %%r0, 0;\n");
}

/* Runs the body in every mode of asynchrony; `finding` EMU_FINDING_COUNT: it is legal. */
static void expect_finding(const char *body, enum emu_finding finding, const char *words)
{
    static const enum emu_async_mode modes[] = {EMU_ASYNC_EAGER, EMU_ASYNC_LATEST,
                                                EMU_ASYNC_RANDOM, EMU_ASYNC_REORDER};
    static const uint8_t image[IMAGE_BYTES];
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct harness h;
        struct emu_text text = {0};
        uint64_t out = 0;
        harness_open(&h);
        h.settings.async = modes[i];
        start(&text);
        emu_text_add(&text, body, 0);
        end_kernel(&text);
        bool good = run_kernel(&h, &text, image, IMAGE_BYTES, 1, 128, 1, &out, 1024);
        if (finding == EMU_FINDING_COUNT) {
            cr_expect(good, "mode %zu: %s\n%s", i, body, harness_text(&h));
        } else {
            cr_expect_not(good, "mode %zu: %s", i, body);
            cr_expect_geq(harness_found(&h, finding), 1, "mode %zu: %s\n%s", i, body,
                          harness_text(&h));
            cr_expect_not_null(strstr(harness_text(&h), words), "%s: %s", words,
                               harness_text(&h));
        }
        harness_close(&h);
    }
}

Test(emu_tensor_wgmma_rules, the_canonical_sequence_is_legal)
{
    expect_finding(FENCE MMA_0 COMMIT WAIT "@%%p6 " STORE_0, EMU_FINDING_COUNT, "");
    expect_finding(FENCE MMA_0 COMMIT MMA_1 COMMIT
                   "wgmma.wait_group.sync.aligned 1;\n@%%p6 " STORE_0 WAIT "@%%p6 " STORE_1,
                   EMU_FINDING_COUNT, "");
}

Test(emu_tensor_wgmma_rules, a_fence_comes_before_the_first_operation)
{
    expect_finding(MMA_0 COMMIT WAIT, EMU_FINDING_ILLEGAL, "wgmma.fence is missing");
    expect_finding(FENCE MMA_0 COMMIT WAIT MMA_0 COMMIT WAIT, EMU_FINDING_ILLEGAL,
                   "wgmma.fence is missing");
}

Test(emu_tensor_wgmma_rules, results_are_undefined_before_the_wait)
{
    expect_finding(FENCE MMA_0 COMMIT STORE_0 WAIT, EMU_FINDING_UNDEFINED, "stored");
    expect_finding("mov.b32 %%r200, 0;\n" FENCE MMA_0 COMMIT STORE_0 WAIT,
                   EMU_FINDING_UNDEFINED, "stored");
    /* a wait without the group that has the operation */
    expect_finding(FENCE MMA_0 WAIT STORE_0, EMU_FINDING_UNDEFINED, "stored");
    expect_finding(FENCE MMA_0 COMMIT MMA_1 COMMIT
                   "wgmma.wait_group.sync.aligned 1;\n" STORE_1,
                   EMU_FINDING_UNDEFINED, "stored");
}

Test(emu_tensor_wgmma_rules, accumulators_must_not_be_written_in_flight)
{
    expect_finding(FENCE MMA_0 COMMIT "mov.b32 %%r202, 0;\n" WAIT, EMU_FINDING_IN_FLIGHT,
                   "register 2 of D");
    expect_finding(FENCE MMA_0 "mov.b32 %%r201, 0;\n" MMA_0 COMMIT WAIT,
                   EMU_FINDING_IN_FLIGHT, "accumulator register 1");
    expect_finding(FENCE MMA_0 COMMIT MMA_TO "{%%r202, %%r203, %%r204, %%r205}, %%d10, "
                                             "%%d11, 0, 1, 1, 0, 0;\n" COMMIT WAIT,
                   EMU_FINDING_IN_FLIGHT, "shares registers");
}

Test(emu_tensor_wgmma_rules, a_in_registers_must_stay_as_it_is)
{
    expect_finding("mov.b32 %%r100, 0;\nmov.b32 %%r101, 0;\nmov.b32 %%r102, 0;\n"
                   "mov.b32 %%r103, 0;\n" FENCE MMA_TO D_0
                   ", {%%r100, %%r101, %%r102, %%r103}, %%d11, 0, 1, 1, 0;\n" COMMIT
                   "mov.b32 %%r103, 5;\n" WAIT,
                   EMU_FINDING_IN_FLIGHT, "register 3 of A");
}

Test(emu_tensor_wgmma_rules, operands_must_be_defined)
{
    expect_finding(FENCE MMA_TO D_0 ", %%d10, %%d11, 1, 1, 1, 0, 0;\n" COMMIT WAIT,
                   EMU_FINDING_UNDEFINED, "D, which scale-d asks for");
    expect_finding(FENCE MMA_TO D_0 ", {%%r100, %%r101, %%r102, %%r103}, %%d11, 0, 1, 1, "
                                    "0;\n",
                   EMU_FINDING_UNDEFINED, "A of wgmma");
    expect_finding(FENCE MMA_TO D_0 ", %%d20, %%d11, 0, 1, 1, 0, 0;\n",
                   EMU_FINDING_UNDEFINED, "descriptor of A");
    expect_finding(FENCE MMA_TO D_0 ", %%d10, %%d11, %%p9, 1, 1, 0, 0;\n",
                   EMU_FINDING_UNDEFINED, "scale-d");
}

Test(emu_tensor_wgmma_rules, writes_of_threads_need_the_proxy_fence)
{
    expect_finding("st.shared.u32 [%%r2], %%r0;\nbar.sync 0;\n" FENCE MMA_0 COMMIT WAIT,
                   EMU_FINDING_RACE, "");
    expect_finding(
        "@%%p6 st.shared.u32 [%%r2], %%r0;\nbar.sync 0;\n" FENCE MMA_0 COMMIT WAIT,
        EMU_FINDING_PROXY_FENCE, "");
    expect_finding("@%%p6 st.shared.u32 [%%r2], %%r0;\nfence.proxy.async;\n"
                   "bar.sync 0;\n" FENCE MMA_0 COMMIT WAIT,
                   EMU_FINDING_COUNT, "");
    expect_finding(
        "@%%p6 st.shared.u32 [%%r2], %%r0;\nfence.proxy.async;\n" FENCE MMA_0 COMMIT WAIT,
        EMU_FINDING_RACE, "");
}

Test(emu_tensor_wgmma_rules, tiles_must_not_be_overwritten_before_the_wait)
{
    expect_finding(FENCE MMA_0 COMMIT "@%%p6 st.shared.u32 [%%r2], %%r0;\n" WAIT,
                   EMU_FINDING_RACE, "");
    expect_finding(FENCE MMA_0 COMMIT WAIT "@%%p6 st.shared.u32 [%%r2], %%r0;\n",
                   EMU_FINDING_COUNT, "");
}

Test(emu_tensor_wgmma_rules, the_warpgroup_goes_together)
{
    expect_finding("setp.lt.u32 %%p7, %%r1, 3;\n" FENCE "@%%p7 bra first;\n" MMA_1
                   "bra joined;\nfirst:\n" MMA_0 "joined:\n" COMMIT WAIT,
                   EMU_FINDING_DIVERGENCE, "other warps of the warpgroup");
    expect_finding("setp.eq.u32 %%p7, %%r1, 3;\n" FENCE "@%%p7 bra joined;\n" MMA_0
                   "joined:\n",
                   EMU_FINDING_DEADLOCK, "missing are warps 3");
    expect_finding(FENCE "@%%p6 " MMA_0, EMU_FINDING_DIVERGENCE, "all 32 lanes");
    /* descriptors that differ between warps */
    expect_finding("cvt.u64.u32 %%d12, %%r1;\nadd.s64 %%d10, %%d10, %%d12;\n" FENCE MMA_0,
                   EMU_FINDING_DIVERGENCE, "descriptor of A differs");
}

Test(emu_tensor_wgmma_rules, descriptors_are_checked)
{
    expect_finding("or.b64 %%d10, %%d10, 0x2000000000000;\n" FENCE MMA_0,
                   EMU_FINDING_DESCRIPTOR, "base offset");
    expect_finding("or.b64 %%d11, %%d11, 0x400000000000;\n" FENCE MMA_0,
                   EMU_FINDING_DESCRIPTOR, "bits 46-48");
    /* 0x3000 bytes of stride from one group of 8 rows to the next leave the memory */
    expect_finding("or.b64 %%d10, %%d10, 0x30000000000;\n" FENCE MMA_0 COMMIT WAIT,
                   EMU_FINDING_OUT_OF_BOUNDS, "");
}

Test(emu_tensor_wgmma_rules, what_is_not_supported_is_refused_by_name)
{
    static const struct {
        const char *insn, *part;
    } cases[] = {
        {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, %r0, 0, 1, 1, 1, 0, 0;\n",
         "sparse"},
        {"wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, 0;\n",
         "types are not supported"},
        {"wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16 "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, 0, 1, 1, 0, 0;\n",
         "shape is not legal"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.f16 "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, 0, 1, 1, 0, 0;\n",
         "combination of types"},
        {"wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, 0, 1, 1, 0, 0;\n",
         "D has 4 registers; its shape takes 8"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, 0, 2, 1, 0, 0;\n",
         "imm-scale-a is 2"},
        {"wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, 0, 1, 1, 0, 0;\n",
         "operands"},
        {"wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 "
         "{%r200, %r201, %r202, %r203}, %d10, %d11, 0;\n",
         "no such N"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct harness h;
        struct emu_text text = {0};
        harness_open(&h);
        start(&text);
        emu_text_add(&text, "%s", cases[i].insn);
        end_kernel(&text);
        cr_expect_not(harness_try_load(&h, emu_text_get(&text)), "%s", cases[i].insn);
        cr_expect_not_null(strstr(h.error.text, cases[i].part), "%s: %s", cases[i].part,
                           h.error.text);
        emu_text_free(&text);
        harness_close(&h);
    }
}
