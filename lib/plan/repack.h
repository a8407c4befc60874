/* SPDX-License-Identifier: MIT */
/*
 * Copies of A and B, where TMA does not take their addresses, rows or batches: a kernel
 * before that of the product writes rows that begin at multiples of 128 bytes
 * (kernel_src/jg/pack/repack_kernel.cuh). Which are made, where they lie in the workspace,
 * and that kernel's parameter. Pure functions.
 */
#ifndef JG_PLAN_REPACK_H
#define JG_PLAN_REPACK_H

#include "plan/trial.h"

/* The kernel, beside that of the product in one unit. */
#define JG_REPACK_ENTRY "jit_gemm_repack"

enum {
    JG_REPACK_THREADS = 256,
    JG_REPACK_UNIT_BYTES = 2048, /* of a row, that a warp copies at once */
    JG_REPACK_ROW_STEP = 128     /* bytes that a row of a copy takes a multiple of */
};

/* Does the kernel work on copies? */
static inline bool jg_is_repacked(const struct jg_config *config)
{
    return config->pipeline.repack > JG_REPACK_NONE;
}

/* Is this one copied, 'a' or 'b' of the problem? */
bool jg_repack_copies(const struct jg_config *config, char letter);

/* Makes the product that of the config's copies. */
void jg_repack_product(const struct jg_config *config, struct jg_product *product);

/* Sizes of a product. */
struct jg_repack_size {
    int64_t m, n, k, batch;
};
struct jg_repack_size jg_repack_planned_size(const struct jg_product *product);

/* A copy of the product's A or B, in bytes; all 0 where none is made. */
struct jg_repack_copy {
    int64_t offset; /* in the workspace */
    int64_t pitch;  /* from one row to the next */
    int64_t stride; /* from one batch to the next */
};

struct jg_repack_room {
    struct jg_repack_copy a, b;
    int64_t end; /* bytes of the workspace, copies and all; INT64_MAX: more than can be */
};

/* Where copies lie, behind `used` bytes of the workspace; `used` is the end without any. */
struct jg_repack_room jg_repack_place(const struct jg_config *config,
                                      const struct jg_product *product,
                                      struct jg_repack_size size, int64_t used);

/* Bytes of the elements that are copied at the planned size. */
int64_t jg_repack_bytes(const struct jg_config *config, const struct jg_product *product);
/* Pieces of rows that warps copy, of both and of all batches. */
int64_t jg_repack_planned_units(const struct jg_config *config,
                                const struct jg_product *product);

/* False with a reason where copies are asked for and cannot be. */
bool jg_repack_check(struct jg_trial *trial);
/* Do the trial's copies, behind `used` bytes, fit what the problem allows? Those that the
 * override names are no choice. */
bool jg_repack_has_room(const struct jg_trial *trial, int64_t used);

/* As the device sees them (jg/pack/repack_kernel.cuh has the same structs; the source unit
 * carries the size and the device asserts it). Steps are in bytes. */
struct jg_repack_matrix {
    uint64_t from, to; /* device addresses */
    int64_t from_pitch, from_stride;
    int64_t to_pitch, to_stride;
    int64_t row_bytes;
    uint32_t rows, batch; /* 0 rows: it is not copied */
};
struct jg_repack_params {
    struct jg_repack_matrix matrices[2];
};
_Static_assert(sizeof(struct jg_repack_params) == 128,
               "as jg/pack/repack_kernel.cuh has it");

/* Pieces of rows of which a warp copies one at a time. */
int64_t jg_repack_units(const struct jg_repack_matrix *matrix);

#endif
