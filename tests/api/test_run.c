/* SPDX-License-Identifier: MIT */
/* What a run gives the driver, and what it does not do. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"
#include "base/alloc.h"
#include "jit_gemm/device.h"

#define A_ADDRESS UINT64_C(0x10000000)
#define B_ADDRESS UINT64_C(0x20000000)
#define C_ADDRESS UINT64_C(0x30000000)
#define D_ADDRESS UINT64_C(0x40000000)

static jit_gemm *create(struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    fixture->fake->recording = 1;
    return gemm;
}

static jit_gemm_args plain_args(void)
{
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = A_ADDRESS},
                                .b = {.pointer = B_ADDRESS},
                                .d = {.pointer = D_ADDRESS}};
    return args;
}

static void run(const jit_gemm *gemm, const jit_gemm_args *args)
{
    cr_assert_eq(jit_gemm_run(gemm, args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

Test(run, second_run_is_one_driver_call_and_no_allocation)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "1024x1024x512 bf16");
    const jit_gemm_args args = plain_args();
    run(gemm, &args);
    const long calls = atomic_load(&fixture.fake->calls);
    const long allocations = jg_alloc_count();

    for (int i = 0; i < 100; i++) {
        run(gemm, &args);
    }

    cr_expect_eq(atomic_load(&fixture.fake->calls) - calls, 100);
    cr_expect_eq(jg_alloc_count(), allocations);
    cr_expect_eq(atomic_load(&fixture.fake->encodes), 3);
    cr_expect_eq(atomic_load(&fixture.fake->launches), 101);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, only_what_changed_is_encoded_again)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "1024x1024x512 bf16");
    jit_gemm_args args = plain_args();
    run(gemm, &args);

    args.d.pointer += 4096;
    run(gemm, &args);
    cr_expect_eq(atomic_load(&fixture.fake->encodes), 4);
    cr_expect_eq(atomic_load(&fixture.fake->moves), 1, "only its address is new");
    args.a.ld = 520;
    run(gemm, &args);
    cr_expect_eq(atomic_load(&fixture.fake->encodes), 5);
    cr_expect_eq(atomic_load(&fixture.fake->moves), 1);
    /* Two buffers in turn are both kept. */
    for (int i = 0; i < 10; i++) {
        args.d.pointer = D_ADDRESS + (i % 2 == 0 ? 0 : 4096);
        args.a.ld = i % 2 == 0 ? 0 : 520;
        run(gemm, &args);
    }
    cr_expect_eq(atomic_load(&fixture.fake->encodes), 5);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, launch_and_maps_are_as_the_plan_says)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=1000 n=520 k=328 batch=3 a=bf16 d=f32 layout=tn "
                                      "config=tile=128x256 cluster=2x1 stages=3 pdl=1");
    jit_gemm_args args = plain_args();
    args.b.batch_stride = JIT_GEMM_STRIDE_BROADCAST;
    args.d.ld = 524;
    const float alpha = 0.5F;
    args.alpha = &alpha;

    run(gemm, &args);

    const struct fake_launch *launch = &fixture.fake->last_launch;
    /* 8 x 3 tiles, in clusters of 2 along M, 3 times: 36 clusters. */
    cr_expect_eq(launch->grid, 72);
    cr_expect_eq(launch->block, 384);
    cr_expect_eq(launch->cluster, 2);
    cr_expect_eq(launch->pdl, 1);
    cr_expect_eq(launch->params.m, 1000);
    cr_expect_eq(launch->params.batch, 3);
    cr_expect_float_eq(launch->params.alpha.value, 0.5F, 0);
    cr_expect_eq(launch->params.a.ld, 1000);
    cr_expect_eq(launch->params.a.batch_stride, 328 * 1000);
    cr_expect_eq(launch->params.a.batch_step, 1);
    cr_expect_eq(launch->params.b.batch_stride, 0);
    cr_expect_eq(launch->params.b.batch_step, 0);
    cr_expect_eq(launch->params.d.batch_stride, 1000 * 524);
    const struct fake_encode *a = &fixture.fake->last_encodes[0];
    const struct fake_encode *b = &fixture.fake->last_encodes[1];
    const struct fake_encode *d = &fixture.fake->last_encodes[2];
    /* A is M-major: 64 K rows of 64 elements along M. */
    cr_expect_eq(a->dims[0], 1000);
    cr_expect_eq(a->dims[1], 328);
    cr_expect_eq(a->dims[2], 3);
    cr_expect_eq(a->box[0], 64);
    cr_expect_eq(a->box[1], 64);
    cr_expect_eq(a->strides_bytes[0], 2000);
    cr_expect_eq(a->strides_bytes[1], UINT64_C(2) * 328 * 1000);
    /* B is N-major, shared by the two CTAs along M, and broadcast over the batch. */
    cr_expect_eq(b->dims[0], 520);
    cr_expect_eq(b->dims[1], 328);
    cr_expect_eq(b->dims[2], 1);
    cr_expect_eq(b->box[1], 32);
    cr_expect_eq(d->type, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
    cr_expect_eq(d->dims[0], 520);
    cr_expect_eq(d->dims[1], 1000);
    cr_expect_eq(d->box[0], 32);
    cr_expect_eq(d->box[1], 64);
    cr_expect_eq(d->strides_bytes[0], 524 * 4);
    cr_expect_eq(d->swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
    cr_expect_eq(d->promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, maps_and_scales_of_other_types)
{
    static const struct {
        const char *text;
        CUtensorMapDataType type;
        unsigned int elements; /* of a row of a box */
    } rows[] = {
        {"512x512x512 tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 32},
        {"512x512x512 e4m3 d=f32", CU_TENSOR_MAP_DATA_TYPE_UINT8, 128},
        {"512x512x512 e5m2 b=e4m3 d=f32", CU_TENSOR_MAP_DATA_TYPE_UINT8, 128},
        {"512x512x512 s8 d=f32", CU_TENSOR_MAP_DATA_TYPE_UINT8, 128},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->recording = 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "%s a_scale=vector b_scale=tensor", rows[i].text);
        const jit_gemm_problem problem = api_problem(text);
        jit_gemm *gemm = NULL;
        cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        const long first = atomic_load(&fixture.fake->encodes);
        jit_gemm_args args = {.struct_size = sizeof(args),
                              .a = {.pointer = 0x10000},
                              .b = {.pointer = 0x20000},
                              .d = {.pointer = 0x40000},
                              .a_scale = {.pointer = 0x50004},
                              .b_scale = {.pointer = 0x60000}};

        run(gemm, &args);

        const struct fake_launch *launch = &fixture.fake->last_launch;
        cr_expect_eq(launch->params.a_scale.pointer, 0x50004);
        cr_expect_eq(launch->params.b_scale.pointer, 0x60000);
        cr_expect_eq(launch->params.a_scale.batch_stride, 512);
        cr_expect_eq(launch->params.b_scale.batch_stride, 1);
        const struct fake_encode *a =
            &fixture.fake->last_encodes[first % FAKE_ENCODES_KEPT];
        const struct fake_encode *b =
            &fixture.fake->last_encodes[(first + 1) % FAKE_ENCODES_KEPT];
        cr_expect_eq(a->type, rows[i].type, "%s", text);
        cr_expect_eq(b->type, rows[i].type, "%s", text);
        cr_expect_eq(a->box[0], rows[i].elements, "%s", text);
        cr_expect_eq(a->strides_bytes[0], 512 * 128 / rows[i].elements, "%s", text);
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* The kernel makes D^T = B^T * A^T: it gets B as A, N as M, and D's columns as rows. */
Test(run, column_major_d_exchanges_a_and_b)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->recording = 1;
    const jit_gemm_problem problem =
        api_problem("m=512 n=384 k=256 a=bf16 c=f32 d_layout=column config=swap_ab=1");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    const long first = atomic_load(&fixture.fake->encodes);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = 0x10000, .ld = 264},
                          .b = {.pointer = 0x20000, .ld = 272},
                          .c = {.pointer = 0x30000},
                          .d = {.pointer = 0x40000, .ld = 520}};

    run(gemm, &args);

    const struct fake_launch *launch = &fixture.fake->last_launch;
    cr_expect_eq(launch->params.m, 384);
    cr_expect_eq(launch->params.n, 512);
    cr_expect_eq(launch->params.a.pointer, 0x20000);
    cr_expect_eq(launch->params.b.pointer, 0x10000);
    cr_expect_eq(launch->params.a.ld, 272);
    cr_expect_eq(launch->params.b.ld, 264);
    cr_expect_eq(launch->params.c.ld, 512);
    cr_expect_eq(launch->params.d.ld, 520);
    const struct fake_encode *d =
        &fixture.fake->last_encodes[(first + 3) % FAKE_ENCODES_KEPT];
    cr_expect_eq(d->strides_bytes[0], 520 * 2);
    args.d.ld = 504;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.d.ld: "), "%s", jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* B by A, and a D that lies as it is. */
Test(run, few_rows_of_d_exchange_a_and_b)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->recording = 1;
    jit_gemm *gemm =
        create(&fixture, "m=16 n=512 k=256 batch=3 a=bf16 c=bf16 config=tile=128x32");
    const long first = atomic_load(&fixture.fake->encodes);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = 0x10000, .ld = 264},
                          .b = {.pointer = 0x20000, .ld = 272},
                          .c = {.pointer = 0x30000},
                          .d = {.pointer = 0x40000, .ld = 520}};

    run(gemm, &args);

    const struct fake_launch *launch = &fixture.fake->last_launch;
    const struct fake_encode *maps[4];
    for (int i = 0; i < 4; i++) {
        maps[i] = &fixture.fake->last_encodes[(first + i) % FAKE_ENCODES_KEPT];
    }
    cr_expect_eq(launch->params.m, 512);
    cr_expect_eq(launch->params.n, 16);
    cr_expect_eq(launch->params.a.pointer, 0x20000);
    cr_expect_eq(launch->params.b.pointer, 0x10000);
    cr_expect_eq(launch->params.a.ld, 272);
    cr_expect_eq(launch->params.d.ld, 520);
    cr_expect_eq(maps[0]->dims[1], 512);
    cr_expect_eq(maps[0]->box[1], 128);
    cr_expect_eq(maps[1]->dims[1], 16);
    cr_expect_eq(maps[1]->box[1], 16); /* and no row that there is not */
    cr_expect_eq(maps[2]->dims[0], 512);
    cr_expect_eq(maps[2]->dims[1], 16);
    cr_expect_eq(maps[2]->box[1], 32);
    cr_expect_eq(maps[3]->strides_bytes[0], 520 * 2);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, c_and_matrix_inputs_have_maps_of_their_own)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_operand operands[] = {
        {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
        {.name = "r", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_F16},
        {.name = "aux",
         .kind = JIT_GEMM_OPERAND_MATRIX,
         .dtype = JIT_GEMM_DTYPE_F32,
         .role = JIT_GEMM_OPERAND_OUTPUT}};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "fused",
                                        .source = "aux = acc; d = acc + bias + r;",
                                        .operand_count = 3,
                                        .operands = operands};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    jit_gemm *gemm =
        create(&fixture, "m=512 n=264 k=512 batch=2 a=bf16 c=f32 epilogue=fused "
                         "config=swap_ab=0");
    const jit_gemm_arg values[] = {
        {.pointer = 0x50000000},
        {.pointer = 0x60000000, .ld = 272, .batch_stride = JIT_GEMM_STRIDE_BROADCAST},
        {.pointer = 0x70000000}};
    jit_gemm_args args = plain_args();
    args.c.pointer = C_ADDRESS;
    args.operands = values;
    args.operand_count = 3;

    run(gemm, &args);

    /* A, B, C, D and r; a vector and an output need none. */
    cr_expect_eq(atomic_load(&fixture.fake->encodes), 5);
    const struct fake_encode *c = &fixture.fake->last_encodes[2];
    const struct fake_encode *r = &fixture.fake->last_encodes[4];
    cr_expect_eq(c->address, C_ADDRESS);
    cr_expect_eq(c->type, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
    cr_expect_eq(c->dims[0], 264);
    cr_expect_eq(c->dims[1], 512);
    cr_expect_eq(c->dims[2], 2);
    cr_expect_eq(c->box[0], 32);
    cr_expect_eq(c->box[1], 64);
    cr_expect_eq(r->address, 0x60000000);
    cr_expect_eq(r->type, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
    cr_expect_eq(r->dims[2], 1);
    cr_expect_eq(r->strides_bytes[0], 544);
    cr_expect_eq(r->box[0], 64);
    cr_expect_eq(r->box[1], 64);
    const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
    cr_expect_eq(params->c.batch_step, 1);
    cr_expect_eq(params->operands[1].batch_step, 0);
    cr_expect_eq(params->operands[2].batch_step, 0);
    /* Without C there is nothing to map, and what has not changed is kept. */
    const float beta = 0.0F;
    args.beta = &beta;
    args.c.pointer = 0;
    run(gemm, &args);
    cr_expect_eq(atomic_load(&fixture.fake->encodes), 5);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* Maps of D, C and operands would be refused; those of A and B remain, and without a K they
 * need an address that is theirs to take. */
Test(run, outputs_of_less_alignment_have_no_maps)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_operand operands[] = {
        {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
        {.name = "r", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_BF16}};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "odd",
                                        .source = "d = acc + bias + r;",
                                        .operand_count = 2,
                                        .operands = operands};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    jit_gemm *gemm = create(&fixture, "m=512 n=257 batch=2 a=bf16 c=f32 b_scale=vector "
                                      "dynamic=k output_align=2 epilogue=odd");
    const jit_gemm_arg values[] = {
        {.pointer = 0x50000002, .batch_stride = 257},
        {.pointer = 0x60000006, .ld = 259, .batch_stride = 259 * 512 + 1}};
    jit_gemm_args args = plain_args();
    args.k = 64;
    args.c.pointer = C_ADDRESS + 4;
    args.c.ld = 257;
    args.d.pointer = D_ADDRESS + 2;
    args.d.ld = 257;
    args.b_scale.pointer = 0x70000004;
    args.b_scale.batch_stride = 259;
    args.operands = values;
    args.operand_count = 2;

    run(gemm, &args);

    cr_expect_eq(atomic_load(&fixture.fake->encodes), 2);
    const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
    cr_expect_eq(params->d.pointer, D_ADDRESS + 2);
    cr_expect_eq(params->d.ld, 257);
    cr_expect_eq(params->operands[1].pointer, 0x60000006);
    cr_expect_eq(params->operands[1].batch_stride, 259 * 512 + 1);
    args.k = JIT_GEMM_SIZE_EMPTY;
    run(gemm, &args);
    cr_expect_eq(fixture.fake->last_encodes[2].address, D_ADDRESS);
    cr_expect_eq(fixture.fake->last_encodes[3].address, D_ADDRESS);
    args.k = 64;
    args.c.pointer = C_ADDRESS + 2; /* elements of 4 bytes */
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has(
                  "args.c.pointer: the address 0x30000002 of C is misaligned: no multiple "
                  "of the 4 bytes of an element"),
              "%s", jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, k_major_boxes_are_cut_over_the_cluster)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16 config=tile=128x128 cluster=1x2");
    const jit_gemm_args args = plain_args();

    run(gemm, &args);

    cr_expect_eq(fixture.fake->last_encodes[0].box[0], 64);
    cr_expect_eq(fixture.fake->last_encodes[0].box[1], 64);
    cr_expect_eq(fixture.fake->last_encodes[1].box[1], 128);
    cr_expect_eq(fixture.fake->last_encodes[2].box[0], 64);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, dynamic_sizes_come_with_the_launch)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(
        &fixture, "m=4096 n=512 k=512 a=bf16 dynamic=m,k config=tile=128x128 cluster=1x1");
    jit_gemm_args args = plain_args();

    args.m = 17;
    args.k = 64;
    run(gemm, &args);
    cr_expect_eq(fixture.fake->last_launch.params.m, 17);
    cr_expect_eq(fixture.fake->last_launch.params.k, 64);
    cr_expect_eq(fixture.fake->last_launch.grid, 4);
    args.m = 40000;
    run(gemm, &args);
    cr_expect_eq(fixture.fake->last_launch.grid, 132);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, empty_output_is_fine_and_launches_nothing)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=512 k=512 a=bf16 dynamic=m");
    const jit_gemm_args args = {.struct_size = sizeof(args), .m = JIT_GEMM_SIZE_EMPTY};
    const long calls = atomic_load(&fixture.fake->calls);

    run(gemm, &args);

    cr_expect_eq(atomic_load(&fixture.fake->calls), calls);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* Otherwise D would be as it was, and the status OK. */
