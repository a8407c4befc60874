/* SPDX-License-Identifier: MIT */
#include "base/env.h"

#include <stdlib.h>

static const struct jg_env_row env_rows[JG_ENV_COUNT] = {
    [JG_ENV_CACHE_DIR] = {"JIT_GEMM_CACHE_DIR",
                          "Absolute path of the writable cache folder; unset: "
                          "XDG_CACHE_HOME, then HOME/.cache."},
    [JG_ENV_ARCH] = {"JIT_GEMM_ARCH",
                     "Architecture to plan and build for, such as sm_90a; unset: that of "
                     "the device."},
    [JG_ENV_DRIVER] = {"JIT_GEMM_DRIVER",
                       "Path of the CUDA driver library; unset: libcuda.so.1."},
    [JG_ENV_NVRTC] = {"JIT_GEMM_NVRTC",
                      "Path of the NVRTC compiler library; unset: the usual places."},
    [JG_ENV_DUMP_DIR] = {"JIT_GEMM_DUMP_DIR",
                         "Folder that receives the source unit, compiler log, PTX and "
                         "cubin of each build; unset: none."},
};

const struct jg_env_row *jg_env_row(enum jg_env variable)
{
    return &env_rows[variable];
}

const char *jg_env_get(enum jg_env variable)
{
    const char *value = secure_getenv(env_rows[variable].name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}
