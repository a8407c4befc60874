/* SPDX-License-Identifier: MIT */
#include "rival_scales.h"

#include <stdlib.h>

#include "verify/quantise.h"

#define BLOCK     128
#define STEP      4 /* M, N, and the blocks along K of a 128x128 scale */
#define ALIGNMENT ((size_t)256)

/* ------------------------------------------------------------------------------ modes */

static bool is_plain(const jit_gemm_scale *scale)
{
    return scale->kind == JIT_GEMM_SCALE_NONE || scale->kind == JIT_GEMM_SCALE_TENSOR;
}

static bool has_fp8(jit_gemm_dtype type)
{
    return type == JIT_GEMM_DTYPE_E4M3 || type == JIT_GEMM_DTYPE_E5M2;
}

/* Beside a vector everything is one, beside blocks a matrix without scales has blocks of
 * ones. */
static int choose_mode(const jit_gemm_scale *scale, bool has_blocks,
                       enum cublaslt_scale_mode *ret_mode, char error[BENCH_ERROR_SIZE])
{
    if (!has_blocks) {
        *ret_mode = CUBLASLT_SCALE_OUTER_VEC;
        return 0;
    }
    const bool has_f32 =
        scale->dtype == JIT_GEMM_DTYPE_F32 || scale->dtype == JIT_GEMM_DTYPE_NONE;
    const bool is_square = scale->block_mn == BLOCK;
    if (scale->kind == JIT_GEMM_SCALE_NONE) {
        *ret_mode = CUBLASLT_SCALE_VEC128;
    } else if (scale->kind == JIT_GEMM_SCALE_BLOCK && has_f32 && scale->block_k == BLOCK &&
               (is_square || scale->block_mn == 1)) {
        *ret_mode = is_square ? CUBLASLT_SCALE_BLK128X128 : CUBLASLT_SCALE_VEC128;
    } else {
        return bench_fail(error,
                          "cuBLASLt has no mode for this scale beside blocks of 128");
    }
    return 0;
}

/*
 * Scales of a byte for each block: MX of 8-bit floats, and NV of e2m1, both with the layout
 * that is ours too.
 */
static int choose_byte_mode(const jit_gemm_scale *scale, jit_gemm_dtype type,
                            enum cublaslt_scale_mode *ret_mode,
                            char error[BENCH_ERROR_SIZE])
{
    const bool is_mx = scale->dtype == JIT_GEMM_DTYPE_UE8M0 && scale->block_k == 32;
    const bool is_nv = scale->dtype == JIT_GEMM_DTYPE_UE4M3;
    if (scale->kind != JIT_GEMM_SCALE_BLOCK || scale->block_mn > 1 || !(is_mx || is_nv)) {
        return bench_fail(
            error, "cuBLASLt has scales of a byte as mx and nv only, of both A and B");
    }
    if (is_mx != has_fp8(type)) {
        return bench_fail(error, "cuBLASLt has no %s with scales %s",
                          element_dtype_name(type), is_mx ? "mx" : "nv");
    }
    if (scale->layout != JIT_GEMM_SCALE_LAYOUT_128X4) {
        return bench_fail(error, "cuBLASLt has scales mx and nv in layout 128x4 only");
    }
    *ret_mode = is_mx ? CUBLASLT_SCALE_VEC32 : CUBLASLT_SCALE_VEC16;
    return 0;
}

static int choose_byte_modes(const struct gemm_shape *s, enum cublaslt_scale_mode *ret_a,
                             enum cublaslt_scale_mode *ret_b, char error[BENCH_ERROR_SIZE])
{
    if (choose_byte_mode(&s->a_scale, s->a_type, ret_a, error) != 0 ||
        choose_byte_mode(&s->b_scale, s->b_type, ret_b, error) != 0) {
        return -1;
    }
    if (*ret_a != *ret_b) {
        return bench_fail(error, "cuBLASLt has no %s beside %s",
                          element_dtype_name(s->a_type), element_dtype_name(s->b_type));
    }
    return s->batch > 1
               ? bench_fail(error, "cuBLASLt has no vectors or blocks of scales of a batch")
               : 0;
}

