/* SPDX-License-Identifier: MIT */
/*
 * Two products in a row, the first of which computes the elements and the scales that the
 * second multiplies by, on the emulator. The second grid begins before the first has ended:
 * what it reads too early is a race, or other bits than those of launches one by one.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/scales.h"

enum { M = 130, N = 128, K = 64, LAST = 40, MOST = 1 << 16 };

/* D of the first is A of the second. */
static const struct chain {
    const char *arch, *first, *second;
    uint32_t packed_to; /* of the scales between them; as they are where it is none */
} chains[] = {
    {"sm_100a", "d=mxfp8", "a=mxfp8", UINT32_MAX},
    {"sm_100a", "d=nvfp4", "a=nvfp4", UINT32_MAX},
    {"sm_100a", "d=mxfp8 d_scale_layout=row", "a=mxfp8", JIT_GEMM_SCALE_LAYOUT_128X4},
    {"sm_100a", "d=mxfp8 d_scale_layout=row", "a=mxfp8 a_scale_layout=row", UINT32_MAX},
    {"sm_100a", "d=nvfp4 d_scale_layout=row", "a=nvfp4 a_scale_layout=row", UINT32_MAX},
    {"sm_100a", "d=mxfp4 d_scale_layout=8x4", "a=mxfp4 a_scale_layout=8x4 b=mxfp8",
     UINT32_MAX},
    {"sm_100a", "d=e4m3 d_scale=1x128ue8m0 d_scale_layout=128x4",
     "a=e4m3 a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=128x128ue8m0", UINT32_MAX},
    {"sm_100a", "d=e5m2 d_scale=1x128ue8m0 d_scale_layout=mn_k4",
     "a=e5m2 a_scale=1x128ue8m0 a_scale_layout=mn_k4 b=e4m3 b_scale=1x128ue8m0",
     UINT32_MAX},
    {"sm_100a", "d=e4m3 d_scale=1x128", "a=e4m3 a_scale=1x128 b_scale=128x128", UINT32_MAX},
    {"sm_90a", "d=e4m3 d_scale=1x128 d_scale_layout=column",
     "a=e4m3 a_scale=1x128 a_scale_layout=column b_scale=128x128", UINT32_MAX},
    {"sm_90a", "d=e4m3 d_scale=1x128",
     "a=e4m3 a_scale=1x128 a_scale_layout=column "
     "b_scale=128x128",
     JIT_GEMM_SCALE_LAYOUT_COLUMN},
};

/* Kernels of a chain, and its memory on the device. */
struct setting {
    jit_gemm_context *context;
    jit_gemm *first, *second;
    jit_gemm_packer *packer; /* or NULL */
    uint64_t a, b, d, d_scale, packed, weights, weight_scale, result, workspace;
};

static uint64_t upload_filled(jit_gemm_context *context, unsigned first, unsigned step,
                              unsigned codes)
{
    static unsigned char bytes[MOST];
    for (unsigned i = 0; i < MOST; i++) {
        bytes[i] = (unsigned char)(first + i * step % codes);
    }
    return emulated_upload(context, bytes, MOST);
}

/* bf16 from 1 to 2, of either sign. */
static uint64_t upload_bf16(jit_gemm_context *context, unsigned seed)
{
    static unsigned short values[MOST / 2];
    for (unsigned i = 0; i < MOST / 2; i++) {
        values[i] =
            (unsigned short)(0x3f80 + (i * seed) % 251 % 128 + (i % 3 == 0 ? 0x8000 : 0));
    }
    return emulated_upload(context, values, MOST);
}

static uint64_t upload_weight_scales(jit_gemm_context *context, const jit_gemm_scale *scale)
{
    static float ones[MOST / 4];
    if (scale->dtype != JIT_GEMM_DTYPE_F32) {
        return upload_filled(context, scale->dtype == JIT_GEMM_DTYPE_UE8M0 ? 126 : 0x38, 1,
                             3);
    }
    for (int i = 0; i < MOST / 4; i++) {
        ones[i] = 1.5F;
    }
    return emulated_upload(context, ones, MOST);
}