Test(run, dynamic_size_that_is_forgotten_is_refused_by_name)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=512 k=512 a=bf16 dynamic=m,n,k,batch");
    static const char *const fields[] = {
        "args.m: ", "args.n: ", "args.k: ", "args.batch: "};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        jit_gemm_args args = plain_args();
        int64_t *const sizes[] = {&args.m, &args.n, &args.k, &args.batch};
        for (size_t j = 0; j < 4; j++) {
            *sizes[j] = j == i ? 0 : 64;
        }

        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);

        cr_expect(api_error_has(fields[i]));
        cr_expect(api_error_has("none is given; give the size of this launch, or "
                                "JIT_GEMM_SIZE_EMPTY for none"));
    }
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, k_of_zero_still_runs_the_epilogue)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=512 k=512 a=bf16 dynamic=k");
    jit_gemm_args args = plain_args();
    args.k = JIT_GEMM_SIZE_EMPTY;
    args.a.pointer = 0;
    args.b.pointer = 0;

    run(gemm, &args);

    /* Inputs without elements need no memory; their maps borrow D's address. */
    cr_expect_eq(fixture.fake->last_launch.params.k, 0);
    cr_expect_eq(fixture.fake->last_encodes[0].dims[0], 1);
    cr_expect_eq(fixture.fake->last_encodes[0].address, D_ADDRESS);
    cr_expect_eq(fixture.fake->last_encodes[1].address, D_ADDRESS);
    cr_expect_eq(atomic_load(&fixture.fake->launches), 1);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, c_beta_and_device_scalars)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=512 k=512 a=bf16 c=f32");
    jit_gemm_args args = plain_args();
    args.c.pointer = C_ADDRESS;
    args.alpha_device = 0x1004;

    run(gemm, &args);
    cr_expect_float_eq(fixture.fake->last_launch.params.beta.value, 1.0F, 0);
    cr_expect_eq(fixture.fake->last_launch.params.alpha.pointer, 0x1004);
    cr_expect_eq(fixture.fake->last_launch.params.c.ld, 512);
    const float zero = 0.0F;
    args.c.pointer = 0;
    args.beta = &zero;
    run(gemm, &args);
    cr_expect_eq(fixture.fake->last_launch.params.c.pointer, 0);
    cr_expect_float_eq(fixture.fake->last_launch.params.beta.value, 0.0F, 0);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, operands_arrive_in_declared_order)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_operand operands[] = {
        {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
        {.name = "r", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_F32},
        {.name = "s", .kind = JIT_GEMM_OPERAND_SCALAR, .dtype = JIT_GEMM_DTYPE_F32},
    };
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "fused",
                                        .source = "d = (acc + bias) * s + r;",
                                        .operands = operands,
                                        .operand_count = 3};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    jit_gemm *gemm = create(&fixture, "m=512 n=512 k=512 batch=2 a=bf16 epilogue=fused");
    jit_gemm_args args = plain_args();
    const jit_gemm_arg values[] = {
        {.pointer = 0x5004, .batch_stride = JIT_GEMM_STRIDE_BROADCAST},
        {.pointer = 0x6000, .ld = 516},
        {.value = 2.5F},
    };
    args.operands = values;
    args.operand_count = 3;

    run(gemm, &args);

    const struct jg_matrix_param *params = fixture.fake->last_launch.params.operands;
    cr_expect_eq(params[0].pointer, 0x5004);
    cr_expect_eq(params[0].batch_stride, 0);
    cr_expect_eq(params[1].ld, 516);
    cr_expect_eq(params[1].batch_stride, 512 * 516);
    cr_expect_eq(params[2].pointer, 0);
    cr_expect_float_eq(params[2].value, 2.5F, 0);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

