/* SPDX-License-Identifier: MIT */
/* One matrix or vector argument of a launch: its address and strides, checked and with the
 * defaults filled in. */
#ifndef JG_RUNTIME_ARRAY_H
#define JG_RUNTIME_ARRAY_H

#include <stddef.h>

#include "base/status.h"

enum jg_array_part { JG_PART_POINTER, JG_PART_LD, JG_PART_BATCH_STRIDE };

/* Filled by the caller from the arguments; ld and batch_stride are settled in place. */
struct jg_array {
    const char *letter;      /* "a" to "d", "a_scale"; NULL for an operand */
    size_t operand_index;    /* of an operand */
    const char *description; /* "A", or the operand's name */
    uint64_t pointer;
    int64_t ld;           /* in: as given; out: elements between rows */
    int64_t batch_stride; /* in: as given; out: elements, 0 broadcasts */
    int64_t rows, columns;
    int64_t batch;
    int64_t element_bytes;
    int64_t alignment; /* bytes, of the address, ld and batch stride: what is promised */
    const char *alignment_key; /* of a problem's text, which promises it */
    int may_broadcast;
    int has_ld;
    int has_map; /* goes through a tensor map */
};

/* Name of a field of the arguments, for messages: "args.lda". */
struct jg_field_name {
    char text[96];
};
struct jg_field_name jg_array_field(const struct jg_array *array, enum jg_array_part part);

/* Checks the address, the leading dimension, the batch stride and the extent. ARGUMENT,
 * UNSUPPORTED. */
jit_gemm_status jg_array_settle(struct jg_array *array);

#endif
