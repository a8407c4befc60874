/* SPDX-License-Identifier: MIT */
/* Compiles one small CUDA kernel with NVRTC and loads it; only the rivals use it. */
#ifndef BENCH_SMALL_KERNEL_H
#define BENCH_SMALL_KERNEL_H

#include "cuda_driver.h"

struct small_kernel {
    CUmodule module;
    CUfunction function;
};

/* Compiles `source` for the driver's device and loads its kernel `entry`. */
int small_kernel_load(const struct cuda_driver *driver, const char *nvrtc_path,
                      const char *source, const char *entry,
                      struct small_kernel *ret_kernel, char error[BENCH_ERROR_SIZE]);

/* Accepts a kernel that is all zero. */
void small_kernel_unload(const struct cuda_driver *driver, struct small_kernel *kernel);

#endif
