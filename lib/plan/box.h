/* SPDX-License-Identifier: MIT */
/* A box: what one TMA copy moves, and how it lies in shared memory. The plan decides it;
 * tensor maps, loaders, descriptors of the multiplication and stores obey it. */
#ifndef JG_PLAN_BOX_H
#define JG_PLAN_BOX_H

#include "plan/matrix.h"

struct jg_box {
    int rows;
    int row_bytes; /* of a row: 128, 64 or 32, the width of the swizzle too */
    int atom;      /* bytes that the swizzle moves together: 16, or 32 in rows of 128 */
};

enum { JG_ATOM_BYTES = 16 /* but for the elements below */ };

/* The atom of an input: 32 where elements of 32 bits lie along M or N, which the tensor
 * core takes in no other way. */
static inline int jg_input_atom(const struct jg_matrix *matrix)
{
    return matrix->is_mn_major && jg_dtype_bits(matrix->dtype) == 32 ? 2 * JG_ATOM_BYTES
                                                                     : JG_ATOM_BYTES;
}

#endif
