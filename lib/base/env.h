/* SPDX-License-Identifier: MIT */
/* Every JIT_GEMM_* variable that the library reads, in one table. Read once, at context
 * creation, never on the way of a run; ignored in set-user-id programs. */
#ifndef JG_BASE_ENV_H
#define JG_BASE_ENV_H

#include "base/status.h"

enum jg_env {
    JG_ENV_CACHE_DIR,   /* JIT_GEMM_CACHE_DIR: absolute path of the writable cache folder */
    JG_ENV_ARCH,        /* JIT_GEMM_ARCH: architecture to plan and build for */
    JG_ENV_DRIVER,      /* JIT_GEMM_DRIVER: path of the driver library, or "emulator" */
    JG_ENV_NVRTC,       /* JIT_GEMM_NVRTC: path of the compiler library */
    JG_ENV_DUMP_DIR,    /* JIT_GEMM_DUMP_DIR: folder for source unit, log, PTX and cubin */
    JG_ENV_CACHE_LIMIT, /* JIT_GEMM_CACHE_LIMIT: most bytes of that folder */
    JG_ENV_CACHE_ROOTS, /* JIT_GEMM_CACHE_ROOTS: read-only folders and bundles, path:path */
    JG_ENV_CAPSULES,    /* JIT_GEMM_CAPSULES: folder for capsules of failing compiles */
    JG_ENV_CACHE_KEYS,  /* JIT_GEMM_CACHE_KEYS: who must have signed those, key:key */
    JG_ENV_CACHE_LEAST_SERIAL, /* JIT_GEMM_CACHE_LEAST_SERIAL: the least that they may have
                                */
    JG_ENV_PLAN_FOR,           /* JIT_GEMM_PLAN_FOR: the device that is planned for */
    JG_ENV_LOG,                /* JIT_GEMM_LOG: log lines to standard error or a file */
    JG_ENV_NVTX,               /* JIT_GEMM_NVTX: 1 for NVTX ranges */
    JG_ENV_COUNT
};

/* Its name, for messages. */
const char *jg_env_name(enum jg_env variable);
/* The value, or NULL if unset, empty, or the program runs with raised rights. */
const char *jg_env_get(enum jg_env variable);

#endif
