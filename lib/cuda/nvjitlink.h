/* SPDX-License-Identifier: MIT */
/* nvJitLink, found and opened at run time: it will join compiled epilogues to kernels.
 * Kernels with snippets never need it. */
#ifndef JG_CUDA_NVJITLINK_H
#define JG_CUDA_NVJITLINK_H

#include "base/str.h"

/* Oldest usable version: 1000 * major + 10 * minor, as the driver counts. */
#define JG_NVJITLINK_MIN_VERSION 12090

struct jg_nvjitlink {
    int version;        /* 1000 * major + 10 * minor */
    struct jg_str path; /* as opened */
};

/*
 * Opens the library: beside the file `beside` (NVRTC's, may be NULL), else in the usual
 * places. It stays loaded for the life of the process. Where none is usable, what was wrong
 * at each place is appended to `reasons`, the result is NO_COMPILER, and no error record is
 * written: the caller may do without. NO_MEMORY.
 */
jit_gemm_status jg_nvjitlink_open(const char *beside, struct jg_nvjitlink *ret_nvjitlink,
                                  struct jg_str *reasons);
void jg_nvjitlink_close(struct jg_nvjitlink *nvjitlink);

#endif
