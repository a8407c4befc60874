/* SPDX-License-Identifier: MIT */
/* A source unit, which the compiler makes a kernel of, and what goes with its text. */
#ifndef JG_SOURCE_UNIT_H
#define JG_SOURCE_UNIT_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/str.h"
#include "plan/arch.h"

/* Version of the unit's form; part of every key. */
#define JG_SOURCE_FORMAT 8

struct jg_source {
    struct jg_str text;
    char entry[JIT_GEMM_NAME_SIZE]; /* name of the extern "C" kernel */
    struct jg_hash headers;         /* digest of every embedded header */
    const char *linked; /* LTO-IR that the unit is linked with, the epilogue's; or NULL */
    size_t linked_size;
    bool has_lineinfo; /* the cubin is to say which line each instruction is of */
    bool rounds_apart; /* a product and a sum become no single operation */
};

/* Appends the first line of every unit: versions and the chip, as a comment. */
void jg_source_print_versions(const struct jg_arch *arch, struct jg_str *out);

/* Hands a unit over whose text is written; one whose text failed is freed. NO_MEMORY. */
jit_gemm_status jg_source_finish(struct jg_source *source, struct jg_source *ret_source);

void jg_source_free(struct jg_source *source);

#endif
