/* SPDX-License-Identifier: MIT */
/* mov: copies, vectors, addresses, special registers. */
#include "test_exec_alu_support.h"

#include <stdio.h>
#include <string.h>

Test(alu_move, copies_of_every_width)
{
    static const struct alu_case cases[] = {
        {"mov.b16 %hd, %ha;", 0x12345, 0, 0, 0x2345},
        {"mov.u32 %d, %a;", 0x123456789, 0, 0, 0x23456789},
        {"mov.b64 %D, %A;", UINT64_C(0x123456789ABCDEF0), 0, 0,
         UINT64_C(0x123456789ABCDEF0)},
        {"mov.u32 %d, -2;", 0, 0, 0, 0xFFFFFFFE},
        {"mov.f32 %d, 0f3F800000;", 0, 0, 0, F32_ONE},
        {"mov.f32 %d, 2.0;", 0, 0, 0, F32_TWO},
        {"mov.f64 %D, 1.0;", 0, 0, 0, F64_ONE},
        {"mov.b32 %d, WARP_SZ;", 0, 0, 0, 32},
        {"mov.b128 %Q, {%A, %B}; .reg .b128 %T; mov.b128 %T, %Q; mov.b128 {_, %D}, %T;", 3,
         5, 0, 5},
    };
    ALU_CHECK(cases);
}

Test(alu_move, vectors_pack_low_first)
{
    static const struct alu_case cases[] = {
        {"mov.b32 %d, {%ha, %hb};", 0x1111, 0x2222, 0, 0x22221111},
        {"mov.b64 %D, {%a, %b};", 0x11111111, 0x22222222, 0, UINT64_C(0x2222222211111111)},
        {"mov.b64 %D, {%ha, %hb, %hc, 4};", 1, 2, 3, UINT64_C(0x0004000300020001)},
        {"mov.b64 %D, {%a, 0};", 0xFFFFFFFF, 0, 0, 0xFFFFFFFF},
        {".reg .b8 x, y; cvt.u8.u32 x, %a; cvt.u8.u32 y, %b; mov.b16 %hd, {x, y};", 0x112,
         0x134, 0, 0x3412},
        {".reg .b8 w, x, y, z; mov.b32 {w, x, y, z}, %a; mov.b32 %d, {z, y, x, w};",
         0x12345678, 0, 0, 0x78563412},
    };
    ALU_CHECK(cases);
}

Test(alu_move, vectors_unpack_low_first_and_may_drop_elements)
{
    static const struct alu_case cases[] = {
        {"mov.b32 {%hd, _}, %a;", 0x22221111, 0, 0, 0x1111},
        {"mov.b32 {_, %hd}, %a;", 0x22221111, 0, 0, 0x2222},
        {"mov.b64 {%e, %d}, %A;", UINT64_C(0x2222222211111111), 0, 0, 0x22222222},
        {"mov.b64 {_, _, %hd, _}, %A;", UINT64_C(0x0004000300020001), 0, 0, 3},
        {"mov.b128 %Q, {%A, %B}; mov.b128 {_, _, %d, _}, %Q;", 1,
         UINT64_C(0x0000000700000009), 0, 9},
    };
    ALU_CHECK(cases);
}

Test(alu_move, addresses_of_variables_have_their_offsets)
{
    static const struct alu_case cases[] = {
        /* The first KiB of shared memory is the system's. */
        {".shared .align 16 .b8 s[32]; mov.u32 %d, s;", 0, 0, 0, 1024},
        {".shared .align 16 .b8 s[32]; mov.u32 %d, s+4;", 0, 0, 0, 1028},
        {".shared .align 16 .b8 s[32]; mov.u64 %D, s;", 0, 0, 0, 1024},
    };
    ALU_CHECK(cases);
}

/* One special register of every thread, 64 bits each. */
static void read_special(const char *name, const uint32_t grid[3], const uint32_t block[3],
                         const uint32_t cluster[3], uint64_t *values, unsigned count)
{
    char text[2048];
    struct harness h;
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_100a\n.address_size 64\n"
             ".extern .shared .b8 dynamic[];\n"
             ".visible .entry kernel(.param .u64 out) { .reg .b64 %%o, %%x; .reg .b32 %%v, "
             "%%t, %%u; .shared .b8 fixed[40];\n"
             "mov.u32 %%t, fixed; mov.u32 %%t, dynamic;\n"
             "mov.u32 %%t, %%ctaid.z; mov.u32 %%u, %%nctaid.y; mul.lo.u32 %%t, %%t, %%u; "
             "mov.u32 %%u, %%ctaid.y; add.u32 %%t, %%t, %%u;\n"
             "mov.u32 %%u, %%nctaid.x; mul.lo.u32 %%t, %%t, %%u; mov.u32 %%u, %%ctaid.x; "
             "add.u32 %%t, %%t, %%u;\n"
             "mov.u32 %%u, %%ntid.z; mul.lo.u32 %%t, %%t, %%u; mov.u32 %%u, %%tid.z; "
             "add.u32 %%t, %%t, %%u;\n"
             "mov.u32 %%u, %%ntid.y; mul.lo.u32 %%t, %%t, %%u; mov.u32 %%u, %%tid.y; "
             "add.u32 %%t, %%t, %%u;\n"
             "mov.u32 %%u, %%ntid.x; mul.lo.u32 %%t, %%t, %%u; mov.u32 %%u, %%tid.x; "
             "add.u32 %%t, %%t, %%u;\n"
             "ld.param.u64 %%o, [out]; mul.wide.u32 %%x, %%t, 8; add.s64 %%o, %%o, %%x;\n"
             "mov.u32 %%v, %s; cvt.u64.u32 %%x, %%v; st.global.u64 [%%o], %%x; ret; }\n",
             name);
    harness_open(&h);
    harness_load(&h, text);
    memset(values, 0xEE, count * sizeof(*values));
    const uint64_t out = harness_buffer(&h, "out", count * sizeof(*values), values);
    harness_param_u64(&h, out);
    struct emu_launch launch = {.program = h.program,
                                .settings = h.settings,
                                .memory = h.memory,
                                .reports = h.reports,
                                .dynamic_shared_bytes = 256,
                                .params = h.params,
                                .param_bytes = h.param_bytes,
                                .sm_count = 148};
    memcpy(launch.grid, grid, sizeof(launch.grid));
    memcpy(launch.block, block, sizeof(launch.block));
    memcpy(launch.cluster, cluster, sizeof(launch.cluster));
    cr_assert(emu_grid_run(&launch, NULL), "%s: %s", name, harness_text(&h));
    harness_read(&h, out, values, count * sizeof(*values));
    harness_close(&h);
}

