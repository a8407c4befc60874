/* SPDX-License-Identifier: MIT */
#include "plan/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/scale.h"
#include "plan/sm100a/sm100a.h"
#include "plan/sm90a/sm90a.h"

/* ------------------------------------------------------------------- what chips take */

/* The tensor core of Hopper transposes elements of 16 bits only. */
static const struct jg_input_feature hopper_inputs[] = {
    {JIT_GEMM_DTYPE_BF16, true},  {JIT_GEMM_DTYPE_F16, true},
    {JIT_GEMM_DTYPE_TF32, false}, {JIT_GEMM_DTYPE_E4M3, false},
    {JIT_GEMM_DTYPE_E5M2, false}, {JIT_GEMM_DTYPE_S8, false},
    {JIT_GEMM_DTYPE_NONE, false}};

static const struct jg_input_feature b200_inputs[] = {
    {JIT_GEMM_DTYPE_BF16, true},  {JIT_GEMM_DTYPE_F16, true},  {JIT_GEMM_DTYPE_TF32, true},
    {JIT_GEMM_DTYPE_E4M3, true},  {JIT_GEMM_DTYPE_E5M2, true}, {JIT_GEMM_DTYPE_S8, true},
    {JIT_GEMM_DTYPE_E2M1, false}, {JIT_GEMM_DTYPE_NONE, false}};

/* The multiplication of 8-bit integers (kind::i8) is sm_100a's only. */
static const struct jg_input_feature blackwell_inputs[] = {
    {JIT_GEMM_DTYPE_BF16, true}, {JIT_GEMM_DTYPE_F16, true},  {JIT_GEMM_DTYPE_TF32, true},
    {JIT_GEMM_DTYPE_E4M3, true}, {JIT_GEMM_DTYPE_E5M2, true}, {JIT_GEMM_DTYPE_E2M1, false},
    {JIT_GEMM_DTYPE_NONE, false}};

/* ------------------------------------------------------------------------- the chips */

#define HOPPER                                                                            \
    .kernel_header = "jg/sm90a/gemm_kernel.cuh", .kernel_name = "jg::sm90a::gemm_kernel", \
    .promoted_scales_header = "jg/tile/block_scales.cuh",                                 \
    .pingpong_header = "jg/sm90a/pingpong_roles.cuh",                                     \
    .part_clusters = jg_sm90a_part_clusters, .copied_rows = JG_SM90A_COPIED_ROWS,         \
    .config_keys =                                                                        \
        "kernel tile pingpong k_turns cluster stages raster raster_group out_stages pdl " \
        "resident split_k split_order split_tail cluster_k repack group_maps row_boxes "  \
        "swap_ab debug trace lineinfo",                                                   \
    .candidate = jg_sm90a_candidate, .takes_parts = jg_sm90a_takes_parts,                 \
    .complete = jg_sm90a_complete, .derive = jg_sm90a_derive

/* What the chips of the family have in common. */
#define BLACKWELL                                                                        \
    .kernel_header = "jg/sm100a/gemm_kernel.cuh",                                        \
    .kernel_name = "jg::sm100a::gemm_kernel",                                            \
    .promoted_scales_header = "jg/sm100a/promotion.cuh",                                 \
    .multiplied_scales_header = "jg/sm100a/scaled_mma_op.cuh",                           \
    .gathered_scales_header = "jg/sm100a/scale_gatherer.cuh",                            \
    .part_clusters = jg_sm100a_part_clusters, .copied_rows = JG_SM100A_COPIED_ROWS,      \
    .config_keys =                                                                       \
        "kernel mma cta_group cluster scheduler k_group stages acc_stages "              \
        "epilogue_warps raster raster_group out_stages pdl split_k split_order "         \
        "split_tail cluster_k prefetch repack group_maps row_boxes swap_ab debug trace " \
        "lineinfo",                                                                      \
    .candidate = jg_sm100a_candidate, .complete = jg_sm100a_complete,                    \
    .derive = jg_sm100a_derive

#define H200                                                                             \
    {                                                                                    \
        .name = "NVIDIA H200", .cc_major = 9, .cc_minor = 0, .sm_count = 132,            \
        .gpc_sms = 18, .l2_bytes = INT64_C(62914560),                                    \
        .memory_bytes = INT64_C(150754820096), .memory_bytes_s = INT64_C(4916736000000), \
        .smem_optin_bytes = 232448                                                       \
    }
#define H100                                                                            \
    {                                                                                   \
        .name = "NVIDIA H100 80GB HBM3", .cc_major = 9, .cc_minor = 0, .sm_count = 132, \
        .gpc_sms = 18, .l2_bytes = INT64_C(52428800),                                   \
        .memory_bytes_s = INT64_C(3352320000000), .smem_optin_bytes = 232448            \
    }
