/* SPDX-License-Identifier: MIT */
/* Wrong input: the code, and the words that a person needs. */
#include <criterion/criterion.h>
#include <string.h>

#include "api_fixture.h"

/* A problem with everything: C, two input operands and an output. */
static jit_gemm *create_fused(struct api_fixture *fixture)
{
    cr_assert_eq(jit_gemm_epilogue_register(fixture->context, &api_fused), JIT_GEMM_OK,
                 "%s", jit_gemm_last_error());
    const jit_gemm_problem problem =
        api_problem("m=512 n=256 k=128 batch=2 a=bf16 c=bf16 dynamic=m epilogue=fused");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return gemm;
}

struct row {
    const char *name;
    jit_gemm_status status;
    const char *field; /* how the last error begins */
    const char *words; /* what it contains */
};

struct call {
    jit_gemm_args args;
    jit_gemm_arg operands[3];
};

/* Makes the mistake that the row is about. */
static void make_mistake(int index, struct call *call)
{
    jit_gemm_args *args = &call->args;
    switch (index) {
    case 0:
        args->a.pointer = 0;
        break;
    case 1:
        args->b.pointer += 1;
        break;
    case 2:
        args->b.pointer += 8;
        break;
    case 3:
        args->d.pointer = 0;
        break;
    case 4:
        args->c.pointer = 0;
        break;
    case 5:
        args->a.ld = 127;
        break;
    case 6:
        args->a.ld = -128;
        break;
    case 7:
        args->a.ld = 129;
        break;
    case 8:
        args->b.ld = INT64_C(1) << 40;
        break;
    case 9:
        args->c.ld = INT64_MAX / 2;
        break;
    case 10:
        args->d.ld = 260;
        break;
    case 11:
        args->m = -2;
        break;
    case 12:
        args->m = INT64_C(1) << 31;
        break;
    case 13:
        args->n = 255;
        break;
    case 14:
        args->a.batch_stride = -2;
        break;
    case 15:
        args->d.batch_stride = JIT_GEMM_STRIDE_BROADCAST;
        break;
    case 16:
        args->d.batch_stride = 256;
        break;
    case 17:
        args->operand_count = 2;
        break;
    case 18:
        args->operands = NULL;
        break;
    case 19:
        call->operands[0].pointer += 2;
        break;
    case 20:
        call->operands[0].ld = 256;
        break;
    case 21:
        call->operands[1].reserved = 1;
        break;
    case 22:
        call->operands[1].pointer += 2;
        break;
    case 23:
        call->operands[2].pointer = 0;
        break;
    case 24:
        call->operands[2].batch_stride = JIT_GEMM_STRIDE_BROADCAST;
        break;
    case 25:
        args->alpha_device = 2;
        break;
    case 26:
        args->a.pointer = UINT64_MAX - 255;
        break;
    case 27:
        args->b.batch_stride = 12345;
        break;
    case 28:
        call->operands[1].ld = 255;
        break;
    case 29:
        args->b.reserved = 2;
        break;
    case 30:
        args->d.value = 0.5F;
        break;
    case 31:
        call->operands[0].value = 1;
        break;
    case 32:
        call->operands[2].value = -1;
        break;
    case 33:
        args->a_scale.reserved = 1;
        break;
    case 34:
        args->b_scale.value = 3;
        break;
    case 35:
        args->a_scale.ld = 100;
        break;
    default:
        cr_assert_fail("no such row");
    }
}

