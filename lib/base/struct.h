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

/* The other way: gives what the library has to a caller who set struct_size, and leaves
 * what is past that. ARGUMENT, VERSION, as above; untouched on failure. */
jit_gemm_status jg_struct_export(const void *own, size_t own_size, void *user,
                                 const char *name);

/* The same where the size is an argument, and so is written too: the caller's struct need
 * not be filled in. ARGUMENT (NULL, no size), VERSION (`own` says something where the
 * caller's has ended); untouched on failure. */
jit_gemm_status jg_struct_fill(const void *own, size_t own_size, size_t size, void *user,
                               const char *name);

#endif
