/* SPDX-License-Identifier: MIT */
/* Matrices of groups that a launch finds by their addresses. What `run` knows of them lies
 * as with group_by=counts, a batch of matrices of M rows. The launch gets others: each
 * group's apart, in another order, with other leading dimensions, of the rows that it has,
 * and poison between them. */
#ifndef RUN_POINTERS_H
#define RUN_POINTERS_H

#include <stdbool.h>

#include "run_matrix.h"

/* Zeroed: none. */
struct run_pointers {
    struct run_matrix room;      /* all matrices, as one row */
    struct run_matrix addresses; /* an address per group, as two words of s32 */
    struct run_matrix lds;       /* an int64_t per group; none where all have `ld` */
    int64_t ld;
    int64_t *begins; /* in elements of the room; -1: the group has nothing */
    int64_t *group_lds;
};

/* What rows and columns of such a matrix as stored are: which of its group's sizes. */
enum run_size { RUN_SIZE_M, RUN_SIZE_N, RUN_SIZE_K };
struct run_part {
    enum run_size rows, columns;
};

/* Makes the room of matrices that lie as `view`, a batch index per group of the groups, and
 * fills it from `data`, or leaves it poisoned where that is NULL. A group without rows has
 * no matrix, and an address that is none. `one_ld`: all have one. CLI_OK, or the error was
 * printed; free it in either case. */
int run_pointers_create(jit_gemm_context *context, const struct run_groups *groups,
                        const struct element_view *view, struct run_part part, bool one_ld,
                        const void *data, uint64_t promised,
                        struct run_pointers *ret_pointers);
void run_pointers_free(jit_gemm_context *context, struct run_pointers *pointers);

/* The argument that a launch gets for these matrices. */
jit_gemm_arg run_pointers_argument(const struct run_pointers *pointers);

/* Puts matrices of M x N back to where they lie as `target`, whose memory is
 * poisoned first. Sets `*is_wrong`, after an error about `name`, if anything between them
 * was written. */
int run_pointers_collect(jit_gemm_context *context, const struct run_groups *groups,
                         const char *name, const struct run_pointers *pointers,
                         const struct run_matrix *target, bool *is_wrong);
/* CLI_OK if the guards are untouched. */
int run_pointers_check_guards(jit_gemm_context *context, const char *name,
                              const struct run_pointers *pointers);

#endif
