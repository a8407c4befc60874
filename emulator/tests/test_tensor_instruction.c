/* SPDX-License-Identifier: MIT */
/* Instruction descriptors of tcgen05.mma. */
#include "tensor/instruction.h"

#include <criterion/criterion.h>
#include <string.h>

Test(emu_tensor_instruction, reads_the_descriptors_that_known_good_code_builds)
{
    static const struct {
        uint32_t bits;
        enum emu_mma_kind kind;
        unsigned group, factors, m, n;
        enum emu_format a, b, d;
        bool a_mn, b_mn;
    } cases[] = {
        {0x04080490, EMU_KIND_F16, 1, 0, 64, 32, EMU_BF16, EMU_BF16, EMU_F32, 0, 0},
        {0x08200490, EMU_KIND_F16, 1, 0, 128, 128, EMU_BF16, EMU_BF16, EMU_F32, 0, 0},
        {0x08400490, EMU_KIND_F16, 1, 0, 128, 256, EMU_BF16, EMU_BF16, EMU_F32, 0, 0},
        {0x10200490, EMU_KIND_F16, 2, 0, 256, 128, EMU_BF16, EMU_BF16, EMU_F32, 0, 0},
        {0x10400490, EMU_KIND_F16, 2, 0, 256, 256, EMU_BF16, EMU_BF16, EMU_F32, 0, 0},
        {0x08208490, EMU_KIND_F16, 1, 0, 128, 128, EMU_BF16, EMU_BF16, EMU_F32, 1, 0},
        {0x08210490, EMU_KIND_F16, 1, 0, 128, 128, EMU_BF16, EMU_BF16, EMU_F32, 0, 1},
        {0x08200010, EMU_KIND_F16, 1, 0, 128, 128, EMU_F16, EMU_F16, EMU_F32, 0, 0},
        {0x08200000, EMU_KIND_F16, 1, 0, 128, 128, EMU_F16, EMU_F16, EMU_F16, 0, 0},
        {0x08200910, EMU_KIND_TF32, 1, 0, 128, 128, EMU_TF32, EMU_TF32, EMU_F32, 0, 0},
        {0x08200010, EMU_KIND_F8F6F4, 1, 0, 128, 128, EMU_E4M3, EMU_E4M3, EMU_F32, 0, 0},
        {0x08200090, EMU_KIND_F8F6F4, 1, 0, 128, 128, EMU_E5M2, EMU_E4M3, EMU_F32, 0, 0},
        {0x082004a0, EMU_KIND_I8, 1, 0, 128, 128, EMU_S8, EMU_S8, EMU_S8, 0, 0},
        {0x08a00000, EMU_KIND_MXF8F6F4, 1, 1, 128, 128, EMU_E4M3, EMU_E4M3, EMU_F32, 0, 0},
        {0x10c00000, EMU_KIND_MXF8F6F4, 2, 1, 256, 256, EMU_E4M3, EMU_E4M3, EMU_F32, 0, 0},
        {0x08a00480, EMU_KIND_MXF4, 1, 2, 128, 128, EMU_E2M1, EMU_E2M1, EMU_F32, 0, 0},
        {0x10400480, EMU_KIND_MXF4NVF4, 2, 4, 256, 256, EMU_E2M1, EMU_E2M1, EMU_F32, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_instruction got;
        struct emu_error error = {0};
        cr_assert(emu_instruction_decode(cases[i].kind, cases[i].group, cases[i].factors,
                                         cases[i].bits, &got, &error),
                  "case %zu: %s", i, error.text);
        cr_expect_eq(got.m, cases[i].m, "case %zu: M %u", i, got.m);
        cr_expect_eq(got.n, cases[i].n, "case %zu: N %u", i, got.n);
        cr_expect_eq(got.a, cases[i].a, "case %zu", i);
        cr_expect_eq(got.b, cases[i].b, "case %zu", i);
        cr_expect_eq(got.d, cases[i].d, "case %zu", i);
        cr_expect_eq(got.a_mn_major, cases[i].a_mn, "case %zu", i);
        cr_expect_eq(got.b_mn_major, cases[i].b_mn, "case %zu", i);
    }
}

Test(emu_tensor_instruction, scale_factors_have_their_type_and_ids)
{
    struct emu_instruction got;
    struct emu_error error = {0};
    cr_assert(emu_instruction_decode(EMU_KIND_MXF8F6F4, 1, 1,
                                     0x08a00000 | 3u << 29 | 2u << 4, &got, &error),
              "%s", error.text);
    cr_expect_eq(got.a_scale_id, 3);
    cr_expect_eq(got.b_scale_id, 2);
    cr_expect_eq(got.scale, EMU_UE8M0);
    cr_assert(emu_instruction_decode(EMU_KIND_MXF4NVF4, 1, 4, 0x08200480, &got, &error));
    cr_expect_eq(got.scale, EMU_UE4M3);
    cr_expect_eq(got.k, 64);
}

Test(emu_tensor_instruction, what_is_not_legal_is_named)
{
    static const struct {
        enum emu_mma_kind kind;
        unsigned group, factors;
        uint32_t bits;
        const char *part;
    } cases[] = {
        {EMU_KIND_F16, 1, 0, 0x08200494, "sparsity"},
        {EMU_KIND_F16, 1, 0, 0x08200491, "bit 0"},
        {EMU_KIND_F16, 1, 0, 0x08200498, "bit 3"},
        {EMU_KIND_F16, 1, 0, 0x082004d0, "bit 6"},
        {EMU_KIND_F16, 1, 0, 0x08a00490, "bit 23"},
        {EMU_KIND_F16, 1, 0, 0x28200490, "bit 29"},
        {EMU_KIND_F16, 1, 0, 0x48200490, "bit 30"},
        {EMU_KIND_F16, 1, 0, 0x08200480, "type of D"}, /* bf16 into f16 */
        {EMU_KIND_F16, 1, 0, 0x08200890, "type of B"},
        {EMU_KIND_F16, 1, 0, 0x08200410, "do not mix"}, /* f16 times bf16 */
        {EMU_KIND_F16, 1, 0, 0x10200490, "M (bits 24-28)"},
        {EMU_KIND_F16, 2, 0, 0x04200490, "M (bits 24-28)"},
        {EMU_KIND_F16, 1, 0, 0x08000490, "N (bits 17-22)"},
        {EMU_KIND_F16, 1, 0, 0x08420490, "N (bits 17-22)"}, /* 264 */
        {EMU_KIND_F16, 2, 0, 0x10220490, "N (bits 17-22)"}, /* 136 */
        {EMU_KIND_I8, 1, 0, 0x080a04a0, "N (bits 17-22)"},  /* 40 */
        {EMU_KIND_I8, 1, 0, 0x082024a0, "bit 13"},
        {EMU_KIND_TF32, 1, 0, 0x08200490, "type of A"},
        {EMU_KIND_MXF8F6F4, 1, 1, 0x08200000, "scale type"}, /* ue4m3 */
        {EMU_KIND_MXF4, 1, 2, 0x08a08480, "bit 15"},
        {EMU_KIND_MXF4, 1, 2, 0x28a00480, "scale factor id"},
        {EMU_KIND_MXF4, 1, 2, 0x88a00480, "K (bit 31)"},
        {EMU_KIND_MXF4NVF4, 2, 4, 0x90400480, "K (bit 31)"}, /* of sm_103a: K is 96 */
        {EMU_KIND_MXF8F6F4, 1, 1, 0x04a00000, "bit 26"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct emu_instruction got;
        struct emu_error error = {0};
        cr_expect_not(emu_instruction_decode(cases[i].kind, cases[i].group,
                                             cases[i].factors, cases[i].bits, &got, &error),
                      "case %zu: %s", i, cases[i].part);
        cr_expect_not_null(strstr(error.text, cases[i].part), "case %zu, %s: %s", i,
                           cases[i].part, error.text);
    }
}
