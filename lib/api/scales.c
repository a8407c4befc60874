/* SPDX-License-Identifier: MIT */
/* Scales of blocks on the host. */
#include "jit_gemm/scales.h"

#include <string.h>

#include "base/error.h"
#include "plan/dtype.h"
#include "plan/scale.h"

/* Elements of one dimension: then products of two, and bytes, are in range. */
#define MOST_ELEMENTS (INT64_C(1) << 31)

static jit_gemm_status check_size(const char *field, int64_t size)
{
    if (size < 1 || size > MOST_ELEMENTS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "give elements, 1 to 2^31",
                       "must be 1 to %lld, is %lld", (long long)MOST_ELEMENTS,
                       (long long)size);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check(const jit_gemm_scale *user, int64_t mn, int64_t k,
                             jit_gemm_scale *ret_scale)
{
    if (user == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "scale", "give the scale of a matrix",
                       "is NULL");
    }
    if (user->kind != JIT_GEMM_SCALE_BLOCK) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "scale.kind", "give JIT_GEMM_SCALE_BLOCK",
                       "scales of kind %d are none of blocks", (int)user->kind);
    }
    JG_TRY(jg_scale_check('a', user));
    *ret_scale = *user;
    jg_scale_complete(ret_scale);
    JG_TRY(jg_scale_check_layout("scale.layout", ret_scale));
    JG_TRY(check_size("mn", mn));
    return check_size("k", k);
}

static size_t count_bytes(const jit_gemm_scale *scale, int64_t mn, int64_t k)
{
    const struct jg_scale_extent extent = jg_scale_extent(scale, mn, k);
    return (size_t)jg_bytes_of(scale->dtype, extent.rows * extent.columns);
}

jit_gemm_status jit_gemm_scales_bytes(const jit_gemm_scale *scale, int64_t mn, int64_t k,
                                      size_t *ret_bytes)
{
    jit_gemm_scale complete = {0};
    JG_TRY(check(scale, mn, k, &complete));
    if (ret_bytes == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "ret_bytes", "give the address of a size_t",
                       "is NULL");
    }
    *ret_bytes = count_bytes(&complete, mn, k);
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_scales_convert(const jit_gemm_scale *scale, int64_t mn, int64_t k,
                                        const void *from, uint32_t to_layout, void *to)
{
    jit_gemm_scale before = {.block_mn = 1, .block_k = 1};
    JG_TRY(check(scale, mn, k, &before));
    jit_gemm_scale after = before;
    after.layout = to_layout;
    JG_TRY(jg_scale_check_layout("to_layout", &after));
    if (from == NULL || to == NULL || from == to) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, from == NULL ? "from" : "to",
                       "give host memory, and other memory for the result",
                       from == to && to != NULL ? "is where the scales lie" : "is NULL");
    }
    const size_t bytes = (size_t)jg_bytes_of(before.dtype, 1);
    const int64_t rows = (mn - 1) / before.block_mn + 1;
    const int64_t blocks = (k - 1) / before.block_k + 1;
    memset(to, 0, count_bytes(&after, mn, k));
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t source = jg_scale_index(&before, rows, blocks, row, block);
            const int64_t target = jg_scale_index(&after, rows, blocks, row, block);
            memcpy((char *)to + (size_t)target * bytes,
                   (const char *)from + (size_t)source * bytes, bytes);
        }
    }
    return JIT_GEMM_OK;
}