/* Memory is the 192 GB of the data sheet; a driver reports somewhat less. */
#define B200                                                                             \
    {                                                                                    \
        .name = "NVIDIA B200", .cc_major = 10, .cc_minor = 0, .sm_count = 148,           \
        .gpc_sms = 20, .l2_bytes = INT64_C(132644864),                                   \
        .memory_bytes = INT64_C(192000000000), .memory_bytes_s = INT64_C(8183808000000), \
        .smem_optin_bytes = 232448                                                       \
    }
/* Planned with the multiprocessors, the L2 and the memory of a B200: nobody here has met a
 * B300. */
#define B300                                                                             \
    {                                                                                    \
        .name = "NVIDIA B300", .cc_major = 10, .cc_minor = 3, .sm_count = 148,           \
        .gpc_sms = 20, .l2_bytes = INT64_C(132644864),                                   \
        .memory_bytes = INT64_C(288000000000), .memory_bytes_s = INT64_C(8183808000000), \
        .smem_optin_bytes = 232448                                                       \
    }

/* For a device the first one is taken that fits: an "a" target, which runs nowhere else,
 * before its family's. */
static const struct jg_arch archs[] = {
    {.name = "sm_90a",
     .runs_on = {{9, 0}},
     .default_facts = H200,
     .inputs = hopper_inputs,
     HOPPER},
    {.name = "sm_100a",
     .runs_on = {{10, 0}},
     .default_facts = B200,
     .inputs = b200_inputs,
     BLACKWELL},
    {.name = "sm_103a",
     .runs_on = {{10, 3}},
     .default_facts = B300,
     .inputs = blackwell_inputs,
     BLACKWELL},
    {.name = "sm_100f",
     .runs_on = {{10, 0}, {10, 3}},
     .default_facts = B200,
     .inputs = blackwell_inputs,
     BLACKWELL},
};

enum { ARCH_COUNT = sizeof(archs) / sizeof(archs[0]) };

static const struct jg_known_device known_devices[] = {
    {"h200", H200}, {"h100", H100}, {"b200", B200}, {"b300", B300}};

/* ------------------------------------------------------------------------ the search */

const struct jg_known_device *jg_known_device_at(int index)
{
    const int count = sizeof(known_devices) / sizeof(known_devices[0]);
    return index >= 0 && index < count ? &known_devices[index] : NULL;
}

const struct jg_arch *jg_arch_at(int index)
{
    return index >= 0 && index < ARCH_COUNT ? &archs[index] : NULL;
}

const struct jg_arch *jg_arch_find(const char *name)
{
    for (int i = 0; name != NULL && i < ARCH_COUNT; i++) {
        if (strcmp(archs[i].name, name) == 0) {
            return &archs[i];
        }
    }
    return NULL;
}

/* `sm_120a`, for instance: a chip that has no kernels, and no wrong spelling of another. */
static bool is_arch_of_other_chip(const char *word, size_t size)
{
    static const char prefix[] = "sm_";
    const size_t begin = sizeof(prefix) - 1;
    size_t at = begin;
    if (size < begin || memcmp(word, prefix, begin) != 0) {
        return false;
    }
    while (at < size && isdigit((unsigned char)word[at])) {
        at++;
    }
    return at > begin && (at == size || (at + 1 == size && strchr("af", word[at]) != NULL));
}

void jg_arch_nearest(struct jg_nearest *nearest)
{
    static const char *const other_names[][2] = {
        {"hopper", "sm_90a"},     {"h100", "sm_90a"},        {"h200", "sm_90a"},
        {"h800", "sm_90a"},       {"h20", "sm_90a"},         {"gh200", "sm_90a"},
        {"sm90", "sm_90a"},       {"90", "sm_90a"},          {"9.0", "sm_90a"},
        {"compute90", "sm_90a"},  {"compute90a", "sm_90a"},  {"90a", "sm_90a"},
        {"blackwell", "sm_100a"}, {"b200", "sm_100a"},       {"b100", "sm_100a"},
        {"gb200", "sm_100a"},     {"sm100", "sm_100a"},      {"100", "sm_100a"},
        {"10.0", "sm_100a"},      {"compute100", "sm_100a"}, {"compute100a", "sm_100a"},
        {"100a", "sm_100a"},      {"b300", "sm_103a"},       {"gb300", "sm_103a"},
        {"sm103", "sm_103a"},     {"103", "sm_103a"},        {"10.3", "sm_103a"},
        {"103a", "sm_103a"}};
    const bool is_other = is_arch_of_other_chip(nearest->word, nearest->size);
    for (int i = 0; i < ARCH_COUNT; i++) {
        if (!is_other) {
            jg_nearest_try(nearest, archs[i].name, strlen(archs[i].name));
        }
        jg_nearest_other(nearest, archs[i].name, archs[i].name); /* SM-90A */
    }
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
        jg_nearest_other(nearest, other_names[i][0], other_names[i][1]);
    }
}