struct thread_run {
    const jit_gemm *gemm;
    uint64_t a_bytes; /* from where A of plain_args lies */
    jit_gemm_status status;
};

static void *run_on_a_fresh_thread(void *user)
{
    struct thread_run *job = user;
    jit_gemm_args args = plain_args();
    args.a.pointer += job->a_bytes;
    job->status = jit_gemm_run(job->gemm, &args, NULL);
    return NULL;
}

Test(run, thread_without_a_context_gets_the_primary_one)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");
    /* Whose first call of the driver makes a map, is the launch, and moves a map. */
    const uint64_t a_bytes[] = {0, 0, 1024};
    for (int i = 0; i < 3; i++) {
        struct thread_run job = {
            .gemm = gemm, .a_bytes = a_bytes[i], .status = JIT_GEMM_ERR_INTERNAL};
        pthread_t thread;

        cr_assert_eq(pthread_create(&thread, NULL, run_on_a_fresh_thread, &job), 0);
        pthread_join(thread, NULL);

        cr_expect_eq(job.status, JIT_GEMM_OK, "thread %d", i);
        cr_expect_eq(atomic_load(&fixture.fake->launches), i + 1);
    }
    cr_expect_geq(atomic_load(&fixture.fake->moves), 1);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, another_context_gets_the_kernel_of_any_context)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");
    const jit_gemm_args args = plain_args();
    int another = 0;
    cr_assert_eq(fixture.fake->set_context((CUcontext)(void *)&another), CUDA_SUCCESS);

    run(gemm, &args);

    cr_expect_eq(atomic_load(&fixture.fake->launches), 1);
    cr_assert_eq(fixture.fake->set_context(NULL), CUDA_SUCCESS);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* A program without the CUDA runtime that uses two devices cannot say which is current. */
