/* SPDX-License-Identifier: MIT */
/* Public structs, which begin with their size in bytes: the rule of jit_gemm.h. */
#ifndef JG_BASE_STRUCT_H
#define JG_BASE_STRUCT_H

#include <stddef.h>

#include "base/status.h"

/* Copies a caller's struct into the library's own size: a shorter one is filled up with
 * zeros. `name` is that of the argument. ARGUMENT (NULL, no size), VERSION (a tail that
 * this library does not know is not zero). */
jit_gemm_status jg_struct_import(const void *user, void *own, size_t own_size,
                                 const char *name);

/* The other way: gives the caller's struct of `size` bytes, which need not be filled in,
 * what the library has, and its size. ARGUMENT (NULL, no size), VERSION (`own` says
 * something where the caller's has ended); untouched on failure. */
jit_gemm_status jg_struct_fill(const void *own, size_t own_size, size_t size, void *user,
                               const char *name);

#endif
