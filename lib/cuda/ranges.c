/* SPDX-License-Identifier: MIT */
/* NVTX is headers only: at the first range they open the tool that NVTX_INJECTION64_PATH
 * names, and without one a range costs a call. */
#include "cuda/ranges.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

#ifdef JG_HAS_NVTX
#    include <nvtx3/nvToolsExt.h>
#endif

jit_gemm_status jg_ranges_need(const char *where)
{
#ifdef JG_HAS_NVTX
    (void)where;
    return JIT_GEMM_OK;
#else
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, where,
                   "build it with nvtx3/nvToolsExt.h beside cuda.h",
                   "this library was built without NVTX");
#endif
}

jit_gemm_status jg_ranges_read(const char *text, const char *where, bool *ret_has_ranges)
{
    const bool is_asked = text != NULL && strcmp(text, "1") == 0;
    if (text != NULL && !is_asked && strcmp(text, "0") != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "give 1 for ranges, 0 for none",
                       "is neither 1 nor 0");
    }
    if (is_asked) {
        JG_TRY(jg_ranges_need(where));
    }
    *ret_has_ranges = is_asked;
    return JIT_GEMM_OK;
}

#ifdef JG_HAS_NVTX

void jg_range_push(bool has_ranges, const char *what, const char *text)
{
    char name[512]; /* a longer text is cut */
    if (has_ranges) {
        snprintf(name, sizeof(name), "jit_gemm: %s %s", what, text);
        (void)nvtxRangePushA(name);
    }
}

void jg_range_pop(bool has_ranges)
{
    if (has_ranges) {
        (void)nvtxRangePop();
    }
}

#else

void jg_range_push(bool has_ranges, const char *what, const char *text)
{
    (void)has_ranges;
    (void)what;
    (void)text;
}

void jg_range_pop(bool has_ranges)
{
    (void)has_ranges;
}

#endif