Test(run, context_of_another_device_is_left_for_the_call)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");
    const jit_gemm_args args = plain_args();
    int of_another = 0;
    const CUcontext other = (CUcontext)(void *)&of_another;
    CUcontext current = NULL;
    uint64_t address = 0;
    fixture.fake->other_device = 1;
    cr_assert_eq(fixture.fake->set_context(other), CUDA_SUCCESS);

    run(gemm, &args);
    cr_assert_eq(jit_gemm_device_alloc(fixture.context, 64, &address), JIT_GEMM_OK);

    cr_expect_eq(atomic_load(&fixture.fake->launches), 1);
    cr_expect(fixture.fake->launched_here, "in the device's own context");
    cr_expect_neq(fixture.fake->allocating, other);
    cr_assert_eq(fixture.fake->get_context(&current), CUDA_SUCCESS);
    cr_expect_eq(current, other, "it is given back");
    cr_expect_eq(jit_gemm_device_free(fixture.context, address), JIT_GEMM_OK);
    fixture.fake->other_device = 0;
    cr_assert_eq(fixture.fake->set_context(NULL), CUDA_SUCCESS);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(run, refused_launch_is_reported)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");
    const jit_gemm_args args = plain_args();
    fixture.fake->failing_result = CUDA_ERROR_ILLEGAL_ADDRESS;
    fixture.fake->failing_function = "cuLaunchKernelEx";

    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_LAUNCH);
    cr_expect(api_error_has("an earlier kernel failed"));
    cr_expect(
        api_error_has("all calls on this device fail from now on; only a new process"));
    fixture.fake->failing_function = "cuTensorMapReplaceAddress";
    jit_gemm_args other = args;
    other.a.pointer += 256;
    cr_expect_eq(jit_gemm_run(gemm, &other, NULL), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("args.a: tensor map"));
    fixture.fake->failing_function = "cuTensorMapEncodeTiled";
    other.a.ld = 1024;
    cr_expect_eq(jit_gemm_run(gemm, &other, NULL), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("args.a: tensor map"));
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* A context that is made after the failure meets it at its first call. */
Test(run, a_context_after_a_failed_kernel_says_that_the_process_must_end)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    fixture.fake->failing_result = CUDA_ERROR_LAUNCH_FAILED;
    fixture.fake->failing_function = "cuMemAlloc_v2";
    uint64_t address = 0;

    cr_expect_eq(jit_gemm_device_alloc(fixture.context, 256, &address),
                 JIT_GEMM_ERR_DEVICE);
    cr_expect(api_error_has("a kernel has failed, and all calls on this device fail from "
                            "now on; only a new process can go on"));
    fixture.fake->failing_result = CUDA_ERROR_INVALID_VALUE;
    cr_expect_eq(jit_gemm_device_alloc(fixture.context, 256, &address),
                 JIT_GEMM_ERR_DEVICE);
    cr_expect_not(api_error_has("a new process"));
    fixture.fake->failing_function = NULL;
    api_fixture_close(&fixture);
}

