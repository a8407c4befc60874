/* SPDX-License-Identifier: MIT */
/* What other files of this floor see of a handle. */
#ifndef JG_API_HANDLE_H
#define JG_API_HANDLE_H

#include "jit_gemm/jit_gemm.h"
#include "runtime/module.h"

/* Lives as long as the handle. */
const struct jg_kernel *jg_handle_kernel(const jit_gemm *gemm);

#endif
