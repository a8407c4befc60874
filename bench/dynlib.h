/* SPDX-License-Identifier: MIT */
/* Opens a CUDA library at run time from wherever machines keep it. */
#ifndef BENCH_DYNLIB_H
#define BENCH_DYNLIB_H

#include <stddef.h>

#include "bench_util.h"

#define DYNLIB_PATH_SIZE 512

/* Where to look. */
struct dynlib_search {
    const char *what;         /* for messages: "cuBLASLt" */
    const char *path;         /* a file or folder; if set, nothing else is tried */
    const char *variable;     /* environment variable with a file or folder, or NULL */
    const char *const *names; /* file names, best first, ending with NULL */
};

/*
 * Order: `path`; the variable; the loader's own search; CUDA_HOME, CUDA_PATH and the usual
 * toolkit folders; Python wheels (nvidia/<package>/lib). A folder may be any of: one that
 * holds the file, a toolkit (lib64), or a site-packages with wheels.
 *
 * `ret_path` receives where it was found. The handle is never closed: CUDA libraries keep
 * threads and exit handlers.
 */
int dynlib_open(const struct dynlib_search *search, void **ret_handle,
                char ret_path[DYNLIB_PATH_SIZE], char error[BENCH_ERROR_SIZE]);

/* Copies the bits of a symbol into the function pointer at `target` (`size` its sizeof). */
int dynlib_symbol(void *handle, const char *name, void *target, size_t size,
                  char error[BENCH_ERROR_SIZE]);

/* dynlib_symbol for a variable of function pointer type. */
#define DYNLIB_SYMBOL(handle, name, target, error) \
    dynlib_symbol((handle), (name), (void *)&(target), sizeof(target), (error))

#endif