Test(bad_input, every_argument_of_a_run)
{
    static const struct row rows[] = {
        {"NULL a", JIT_GEMM_ERR_ARGUMENT, "args.a.pointer:", "is NULL"},
        {"odd b", JIT_GEMM_ERR_ARGUMENT, "args.b.pointer:", "misaligned"},
        {"b at 8 bytes", JIT_GEMM_ERR_UNSUPPORTED, "args.b.pointer:",
         "align the address to 16 bytes, or create a kernel for less: input_align=8"},
        {"NULL d", JIT_GEMM_ERR_ARGUMENT, "args.d.pointer:", "is NULL"},
        {"NULL c", JIT_GEMM_ERR_ARGUMENT, "args.c.pointer:", "is NULL"},
        {"short lda", JIT_GEMM_ERR_ARGUMENT, "args.a.ld:", "less than its row of 128"},
        {"negative lda", JIT_GEMM_ERR_ARGUMENT, "args.a.ld:", "at least 128"},
        {"odd lda", JIT_GEMM_ERR_UNSUPPORTED, "args.a.ld:", "for instance 136"},
        {"oversized ldb", JIT_GEMM_ERR_UNSUPPORTED, "args.b.ld:", "2^40 bytes"},
        {"overflowing ldc", JIT_GEMM_ERR_UNSUPPORTED, "args.c.ld:", "2^40 bytes"},
        {"ldd not 16 bytes", JIT_GEMM_ERR_UNSUPPORTED, "args.d.ld:",
         "multiple of 8 elements, for instance 264, and give that here, or create a kernel "
         "for less: output_align="},
        {"negative m", JIT_GEMM_ERR_ARGUMENT, "args.m:", "out of range"},
        {"large m", JIT_GEMM_ERR_ARGUMENT, "args.m:", "2147483647"},
        {"other n", JIT_GEMM_ERR_ARGUMENT, "args.n:", "compiled for"},
        {"negative stride", JIT_GEMM_ERR_ARGUMENT, "args.a.batch_stride:", "negative"},
        {"broadcast d", JIT_GEMM_ERR_ARGUMENT, "args.d.batch_stride:", "is written"},
        {"overlapping d", JIT_GEMM_ERR_ARGUMENT, "args.d.batch_stride:", "overlap"},
        {"two operands", JIT_GEMM_ERR_ARGUMENT, "args.operand_count:", "declares 3"},
        {"no operands", JIT_GEMM_ERR_ARGUMENT, "args.operands:", "is NULL"},
        {"row vector", JIT_GEMM_ERR_UNSUPPORTED, "args.operands[0].pointer:",
         "of bias is misaligned: this kernel moves 4 bytes at a time; align the address to 4 "
         "bytes, or create a kernel for less: output_align=2"},
        {"ld of a vector", JIT_GEMM_ERR_ARGUMENT, "args.operands[0].ld:", "row_vector"},
        {"reserved", JIT_GEMM_ERR_ARGUMENT, "args.operands[1].reserved:", "zero"},
        {"matrix", JIT_GEMM_ERR_UNSUPPORTED, "args.operands[1].pointer:",
         "align the address to 16 bytes, or create a kernel for less: output_align="},
        {"NULL output", JIT_GEMM_ERR_ARGUMENT, "args.operands[2].pointer:", "aux is NULL"},
        {"output", JIT_GEMM_ERR_ARGUMENT, "args.operands[2].batch_stride:", "is written"},
        {"alpha", JIT_GEMM_ERR_ARGUMENT, "args.alpha_device:", "multiple of 4"},
        {"end of memory", JIT_GEMM_ERR_ARGUMENT,
         "args.a.pointer:", "end of the address space"},
        {"stride of b", JIT_GEMM_ERR_UNSUPPORTED, "args.b.batch_stride:", "12345"},
        {"ld of r", JIT_GEMM_ERR_ARGUMENT, "args.operands[1].ld:", "less than its row"},
        {"reserved of b", JIT_GEMM_ERR_ARGUMENT,
         "args.b.reserved:", "must be zero, is 2 (B)"},
        {"value of d", JIT_GEMM_ERR_ARGUMENT,
         "args.d.value:", "D is a matrix and has no value (0.5); leave it zero"},
        {"value of a vector", JIT_GEMM_ERR_ARGUMENT,
         "args.operands[0].value:", "bias is a row_vector and has no value (1)"},
        {"value of aux", JIT_GEMM_ERR_ARGUMENT,
         "args.operands[2].value:", "aux is a matrix and has no value (-1)"},
        {"absent, reserved", JIT_GEMM_ERR_ARGUMENT,
         "args.a_scale.reserved:", "must be zero, is 1 (the scales)"},
        {"absent, value", JIT_GEMM_ERR_ARGUMENT,
         "args.b_scale.value:", "3 is given, but this problem has no scales of B"},
        {"absent, ld", JIT_GEMM_ERR_ARGUMENT, "args.a_scale.ld:", "100 is given"},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create_fused(&fixture);
    for (int i = 0; i < (int)(sizeof(rows) / sizeof(rows[0])); i++) {
        struct call call = {
            .args = {.struct_size = sizeof(call.args),
                     .a = {.pointer = 0x10000},
                     .b = {.pointer = 0x20000},
                     .c = {.pointer = 0x30000},
                     .d = {.pointer = 0x40000},
                     .m = 100,
                     .operand_count = 3},
            .operands = {{.pointer = 0x50004}, {.pointer = 0x60000}, {.pointer = 0x70000}}};
        call.args.operands = call.operands;
        cr_assert_eq(jit_gemm_run(gemm, &call.args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        const long launches = atomic_load(&fixture.fake->launches);
        make_mistake(i, &call);

        const jit_gemm_status status = jit_gemm_run(gemm, &call.args, NULL);

        cr_expect_eq(status, rows[i].status, "%s: %d, %s", rows[i].name, (int)status,
                     jit_gemm_last_error());
        cr_expect_eq(strncmp(jit_gemm_last_error(), rows[i].field, strlen(rows[i].field)),
                     0, "%s: %s", rows[i].name, jit_gemm_last_error());
        cr_expect(api_error_has(rows[i].words), "%s", rows[i].name);
        cr_expect_eq(atomic_load(&fixture.fake->launches), launches);
    }
    cr_expect_eq(jit_gemm_run(NULL, NULL, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("gemm: is NULL"));
    cr_expect_eq(jit_gemm_run(gemm, NULL, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args: is NULL"));
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, address_arithmetic_does_not_wrap)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem =
        api_problem("m=512 n=256 k=128 a=bf16 c=bf16 config=kernel=reference");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = 0x10000},
                          .b = {.pointer = 0x20000},
                          .c = {.pointer = 0x30000},
                          .d = {.pointer = 0x40000}};

    args.a.pointer = UINT64_MAX - 4095;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("past the end of the address space"));
    args.a.pointer = 0x10000;
    args.c.ld = INT64_C(1) << 61;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.c.ld:"));
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, strides_at_the_end_of_64_bits_are_refused_without_overflow)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem =
        api_problem("m=512 n=256 k=128 batch=2 a=bf16 input_align=8 output_align=8");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);
    const jit_gemm_args good = {.struct_size = sizeof(good),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x40000}};
    static const int64_t strides[] = {INT64_MAX,     INT64_MAX - 1, INT64_MAX - 2,
                                      INT64_MAX - 3, INT64_MAX / 2, INT64_MAX / 512};
    for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
        jit_gemm_args args = good;
        args.d.ld = strides[i];
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL) == JIT_GEMM_OK, false);
        cr_expect(api_error_has("args.d.ld:"));
        cr_expect_null(strstr(jit_gemm_last_error(), " -"), "%s", jit_gemm_last_error());
        args = good;
        args.d.batch_stride = strides[i];
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL) == JIT_GEMM_OK, false);
        cr_expect_null(strstr(jit_gemm_last_error(), " -"), "%s", jit_gemm_last_error());
    }
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, c_that_the_problem_does_not_have)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);
    const float two = 2.0F;
    const float zero = 0.0F;
    const jit_gemm_args good = {.struct_size = sizeof(good),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x40000}};

    jit_gemm_args args = good;
    args.c.pointer = 0x30000;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(
        api_error_has("args.c.pointer: an address is given, but this problem has no C"));
    args = good;
    args.c.ld = 512;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.c.ld: 512 is given, but this problem has no C; leave it "
                            "zero, or name a type of C in problem.c.dtype"));
    args = good;
    args.c.batch_stride = -1;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.c.batch_stride: -1 is given"));
    args = good;
    args.beta = &two;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.beta:"));
    args.beta = &zero;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, reserved_of_what_a_launch_does_not_read)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create_fused(&fixture);
    const float zero = 0.0F;
    jit_gemm_arg operands[] = {
        {.pointer = 0x50004}, {.pointer = 0x60000}, {.pointer = 0x70000}};
    const jit_gemm_args good = {.struct_size = sizeof(good),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x40000},
                                .operands = operands,
                                .operand_count = 3,
                                .m = 100,
                                .beta = &zero};

    /* C, unread because of beta: its strides are nobody's, the rest is checked. */
    jit_gemm_args args = good;
    args.c.ld = 3;
    args.c.batch_stride = -7;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    args.c.reserved = 4;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(
        api_error_has("args.c.reserved: must be zero, is 4 (C); set the whole entry"));
    args.c.reserved = 0;
    args.c.value = 2;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.c.value: C is a matrix and has no value (2)"));
    args = good;
    args.c = (jit_gemm_arg){.pointer = 0x30000, .ld = 3};
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.c.ld:"), "with a pointer it is checked");

    /* An empty launch reads nothing. */
    args = good;
    args.m = JIT_GEMM_SIZE_EMPTY;
    args.a.reserved = 1;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.a.reserved: must be zero, is 1 (A)"));
    args = good;
    args.m = JIT_GEMM_SIZE_EMPTY;
    operands[1].reserved = 9;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.operands[1].reserved: must be zero, is 9 (operand r)"));
    args.operand_count = 2; /* of another length than is declared: not looked at */
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, scales_that_the_problem_does_not_have_or_that_are_missing)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem none = api_problem("512x512x512 bf16");
    const jit_gemm_problem both =
        api_problem("m=512 n=511 k=512 batch=3 a=e4m3 d=f32 a_scale=tensor b_scale=vector");
    jit_gemm *plain = NULL, *scaled = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &none, &plain), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_create(fixture.context, &both, &scaled), JIT_GEMM_OK);
    const jit_gemm_args good = {.struct_size = sizeof(good),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x40000, .ld = 512},
                                .a_scale = {.pointer = 0x50004},
                                .b_scale = {.pointer = 0x60008, .batch_stride = 512}};

    jit_gemm_args args = good;
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    args.b_scale.batch_stride = JIT_GEMM_STRIDE_BROADCAST;
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_OK);
    args.b_scale.batch_stride = 0; /* 511: no multiple of the pairs that are read */
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("args.b_scale.batch_stride: the packed stride of 511"));
    args = good;
    args.a_scale.pointer = 0;
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.a_scale.pointer: the address of the scales is NULL"));
    args = good;
    args.b_scale.pointer += 4;
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has(
        "args.b_scale.pointer: the address 0x6000c of the scales is misaligned"));

    args = good;
    args.a_scale.ld = 1;
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.a_scale.ld: the scales are a scalar and have no leading "
                            "dimension (1); leave it zero"));
    args = good;
    args.b_scale.value = 2;
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(
        api_error_has("args.b_scale.value: the scales are a vector and have no value"));
    args = good;
    args.b_scale.reserved = 7;
    cr_expect_eq(jit_gemm_run(scaled, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.b_scale.reserved: must be zero, is 7"));

    args = good;
    args.d.ld = 0;
    cr_expect_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.a_scale.pointer: an address is given, but this problem "
                            "has no scales of A; leave it zero, or name a scale in "
                            "problem.a.scale.kind"));
    args.a_scale.pointer = 0;
    args.b_scale.pointer = 0;
    cr_expect_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.b_scale.batch_stride: 512 is given, but this problem has "
                            "no scales of B"));
    args.b_scale.batch_stride = 0;
    cr_expect_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_OK);
    args.struct_size = offsetof(jit_gemm_args, a_scale); /* an older caller */
    cr_expect_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_OK);
    jit_gemm_destroy(&plain);
    jit_gemm_destroy(&scaled);
    api_fixture_close(&fixture);
}