Test(run, older_and_newer_callers)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "512x512x512 bf16");
    struct {
        jit_gemm_args args;
        uint64_t newer_field;
    } newer = {.args = plain_args()};
    newer.args.struct_size = sizeof(newer);
    jit_gemm_args older = plain_args();
    older.struct_size = offsetof(jit_gemm_args, m);

    cr_expect_eq(jit_gemm_run(gemm, &newer.args, NULL), JIT_GEMM_OK);
    newer.newer_field = 1;
    cr_expect_eq(jit_gemm_run(gemm, &newer.args, NULL), JIT_GEMM_ERR_VERSION);
    older.m = 7; /* past the end of the older struct: not read */
    cr_expect_eq(jit_gemm_run(gemm, &older, NULL), JIT_GEMM_OK);
    older.struct_size = 0;
    cr_expect_eq(jit_gemm_run(gemm, &older, NULL), JIT_GEMM_ERR_ARGUMENT);
    jit_gemm_info info = {.struct_size = offsetof(jit_gemm_info, arch)};
    info.arch[0] = 'x';
    cr_expect_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
    cr_expect_eq(info.threads, 384);
    cr_expect_eq(info.arch[0], 'x');
    info.struct_size = 0;
    cr_expect_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_ERR_ARGUMENT);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}