static int choose_modes(const struct gemm_shape *s, enum cublaslt_scale_mode *ret_a,
                        enum cublaslt_scale_mode *ret_b, char error[BENCH_ERROR_SIZE])
{
    const bool has_blocks =
        s->a_scale.kind == JIT_GEMM_SCALE_BLOCK || s->b_scale.kind == JIT_GEMM_SCALE_BLOCK;
    *ret_a = *ret_b = CUBLASLT_SCALE_SCALAR;
    if (s->d_scale.kind != JIT_GEMM_SCALE_NONE) {
        return bench_fail(error, "cuBLASLt computes no such scales of D");
    }
    if (s->a_scale.kind == JIT_GEMM_SCALE_NONE && s->b_scale.kind == JIT_GEMM_SCALE_NONE) {
        return 0;
    }
    if (quantise_has_byte_scales(&s->a_scale) || quantise_has_byte_scales(&s->b_scale)) {
        return choose_byte_modes(s, ret_a, ret_b, error);
    }
    if (!has_fp8(s->a_type)) {
        return bench_fail(error, "cuBLASLt has scales of e4m3 and e5m2 only, A is %s",
                          element_dtype_name(s->a_type));
    }
    if (is_plain(&s->a_scale) && is_plain(&s->b_scale)) {
        return 0;
    }
    if (choose_mode(&s->a_scale, has_blocks, ret_a, error) != 0 ||
        choose_mode(&s->b_scale, has_blocks, ret_b, error) != 0) {
        return -1;
    }
    if (*ret_a == CUBLASLT_SCALE_BLK128X128 && *ret_b == CUBLASLT_SCALE_BLK128X128) {
        return bench_fail(error, "cuBLASLt has no scales 128x128 of both A and B");
    }
    if (has_fp8(s->d_type)) {
        return bench_fail(error,
                          "cuBLASLt has no D of %s beside scales of vectors or blocks",
                          element_dtype_name(s->d_type));
    }
    if (s->batch > 1) {
        return bench_fail(error, "cuBLASLt has no vectors or blocks of scales of a batch");
    }
    if (has_blocks && (s->m % STEP != 0 || s->n % STEP != 0)) {
        return bench_fail(error, "cuBLASLt's scales of blocks need M and N multiples of 4");
    }
    return 0;
}

/* ---------------------------------------------------------------------------- layouts */

/*
 * VEC128: rows run fastest, M (or N) of them, a multiple of 4. BLK128x128: blocks along K
 * run fastest, their number rounded up to a multiple of 4.
 */
static struct gemm_scales describe_mode(enum cublaslt_scale_mode mode, int64_t mn,
                                        int64_t k)
{
    struct gemm_scales s = {.mn = mn,
                            .k = k,
                            .block_mn = mn,
                            .block_k = k,
                            .rows = 1,
                            .blocks = 1,
                            .count = 1,
                            .batches = 1};
    const int64_t blocks = (k + BLOCK - 1) / BLOCK;
    s.row_stride = s.block_stride = 1;
    switch (mode) {
    case CUBLASLT_SCALE_SCALAR:
    case CUBLASLT_SCALE_VEC16: /* these two lie as ours do */
    case CUBLASLT_SCALE_VEC32:
        break;
    case CUBLASLT_SCALE_OUTER_VEC:
        s.block_mn = 1;
        s.rows = s.block_stride = s.count = mn;
        break;
    case CUBLASLT_SCALE_VEC128:
        s.block_mn = 1;
        s.block_k = BLOCK;
        s.rows = s.block_stride = mn;
        s.blocks = blocks;
        s.count = mn * blocks;
        break;
    case CUBLASLT_SCALE_BLK128X128:
        s.block_mn = s.block_k = BLOCK;
        s.rows = (mn + BLOCK - 1) / BLOCK;
        s.blocks = blocks;
        s.row_stride = (blocks + STEP - 1) / STEP * STEP;
        s.count = s.rows * s.row_stride;
        break;
    }
    return s;
}

static bool is_same(const struct gemm_scales *x, const struct gemm_scales *y)
{
    return x->rows == y->rows && x->blocks == y->blocks &&
           (x->rows == 1 || x->row_stride == y->row_stride) &&
           (x->blocks == 1 || x->block_stride == y->block_stride);
}