bool jg_arch_runs_on(const struct jg_arch *arch, const struct jg_device_facts *facts)
{
    for (int i = 0; i < JG_MAX_COMPUTE_CAPABILITIES && arch->runs_on[i].major > 0; i++) {
        if (arch->runs_on[i].major == facts->cc_major &&
            arch->runs_on[i].minor == facts->cc_minor) {
            return true;
        }
    }
    return false;
}

const struct jg_arch *jg_arch_for_device(const struct jg_device_facts *facts)
{
    for (int i = 0; i < ARCH_COUNT; i++) {
        if (jg_arch_runs_on(&archs[i], facts)) {
            return &archs[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------- the check */

/* NULL if the chip does not multiply the type. */
static const struct jg_input_feature *find_input(const struct jg_arch *arch,
                                                 jit_gemm_dtype dtype)
{
    const struct jg_input_feature *input = arch->inputs;
    while (input->dtype != JIT_GEMM_DTYPE_NONE && input->dtype != dtype) {
        input++;
    }
    return input->dtype == dtype ? input : NULL;
}

static bool are_relatives(const struct jg_arch *a, const struct jg_arch *b)
{
    return a->runs_on[0].major == b->runs_on[0].major;
}

/* With the name of one that multiplies the type, a relative if there is one. */
static jit_gemm_status refuse_type(const struct jg_arch *arch, const char *field,
                                   jit_gemm_dtype dtype)
{
    const struct jg_arch *other = NULL;
    for (int i = 0; i < ARCH_COUNT; i++) {
        const bool is_nearer = other == NULL || (are_relatives(&archs[i], arch) &&
                                                 !are_relatives(other, arch));
        if (find_input(&archs[i], dtype) != NULL && is_nearer) {
            other = &archs[i];
        }
    }
    char hint[128] = "give A and B another type";
    if (other != NULL) {
        snprintf(hint, sizeof(hint), "build for %s, which runs on compute capability %d.%d",
                 other->name, other->runs_on[0].major, other->runs_on[0].minor);
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field, hint,
                   "the tensor core of %s does not multiply %s", arch->name,
                   jg_dtype_name(dtype));
}

static jit_gemm_status check_input(const struct jg_arch *arch, const char *field,
                                   const char *layout_field, const struct jg_matrix *matrix)
{
    const struct jg_input_feature *input = find_input(arch, matrix->dtype);
    if (input == NULL) {
        return refuse_type(arch, field, matrix->dtype);
    }
    if (matrix->is_mn_major && !input->takes_mn_major) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, layout_field,
                       "give layout=nt, both K-major: transpose the matrix first",
                       "%s multiplies %s from K-major layouts only, %c is MN-major",
                       arch->name, jg_dtype_name(matrix->dtype), toupper(matrix->letter));
    }
    return JIT_GEMM_OK;
}

/* What no kernel but the reference does beside a gated epilogue. */
static jit_gemm_status check_gated(const struct jg_problem *problem)
{
    if (!problem->is_gated) {
        return JIT_GEMM_OK;
    }
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, "problem.c.dtype",
            "leave it zero, and add a matrix operand of D's shape in the snippet",
            "there is no kernel for a gated epilogue with a C");
    }
    return problem->n.mode == JIT_GEMM_DIM_EXACT
               ? jg_problem_check_halves(problem, "problem.n", problem->n.size)
               : JIT_GEMM_OK;
}

/* Scales that the tensor core multiplies by. */
static jit_gemm_status check_scaled(const struct jg_arch *arch,
                                    const struct jg_problem *problem)
{
    if (!jg_scale_is_multiplied(&problem->a.scale)) {
        return JIT_GEMM_OK;
    }
    if (arch->multiplied_scales_header == NULL) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.a.scale.kind",
                       "give scales of f32, 1x128 or 128x128, or build for sm_100a",
                       "the tensor core of %s does not multiply by scales", arch->name);
    }
    if (jg_inputs_are_unaligned(problem)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.a.alignment",
                       "align A and B to 16 bytes and leave it zero",
                       "there is no kernel for scale %s with an input_align of %d",
                       jg_scale_name(&problem->a.scale), problem->a.alignment);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_arch_check(const struct jg_arch *arch, const struct jg_problem *problem)
{
    JG_TRY(check_input(arch, "problem.a.dtype", "problem.a.layout", &problem->a));
    JG_TRY(check_input(arch, "problem.b.dtype", "problem.b.layout", &problem->b));
    JG_TRY(check_scaled(arch, problem));
    return check_gated(problem);
}