enum { THREADS = 4 * 2 * 2 * 40 };
static const uint32_t grid_size[3] = {4, 2, 2};
static const uint32_t block_size[3] = {10, 2, 2};
static const uint32_t cluster_size[3] = {2, 1, 2};

Test(alu_special, threads_and_blocks_know_their_place)
{
    static const struct {
        const char *name;
        unsigned divisor, modulus;
    } cases[] = {
        /* Threads count x first, blocks of 40 threads likewise. */
        {"%tid.x", 1, 10},   {"%tid.y", 10, 2},    {"%tid.z", 20, 2},
        {"%ctaid.x", 40, 4}, {"%ctaid.y", 160, 2}, {"%ctaid.z", 320, 2},
    };
    uint64_t values[THREADS];
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_special(cases[i].name, grid_size, block_size, cluster_size, values, THREADS);
        for (unsigned thread = 0; thread < THREADS; thread++) {
            cr_expect_eq(values[thread], thread / cases[i].divisor % cases[i].modulus,
                         "%s of thread %u is %llu", cases[i].name, thread,
                         (unsigned long long)values[thread]);
        }
    }
}

Test(alu_special, clusters_know_their_place)
{
    uint64_t values[THREADS];
    const struct {
        const char *name;
        uint64_t cta_3_0_1; /* the CTA of rank 3 in the second cluster along x */
    } cases[] = {
        {"%clusterid.x", 1},      {"%clusterid.y", 0},      {"%clusterid.z", 0},
        {"%nclusterid.x", 2},     {"%nclusterid.y", 2},     {"%nclusterid.z", 1},
        {"%cluster_ctaid.x", 1},  {"%cluster_ctaid.y", 0},  {"%cluster_ctaid.z", 1},
        {"%cluster_nctaid.x", 2}, {"%cluster_nctaid.y", 1}, {"%cluster_nctaid.z", 2},
        {"%cluster_ctarank", 3},  {"%cluster_nctarank", 4}, {"%nctaid.x", 4},
        {"%nctaid.z", 2},         {"%ntid.x", 10},          {"%ntid.z", 2},
    };
    const unsigned thread = ((1 * 2 + 0) * 4 + 3) * 40;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_special(cases[i].name, grid_size, block_size, cluster_size, values, THREADS);
        cr_expect_eq(values[thread], cases[i].cta_3_0_1, "%s is %llu", cases[i].name,
                     (unsigned long long)values[thread]);
    }
}

Test(alu_special, lanes_and_sizes)
{
    uint64_t values[THREADS];
    const struct {
        const char *name;
        uint64_t thread_35; /* lane 3 of warp 1 */
    } cases[] = {
        {"%laneid", 3},
        {"%warpid", 1},
        {"%lanemask_eq", 8},
        {"%lanemask_lt", 7},
        {"%lanemask_le", 15},
        {"%lanemask_gt", 0xFFFFFFF0},
        {"%lanemask_ge", 0xFFFFFFF8},
        {"%nwarpid", 64},
        {"%nsmid", 148},
        {"%envreg3", 0},
        {"%dynamic_smem_size", 256},
        {"%total_smem_size", 384},
        {"%aggr_smem_size", 1024 + 384},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_special(cases[i].name, grid_size, block_size, cluster_size, values, THREADS);
        cr_expect_eq(values[35], cases[i].thread_35, "%s is %llx", cases[i].name,
                     (unsigned long long)values[35]);
    }
}

Test(alu_special, clocks_go_on)
{
    static const struct alu_case cases[] = {
        {"mov.u64 %D, %clock64; mov.u64 %E, %clock64; setp.gt.u64 %p, %E, %D;"
         "mov.u64 %D, 0;",
         0, 0, 0, 1},
        {"mov.u64 %D, %globaltimer; mov.u64 %E, %globaltimer; setp.gt.u64 %p, %E, %D;"
         "mov.u64 %D, 0;",
         0, 0, 0, 1},
        {"mov.u32 %d, %clock; mov.u32 %e, %clock; setp.gt.u32 %p, %e, %d; mov.u32 %d, 0;",
         0, 0, 0, 1},
        {"mov.u32 %d, %clock_hi;", 0, 0, 0, 0},
        {"mov.pred %p, %is_explicit_cluster;", 0, 0, 0, 0},
    };
    ALU_CHECK(cases);
}
