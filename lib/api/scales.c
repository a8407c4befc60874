/* SPDX-License-Identifier: MIT */
/* Scales of blocks on the host. */
#include "jit_gemm/scales.h"

#include <stdbool.h>
#include <string.h>

#include "api/context.h"
#include "base/error.h"
#include "base/math.h"
#include "base/struct.h"
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

/* --------------------------------------------------------------------------- counting */

/* What a scale is; PLAIN: nothing that anyone suffers from. */
enum nature { PLAIN, IS_NAN, IS_INFINITE, IS_NEGATIVE, IS_ZERO };

static enum nature look_at_f32(const void *at)
{
    uint32_t bits = 0;
    memcpy(&bits, at, sizeof(bits));
    const uint32_t magnitude = bits & UINT32_C(0x7fffffff);
    if (magnitude >= UINT32_C(0x7f800000)) {
        return magnitude > UINT32_C(0x7f800000) ? IS_NAN : IS_INFINITE;
    }
    return magnitude != bits ? IS_NEGATIVE : magnitude == 0 ? IS_ZERO : PLAIN;
}

static enum nature look_at_ue4m3(const void *at)
{
    const unsigned char byte = *(const unsigned char *)at;
    if ((byte & 0x7fU) == 0x7fU) {
        return IS_NAN;
    }
    return byte > 0x7fU ? IS_NEGATIVE : byte == 0 ? IS_ZERO : PLAIN;
}

static enum nature look_at(jit_gemm_dtype dtype, const void *at)
{
    if (dtype == JIT_GEMM_DTYPE_UE8M0) {
        return *(const unsigned char *)at == 0xffU ? IS_NAN : PLAIN;
    }
    return dtype == JIT_GEMM_DTYPE_UE4M3 ? look_at_ue4m3(at) : look_at_f32(at);
}

static bool is_all_zero(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != 0) {
            return false;
        }
    }
    return true;
}

static void count_scale(enum nature nature, int64_t row, int64_t block,
                        jit_gemm_scales_report *report)
{
    report->scales++;
    report->nans += nature == IS_NAN;
    report->infinities += nature == IS_INFINITE;
    report->negatives += nature == IS_NEGATIVE;
    report->zeros += nature == IS_ZERO;
    if (nature != PLAIN && report->first_row < 0) {
        report->first_row = row;
        report->first_block = block;
    }
}

jit_gemm_status jit_gemm_scales_count(const jit_gemm_scale *scale, int64_t mn, int64_t k,
                                      const void *scales,
                                      jit_gemm_scales_report *ret_report)
{
    jit_gemm_scale complete = {.block_mn = 1, .block_k = 1};
    JG_TRY(check(scale, mn, k, &complete));
    JG_TRY(jg_check_pointer(scales, "scales"));
    jit_gemm_scales_report asked; /* refused before anything is read, not behind it */
    JG_TRY(jg_check_pointer(ret_report, "ret_report"));
    JG_TRY(jg_struct_import(ret_report, &asked, sizeof(asked), "ret_report"));
    jit_gemm_scales_report report = {
        .struct_size = sizeof(report), .first_row = -1, .first_block = -1};
    const unsigned char *first = scales;
    const size_t bytes = (size_t)jg_bytes_of(complete.dtype, 1);
    const int64_t rows = jg_ceil_div(mn, complete.block_mn);
    const int64_t blocks = jg_ceil_div(k, complete.block_k);
    uint64_t filled = 0; /* elements that are not all zero bits, less those of blocks */
    const uint64_t elements = count_bytes(&complete, mn, k) / bytes;
    for (uint64_t i = 0; i < elements; i++) {
        filled += !is_all_zero(first + i * bytes, bytes);
    }
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t index = jg_scale_index(&complete, rows, blocks, row, block);
            const unsigned char *at = first + (size_t)index * bytes;
            filled -= !is_all_zero(at, bytes);
            count_scale(look_at(complete.dtype, at), row, block, &report);
        }
    }
    report.padding = elements - report.scales;
    report.dirty_padding = filled;
    return jg_struct_export(&report, sizeof(report), ret_report, "ret_report");
}
