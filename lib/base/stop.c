/* SPDX-License-Identifier: MIT */
#include "base/stop.h"

#include "base/error.h"

jit_gemm_status jg_stop_fail(void)
{
    return jg_fail(JIT_GEMM_ERR_CANCELLED, "context",
                   "call again to go on: what was finished is kept",
                   "jit_gemm_cancel was called while a kernel was compiled or waited for");
}
