/* SPDX-License-Identifier: MIT */
/* Status codes as text, and the forward macro. */
#ifndef JG_BASE_STATUS_H
#define JG_BASE_STATUS_H

#include "jit_gemm/status.h"

/* Returns the status of an expression if it is not OK. */
#define JG_TRY(expression)                                  \
    do {                                                    \
        const jit_gemm_status jg_try_status = (expression); \
        if (jg_try_status != JIT_GEMM_OK) {                 \
            return jg_try_status;                           \
        }                                                   \
    } while (0)

/* Name without prefix ("UNSUPPORTED") and one sentence. Never NULL; static. */
const char *jg_status_name(jit_gemm_status status);
const char *jg_status_text(jit_gemm_status status);

#endif
