/* SPDX-License-Identifier: MIT */
/* Where a library of the CUDA toolkit may lie. Opens nothing. */
#ifndef JG_CUDA_LIBRARY_PATHS_H
#define JG_CUDA_LIBRARY_PATHS_H

#include "base/str.h"

/* Names of one library's versions, best first. */
struct jg_library_names {
    const char *const *names;
    size_t count;
};

struct jg_library_paths {
    char **paths; /* existing files; last the bare names that the loader looks for itself */
    size_t count;
    struct jg_str searched; /* for messages: every folder and name that was considered */
};

/*
 * Libraries are code: of a folder only those are taken that belong to the user or to root,
 * as the folder does, and that nobody else may write; `searched` says which were not.
 *
 * Lists paths, best first. `named` is a library, or a folder that has one, and is then the
 * only path; NULL: $CUDA_HOME, the usual folders, the folder given at build time, wheels of
 * NVIDIA's among Python's packages (this library's own, $VIRTUAL_ENV, $CONDA_PREFIX, the
 * user's, the machine's), and the loader's own search. NO_MEMORY.
 */
jit_gemm_status jg_library_paths_find(const struct jg_library_names *names,
                                      const char *named,
                                      struct jg_library_paths *ret_paths);
/*
 * Lists paths of a library that is installed beside this one, best first: the folder of
 * the library that this code is in, `sibling` beside it (so it is in a build tree), and the
 * loader's own search. NO_MEMORY.
 */
jit_gemm_status jg_library_paths_companion(const struct jg_library_names *names,
                                           const char *sibling,
                                           struct jg_library_paths *ret_paths);
void jg_library_paths_free(struct jg_library_paths *paths);

/* Appends real path, size, inode and time of change of a file; false if it is no file (a
 * bare name). */
bool jg_library_paths_fingerprint(const char *path, struct jg_str *out);

#endif
