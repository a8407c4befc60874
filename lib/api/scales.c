/* SPDX-License-Identifier: MIT */
/* Scales of blocks on the host. */
#include "jit_gemm/scales.h"

#include <string.h>

#include "api/context.h"
#include "base/error.h"
#include "base/math.h"
#include "plan/dtype.h"
#include "plan/pack.h"
#include "plan/scale.h"

static jit_gemm_status check(const jit_gemm_scale *user, int64_t mn, int64_t k,
                             jit_gemm_scale *ret_scale)
{
    JG_TRY(jg_pack_read_scale(user, ret_scale));
    JG_TRY(jg_pack_check_size("mn", mn));
    return jg_pack_check_size("k", k);
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
    struct jg_pack pack;
    JG_TRY(check(scale, mn, k, &before));
    JG_TRY(jg_pack_make(&before, to_layout, &pack));
    jit_gemm_scale after = before;
    after.layout = to_layout;
    JG_TRY(jg_check_pointer(from, "from"));
    JG_TRY(jg_check_pointer(to, "to"));
    const uintptr_t source = (uintptr_t)from, target = (uintptr_t)to;
    if (source < target + count_bytes(&after, mn, k) &&
        target < source + count_bytes(&before, mn, k)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "to", "give the result memory of its own",
                       "overlaps with the scales at `from`");
    }
    const size_t bytes = pack.element_bytes;
    const int64_t rows = jg_ceil_div(mn, before.block_mn);
    const int64_t blocks = jg_ceil_div(k, before.block_k);
    memset(to, 0, count_bytes(&after, mn, k));
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t old = jg_scale_index(&before, rows, blocks, row, block);
            const int64_t new = jg_scale_index(&after, rows, blocks, row, block);
            memcpy((char *)to + (size_t) new *bytes,
                   (const char *)from + (size_t)old * bytes, bytes);
        }
    }
    return JIT_GEMM_OK;
}
