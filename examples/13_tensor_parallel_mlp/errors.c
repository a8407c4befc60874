/* SPDX-License-Identifier: MIT */
/* Says what failed in the library, the driver or NCCL. */
#include <stdio.h>

#include "tensor_parallel_mlp.h"

bool failed(const char *call, jit_gemm_status status)
{
    if (status != JIT_GEMM_OK) {
        fprintf(stderr, "%s: %s\n", call, jit_gemm_last_error());
    }
    return status != JIT_GEMM_OK;
}

bool refused(const char *call, int result)
{
    if (result != 0) {
        fprintf(stderr, "%s: driver error %d\n", call, result);
    }
    return result != 0;
}

bool broken(const char *call, ncclResult_t result)
{
    if (result != ncclSuccess) {
        fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(result));
    }
    return result != ncclSuccess;
}