static struct rival_scale place_scale(enum cublaslt_scale_mode mode,
                                      const struct gemm_scale_place *ours, size_t *used)
{
    struct rival_scale scale = {.mode = mode};
    if (mode == CUBLASLT_SCALE_SCALAR && ours->bytes == 0) {
        return scale;
    }
    if (mode == CUBLASLT_SCALE_VEC16 || mode == CUBLASLT_SCALE_VEC32) {
        scale.scales.count = ours->view.columns;
        scale.is_ours = true;
        return scale;
    }
    scale.scales = describe_mode(mode, ours->scales.mn, ours->scales.k);
    scale.is_ours = ours->bytes > 0 && is_same(&scale.scales, &ours->scales);
    if (!scale.is_ours) {
        const size_t bytes = (size_t)scale.scales.count * sizeof(float);
        scale.offset = *used;
        *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return scale;
}

/* ----------------------------------------------------------------------------- values */

/* The values of a set, read back from it. */
static int copy_scale(const struct rival_scales *all, const struct rival_scale *rival,
                      const struct gemm_scale_place *ours, uint64_t address, size_t set,
                      char error[BENCH_ERROR_SIZE])
{
    if (rival->scales.count == 0 || rival->is_ours) {
        return 0;
    }
    jit_gemm_context *context = all->sets->context;
    const size_t bytes = (size_t)rival->scales.count * sizeof(float);
    float *values = calloc(1, ours->bytes + 1); /* not empty either */
    float *copy = malloc(bytes);
    jit_gemm_status status = JIT_GEMM_OK;
    int result = 0;
    if (values == NULL || copy == NULL) {
        result = bench_fail(error, "out of memory");
        goto done;
    }
    if (ours->bytes > 0) {
        status = jit_gemm_device_download(context, values, address, ours->bytes);
    }
    if (status == JIT_GEMM_OK) {
        gemm_scales_lay_out(&ours->scales, values, &rival->scales, copy);
        status = jit_gemm_device_upload(
            context, all->memory + set * all->set_bytes + rival->offset, copy, bytes);
    }
    if (status != JIT_GEMM_OK) {
        result = bench_fail(error, "cuBLASLt's scales: %s", jit_gemm_last_error());
    }
done:
    free(values);
    free(copy);
    return result;
}

static int fill(struct rival_scales *all, char error[BENCH_ERROR_SIZE])
{
    const struct gemm_sets *sets = all->sets;
    if (all->set_bytes == 0) {
        return 0;
    }
    if (jit_gemm_device_alloc(sets->context, sets->count * all->set_bytes, &all->memory) !=
        JIT_GEMM_OK) {
        return bench_fail(error, "cuBLASLt's scales: %s", jit_gemm_last_error());
    }
    for (size_t set = 0; set < sets->count; set++) {
        const jit_gemm_args *args = &sets->args[set];
        if (copy_scale(all, &all->a, &sets->a_scale, args->a_scale.pointer, set, error) !=
                0 ||
            copy_scale(all, &all->b, &sets->b_scale, args->b_scale.pointer, set, error) !=
                0) {
            return -1;
        }
    }
    return 0;
}

static const char *describe_difference(const struct gemm_sets *sets,
                                       const struct rival_scales *all)
{
    const bool is_scalar = all->a.mode == CUBLASLT_SCALE_SCALAR;
    if (!is_scalar && sets->a_scale.bytes == 0) {
        return "scales of A are ones";
    }
    return !is_scalar && sets->b_scale.bytes == 0 ? "scales of B are ones" : "";
}

int rival_scales_create(const struct gemm_sets *sets, struct rival_scales **ret_scales,
                        char error[BENCH_ERROR_SIZE])
{
    enum cublaslt_scale_mode a_mode, b_mode;
    if (choose_modes(&sets->shape, &a_mode, &b_mode, error) != 0) {
        return -1;
    }
    struct rival_scales *all = calloc(1, sizeof(*all));
    if (all == NULL) {
        return bench_fail(error, "out of memory");
    }
    all->sets = sets;
    all->a = place_scale(a_mode, &sets->a_scale, &all->set_bytes);
    all->b = place_scale(b_mode, &sets->b_scale, &all->set_bytes);
    all->note = describe_difference(sets, all);
    if (fill(all, error) != 0) {
        rival_scales_destroy(&all);
        return -1;
    }
    *ret_scales = all;
    return 0;
}

static uint64_t address_of(const struct rival_scales *all, const struct rival_scale *rival,
                           uint64_t ours, size_t set)
{
    if (rival->scales.count == 0) {
        return 0;
    }
    return rival->is_ours ? ours : all->memory + set * all->set_bytes + rival->offset;
}

uint64_t rival_scales_of_a(const struct rival_scales *scales, size_t set)
{
    return address_of(scales, &scales->a, scales->sets->args[set].a_scale.pointer, set);
}

uint64_t rival_scales_of_b(const struct rival_scales *scales, size_t set)
{
    return address_of(scales, &scales->b, scales->sets->args[set].b_scale.pointer, set);
}

void rival_scales_destroy(struct rival_scales **scales)
{
    if (scales == NULL || *scales == NULL) {
        return;
    }
    if ((*scales)->memory != 0) {
        jit_gemm_device_free((*scales)->sets->context, (*scales)->memory);
    }
    free(*scales);
    *scales = NULL;
}
