/* SPDX-License-Identifier: MIT */
/* Where a library of the CUDA toolkit may lie. Opens nothing. */
#ifndef JG_CUDA_PLACES_H
#define JG_CUDA_PLACES_H

#include "base/str.h"

/* Names of one library's versions, best first. */
struct jg_library_names {
    const char *const *names;
    size_t count;
};

struct jg_places {
    char **paths; /* existing files; last the bare names that the loader looks for itself */
    size_t count;
    struct jg_str searched; /* for messages: every folder and name that was considered */
};

/*
 * Lists places, best first. `named` is a library, or a folder that has one, and is then the
 * only place; NULL: $CUDA_HOME, the usual folders, the folder given at build time, and the
 * loader's own search. NO_MEMORY.
 */
jit_gemm_status jg_places_find(const struct jg_library_names *names, const char *named,
                               struct jg_places *ret_places);
/*
 * Lists places of a library that is installed beside this one, best first: the folder of
 * the library that this code is in, that of the program, `sibling` beside either of them
 * (so it is in a build tree), and the loader's own search. NO_MEMORY.
 */
jit_gemm_status jg_places_companion(const struct jg_library_names *names,
                                    const char *sibling, struct jg_places *ret_places);
void jg_places_free(struct jg_places *places);

/* Appends real path, size, inode and time of change of a file; 0 if it is no file (a bare
 * name). */
int jg_places_fingerprint(const char *path, struct jg_str *out);

#endif
