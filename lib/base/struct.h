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

#endif
