/* SPDX-License-Identifier: MIT */
#include "base/env.h"

#include <stdlib.h>

static const char *const env_names[JG_ENV_COUNT] = {
    [JG_ENV_CACHE_DIR] = "JIT_GEMM_CACHE_DIR",
    [JG_ENV_ARCH] = "JIT_GEMM_ARCH",
    [JG_ENV_DRIVER] = "JIT_GEMM_DRIVER",
    [JG_ENV_NVRTC] = "JIT_GEMM_NVRTC",
    [JG_ENV_DUMP_DIR] = "JIT_GEMM_DUMP_DIR",
    [JG_ENV_CACHE_LIMIT] = "JIT_GEMM_CACHE_LIMIT",
    [JG_ENV_CACHE_ROOTS] = "JIT_GEMM_CACHE_ROOTS",
    [JG_ENV_CAPSULES] = "JIT_GEMM_CAPSULES",
    [JG_ENV_CACHE_KEYS] = "JIT_GEMM_CACHE_KEYS",
    [JG_ENV_PLAN_FOR] = "JIT_GEMM_PLAN_FOR",
    [JG_ENV_CACHE_LEAST_SERIAL] = "JIT_GEMM_CACHE_LEAST_SERIAL",
    [JG_ENV_LOG] = "JIT_GEMM_LOG",
    [JG_ENV_NVTX] = "JIT_GEMM_NVTX",
};

const char *jg_env_name(enum jg_env variable)
{
    return env_names[variable];
}

const char *jg_env_get(enum jg_env variable)
{
    const char *value = secure_getenv(env_names[variable]);
    return value != NULL && value[0] != '\0' ? value : NULL;
}
