/* SPDX-License-Identifier: MIT */
/* Scales of a matrix: which there are, their names, what may be combined. */
#ifndef JG_PLAN_SCALE_H
#define JG_PLAN_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/nearest.h"
#include "base/status.h"
#include "jit_gemm/problem.h"

/* Hints: all names. */
#define JG_SCALES        "scales: none tensor vector 1x128 128x128 1x128ue8m0 128x128ue8m0 mx nv"
#define JG_SCALE_LAYOUTS "layouts: row column 128x4 8x4 mn_k4; linear is row"

enum { /* of the layout 128x4 */
       JG_SCALE_PIECE_ROWS = 128,
       JG_SCALE_PIECE_BLOCKS = 4,
       JG_SCALE_PIECE_BYTES = 512
};

/* As a problem's text writes it; "unknown" for what jg_scale_check refuses. */
const char *jg_scale_name(const jit_gemm_scale *scale);
/* Sets kind, type and block of the scale by name; false if there is no such name. */
bool jg_scale_parse(const char *text, size_t size, jit_gemm_scale *scale);
/* A name for an element type and its scales together, such as nvfp4; false if there is no
 * such name. The layout stays. */
bool jg_scale_format_parse(const char *text, size_t size, jit_gemm_matrix *matrix);
/* Where a name is none of those: tries them, and what others call them. */
void jg_scale_format_nearest(struct jg_nearest *nearest);
/* The same of a scale by itself, and of a layout. */
void jg_scale_nearest(struct jg_nearest *nearest);
void jg_scale_layout_nearest(struct jg_nearest *nearest);
const char *jg_scale_layout_name(uint32_t layout);
bool jg_scale_layout_parse(const char *text, size_t size, uint32_t *ret_layout);

/* Do the fields make one of the scales? Its type may be left out. `letter`: of the matrix,
 * for messages, 0 where `scale` is an argument by itself. ARGUMENT, UNSUPPORTED. */
jit_gemm_status jg_scale_check(char letter, const jit_gemm_scale *scale);
/* Of blocks: may their elements have this type? */
bool jg_scale_takes(const jit_gemm_scale *scale, jit_gemm_dtype dtype);
/* Fills in the type. */
void jg_scale_complete(jit_gemm_scale *scale);
/* Is there a kernel for such scales of the matrix? UNSUPPORTED. */
jit_gemm_status jg_scale_check_kernel(char letter, const jit_gemm_scale *scale);

/* Of blocks of as many rows as columns? */
bool jg_scale_is_square(const jit_gemm_scale *scale);
/* Of a byte: which the tensor core multiplies by, if the chip's does. */
bool jg_scale_is_multiplied(const jit_gemm_scale *scale);
/* Such scales as it takes them: one for each row, in pieces of 128x4. */
jit_gemm_scale jg_scale_pieces(const jit_gemm_scale *scale);
/* ... and are these others? Then they are brought there first (plan/scale_pack.h). */
bool jg_scale_is_packed_first(const jit_gemm_scale *scale);

/* Scales of blocks of one batch, as rows of elements in memory. */
struct jg_scale_extent {
    int64_t rows, columns;
};
/* Of a matrix of `mn` rows or columns, and `k` elements along K. */
struct jg_scale_extent jg_scale_extent(const jit_gemm_scale *scale, int64_t mn, int64_t k);
/* Which of these elements is scale (row, block), where there are so many of both. */
int64_t jg_scale_index(const jit_gemm_scale *scale, int64_t rows, int64_t blocks,
                       int64_t row, int64_t block);
/* Is the layout one of scales of this type? ARGUMENT, naming `field`. */
jit_gemm_status jg_scale_check_layout(const char *field, const jit_gemm_scale *scale);

#endif