Test(bad_input, scales_of_d_that_cannot_be)
{
    static const struct {
        const char *what;
        jit_gemm_arg given;
        const char *message;
    } rows[] = {
        {"missing", {0}, "args.d_scale.pointer: the address of the scales is NULL"},
        {"misaligned",
         {.pointer = 0x50002},
         "args.d_scale.pointer: the address 0x50002 of the scales is misaligned"},
        {"ld",
         {.pointer = 0x50004, .ld = 4},
         "args.d_scale.ld: the scales are a packed tensor and have no leading dimension"},
        {"broadcast",
         {.pointer = 0x50004, .batch_stride = JIT_GEMM_STRIDE_BROADCAST},
         "args.d_scale.batch_stride: the scales are written and cannot be broadcast"},
        {"overlapping batches",
         {.pointer = 0x50004, .batch_stride = 5 * 304 - 1},
         "args.d_scale.batch_stride: the batches of the scales overlap: 1519 elements"},
        {"reserved", {.reserved = 1}, "args.d_scale.reserved: must be zero, is 1"},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("m=301 n=513 k=512 batch=3 a=e4m3 "
                                                 "d_scale=1x128 d_scale_layout=column "
                                                 "output_align=1");
    const jit_gemm_problem none = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL, *plain = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_assert_eq(jit_gemm_create(fixture.context, &none, &plain), JIT_GEMM_OK);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = 0x10000},
                          .b = {.pointer = 0x20000},
                          .d = {.pointer = 0x40000},
                          .d_scale = {.pointer = 0x50004}};
    fixture.fake->recording = 1;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
    cr_expect_eq(params->d_scale.pointer, 0x50004);
    cr_expect_eq(params->d_scale.ld, 304); /* 301 rows rounded up to 4 */
    cr_expect_eq(params->d_scale.batch_stride, 5 * 304);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        args.d_scale = rows[i].given;
        cr_expect_neq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", rows[i].what);
        cr_expect(api_error_has(rows[i].message), "%s: %s", rows[i].what,
                  jit_gemm_last_error());
    }
    args.d_scale = (jit_gemm_arg){.pointer = 0x50004};
    cr_expect_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.d_scale.pointer: an address is given, but this problem "
                            "has no scales of D; leave it zero, or name a scale in "
                            "problem.d.scale.kind"));
    args.struct_size = offsetof(jit_gemm_args, d_scale); /* an older caller */
    cr_expect_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_OK);
    jit_gemm_destroy(&plain);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, half_bytes_of_d_that_cannot_be)
{
    static const struct {
        int64_t n, ld, batch_stride;
        const char *message;
    } rows[] = {
        {515, 0, 0,
         "args.n: a row of D has 515 elements of type e2m1, which end inside a "
         "byte; pad B to an even number of columns of D"},
        {514, 515, 0,
         "args.d.ld: the stride of 515 elements of D is no multiple of 1 bytes; "
         "pad to a multiple of 2 elements, for instance 516, and give that here"},
        {514, 514, 300 * 514 + 1,
         "args.d.batch_stride: the stride of 154201 elements of D is no multiple of 1"},
        {514, 512, 0,
         "args.d.ld: the leading dimension 512 of D is less than its row of 514"},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("m=300 k=512 batch=2 a=bf16 d=nvfp4 "
                                                 "d_scale_layout=row output_align=1 "
                                                 "dynamic=n");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .n = 514,
                          .a = {.pointer = 0x10000},
                          .b = {.pointer = 0x20000},
                          .d = {.pointer = 0x40001, .ld = 516},
                          .d_scale = {.pointer = 0x50001}};
    fixture.fake->recording = 1;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(fixture.fake->last_launch.params.d.ld, 516);
    cr_expect_eq(fixture.fake->last_launch.params.d.batch_stride, 300 * 516);
    cr_expect_eq(fixture.fake->last_launch.params.d_scale.ld, 33);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        args.n = rows[i].n;
        args.d.ld = rows[i].ld;
        args.d.batch_stride = rows[i].batch_stride;
        cr_expect_neq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", rows[i].message);
        cr_expect(api_error_has(rows[i].message), "%s", jit_gemm_last_error());
    }
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, problems_that_cannot_be)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem good = api_problem("512x512x512 bf16");

    jit_gemm_problem problem = good;
    problem.m.size = -5;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem.m"));
    problem = good;
    problem.a.dtype = (jit_gemm_dtype)77;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem.a"));
    problem = good;
    memcpy(problem.epilogue, "nobody", 7);
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("no epilogue is registered as 'nobody'"));
    problem = good;
    problem.struct_size = 0;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    jit_gemm *gemm = NULL;
    cr_expect_eq(jit_gemm_create(fixture.context, NULL, &gemm), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem: is NULL"));
    cr_expect_eq(jit_gemm_create(NULL, &good, &gemm), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_create(fixture.context, &good, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("ret_gemm"));
    cr_expect_eq(jit_gemm_problem_parse("m=12 n=", &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_problem_parse(NULL, &problem), JIT_GEMM_ERR_ARGUMENT);
    char name[JIT_GEMM_NAME_SIZE];
    jit_gemm_operand operand;
    cr_expect_eq(jit_gemm_operand_parse(NULL, name, &operand), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("text: is NULL"));
    cr_expect_eq(jit_gemm_operand_parse("s:scalar:f32", NULL, &operand),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("ret_name: is NULL"));
    cr_expect_eq(jit_gemm_operand_parse("s:scalar:f32", name, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("ret_operand: is NULL"));
    cr_expect_eq(jit_gemm_operand_parse("s:scalar:f32", name, &operand), JIT_GEMM_OK);
    api_fixture_close(&fixture);
}

Test(bad_input, snippets_and_epilogues)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                  .name = "e",
                                  .source = "d = acc;\nasm(\"exit;\");"};

    cr_expect_eq(jit_gemm_epilogue_register(fixture.context, &epilogue),
                 JIT_GEMM_ERR_COMPILE);
    cr_expect_eq(strncmp(jit_gemm_last_error(), "2:1: error:", 11), 0, "%s",
                 jit_gemm_last_error());
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_eq(jit_gemm_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    jit_gemm_diagnostic item = {.struct_size = sizeof(item)};
    cr_assert_eq(jit_gemm_diagnostics_get(diagnostics, 0, &item), JIT_GEMM_OK);
    cr_expect_eq(item.origin, JIT_GEMM_DIAGNOSTIC_SNIPPET);
    cr_expect_eq(item.line, 2);
    cr_expect_eq(jit_gemm_diagnostics_get(diagnostics, 99, &item), JIT_GEMM_ERR_ARGUMENT);
    jit_gemm_diagnostics_destroy(&diagnostics);

    epilogue.source = "d = acc;";
    cr_expect_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    cr_expect_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    epilogue.source = "d = acc + 1.0f;";
    cr_expect_eq(jit_gemm_epilogue_register(fixture.context, &epilogue),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("another epilogue is registered as 'e'"));
    epilogue.name = "slow";
    epilogue.source = "d = acc * 0.5;";
    cr_expect_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    cr_expect_not_null(strstr(fixture.log, "slow:1:11: warning: a literal of type double"),
                       "%s", fixture.log);
    api_fixture_close(&fixture);
}

Test(bad_input, results_of_reductions_need_addresses_of_their_own)
{
    static const jit_gemm_operand operands[] = {
        {.name = "s",
         .kind = JIT_GEMM_OPERAND_COLUMN_VECTOR,
         .dtype = JIT_GEMM_DTYPE_F32,
         .role = JIT_GEMM_OPERAND_SUM},
        {.name = "m",
         .kind = JIT_GEMM_OPERAND_SCALAR,
         .dtype = JIT_GEMM_DTYPE_BF16,
         .role = JIT_GEMM_OPERAND_MAX},
    };
    static const struct {
        size_t index;
        jit_gemm_arg arg;
        const char *error;
    } rows[] = {
        {0, {0}, "args.operands[0].pointer: the address of s is NULL; give a device"},
        {0, {.pointer = 0x50002}, "args.operands[0].pointer: the address 0x50002 of s is"},
        {0,
         {.pointer = 0x50004, .ld = 512},
         "args.operands[0].ld: s is a column_vector and has no leading dimension (512)"},
        {0,
         {.pointer = 0x50004, .value = 1},
         "args.operands[0].value: s is a column_vector and has no value (1)"},
        {0,
         {.pointer = 0x50004, .batch_stride = JIT_GEMM_STRIDE_BROADCAST},
         "args.operands[0].batch_stride: s is written and cannot be broadcast"},
        {0,
         {.pointer = 0x50004, .batch_stride = 511},
         "args.operands[0].batch_stride: the batches of s overlap: 511 elements apart, 512"},
        {0,
         {.pointer = UINT64_MAX - 1027},
         "args.operands[0].pointer: s would reach past the end of the address space"},
        {1, {0}, "args.operands[1].pointer: the address of m is NULL; give a device"},
        {1, {.value = 2}, "args.operands[1].value: m is a scalar and has no value (2)"},
        {1,
         {.pointer = 0x60002, .batch_stride = JIT_GEMM_STRIDE_BROADCAST},
         "args.operands[1].batch_stride: m is written and cannot be broadcast"},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "reduces",
                                        .source = "d = s = m = acc;",
                                        .operands = operands,
                                        .operand_count = 2};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    const jit_gemm_problem problem =
        api_problem("m=512 n=256 k=128 batch=2 a=bf16 epilogue=reduces");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);
    jit_gemm_arg given[2];
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x30000},
                                .workspace = 0x40000,
                                .operands = given,
                                .operand_count = 2};
    for (size_t i = 0; i <= sizeof(rows) / sizeof(rows[0]); i++) {
        given[0] = (jit_gemm_arg){.pointer = 0x50004}; /* aligned to an element */
        given[1] = (jit_gemm_arg){.pointer = 0x60002, .batch_stride = 3};
        if (i == sizeof(rows) / sizeof(rows[0])) {
            cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                         jit_gemm_last_error());
            break;
        }
        given[rows[i].index] = rows[i].arg;

        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT, "row %zu", i);

        cr_expect(api_error_has(rows[i].error), "row %zu: %s", i, jit_gemm_last_error());
    }
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(bad_input, operands_without_an_epilogue_are_called_that)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("256x256x256 bf16");
    const jit_gemm_arg operands[3] = {{.pointer = 4096}};
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = 4096},
                                .b = {.pointer = 4096},
                                .d = {.pointer = 8192},
                                .operands = operands,
                                .operand_count = 3};
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);

    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);

    cr_expect(
        api_error_has("args.operand_count: 3 operands are given, but the problem has no "
                      "epilogue"));
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}