static struct setting open_setting(const struct chain *chain, const char *settings)
{
    char text[160];
    struct setting s = {.context = emulated_open(chain->arch, settings)};
    snprintf(text, sizeof(text), "m=%d n=%d k=%d a=bf16 %s", M, N, K, chain->first);
    const jit_gemm_problem first = emulated_problem(text);
    snprintf(text, sizeof(text), "m=%d n=%d k=%d d=f32 %s", M, LAST, N, chain->second);
    const jit_gemm_problem second = emulated_problem(text);
    s.first = emulated_create(s.context, &first);
    s.second = emulated_create(s.context, &second);
    if (chain->packed_to != UINT32_MAX) {
        emulated_check(
            jit_gemm_packer_create(s.context, &first.d.scale, chain->packed_to, &s.packer));
    }
    s.a = upload_bf16(s.context, 7);
    s.b = upload_bf16(s.context, 13);
    s.d = upload_filled(s.context, 0x7f, 0, 1);
    s.d_scale = upload_filled(s.context, 0xff, 0, 1);
    s.packed = upload_filled(s.context, 0xff, 0, 1);
    s.weights = upload_filled(s.context, 0x20, 5, 0x18);
    s.weight_scale = upload_weight_scales(s.context, &second.b.scale);
    s.result = upload_filled(s.context, 0xff, 0, 1);
    s.workspace = upload_filled(s.context, 0, 0, 1);
    return s;
}

static void wait_if(const struct setting *s, bool is_one_by_one)
{
    if (is_one_by_one) {
        emulated_check(jit_gemm_device_synchronize(s->context));
    }
}

static void run(const struct setting *s, bool is_one_by_one, float *ret_result)
{
    const jit_gemm_args first = {.struct_size = sizeof(first),
                                 .a = {.pointer = s->a},
                                 .b = {.pointer = s->b},
                                 .d = {.pointer = s->d},
                                 .d_scale = {.pointer = s->d_scale}};
    emulated_check(jit_gemm_run(s->first, &first, NULL));
    wait_if(s, is_one_by_one);
    if (s->packer != NULL) {
        const jit_gemm_packer_args pack = {.struct_size = sizeof(pack),
                                           .mn = M,
                                           .k = N,
                                           .from = s->d_scale,
                                           .to = s->packed};
        emulated_check(jit_gemm_packer_run(s->packer, &pack, NULL));
        wait_if(s, is_one_by_one);
    }
    const jit_gemm_args second = {
        .struct_size = sizeof(second),
        .a = {.pointer = s->d},
        .b = {.pointer = s->weights},
        .d = {.pointer = s->result},
        .a_scale = {.pointer = s->packer != NULL ? s->packed : s->d_scale},
        .b_scale = {.pointer = s->weight_scale},
        .workspace = s->workspace,
        .workspace_bytes = MOST};
    emulated_check(jit_gemm_run(s->second, &second, NULL));
    emulated_check(jit_gemm_device_download(s->context, ret_result, s->result,
                                            M * LAST * sizeof(float)));
}

static void close_setting(struct setting *s)
{
    const uint64_t addresses[] = {s->a,       s->b,         s->d,
                                  s->d_scale, s->packed,    s->weights,
                                  s->result,  s->workspace, s->weight_scale};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        emulated_free(s->context, addresses[i]);
    }
    jit_gemm_packer_destroy(&s->packer);
    jit_gemm_destroy(&s->first);
    jit_gemm_destroy(&s->second);
    jit_gemm_context_destroy(&s->context);
}

Test(scale_chain, a_product_waits_for_the_scales_of_the_one_before, .timeout = 300)
{
    static const char *const settings[] = {"sms=4,async=latest,seed=1",
                                           "sms=2,async=random,schedule=starve,seed=2"};
    static float wanted[M * LAST], got[M * LAST];
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        struct setting one_by_one = open_setting(&chains[i], settings[0]);
        run(&one_by_one, true, wanted);
        close_setting(&one_by_one);
        for (int j = 0; j < M * LAST; j++) {
            cr_assert(wanted[j] > -1e9F && wanted[j] < 1e9F, "%s: element %d",
                      chains[i].first, j);
        }
        for (size_t j = 0; j < sizeof(settings) / sizeof(settings[0]); j++) {
            struct setting s = open_setting(&chains[i], settings[j]);
            uint64_t findings = 1;
            run(&s, false, got);
            emulated_check(jit_gemm_device_findings(s.context, &findings));
            cr_expect_eq(findings, 0, "%s", settings[j]);
            cr_expect_eq(memcmp(got, wanted, sizeof(got)), 0, "%s, %s to %s", settings[j],
                         chains[i].first, chains[i].second);
            close_setting(&s);
        }
    }
}
