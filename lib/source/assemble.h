/* SPDX-License-Identifier: MIT */
/*
 * Problem and config to the text of a source unit. Data only, never assembled logic. Pure:
 * the same input gives the same text, byte for byte.
 *
 * The unit's parts carry #line names, so that a message of the compiler says which part it
 * speaks of: jit_gemm_config, jit_gemm_epilogue (the frame around the snippet),
 * jit_gemm_compiled (the declaration or the text of a compiled function), jit_gemm_entry,
 * and the epilogue's name, under which the snippet begins at line 1: where it stands in the
 * user's file is no part of a kernel. With lineinfo, which profilers read, it has the
 * user's own file and lines.
 */
#ifndef JG_SOURCE_ASSEMBLE_H
#define JG_SOURCE_ASSEMBLE_H

#include "base/hash.h"
#include "plan/choose.h"

/* Version of the unit's form; part of every key. */
#define JG_SOURCE_FORMAT 8

/* #line name of the frame around the snippet, the line on which the frame ends, and the
 * name of the snippet used without an epilogue. */
#define JG_SOURCE_FRAME        "jit_gemm_epilogue"
#define JG_SOURCE_FRAME_END    4
#define JG_SOURCE_DEFAULT_NAME "jit_gemm_default"
/* #line name of what is said of a compiled function. */
#define JG_SOURCE_COMPILED "jit_gemm_compiled"

struct jg_source {
    struct jg_str text;
    char entry[JIT_GEMM_NAME_SIZE]; /* name of the extern "C" kernel */
    struct jg_hash headers;         /* digest of every embedded header */
    const char *linked; /* LTO-IR that the unit is linked with, the epilogue's; or NULL */
    size_t linked_size;
    bool has_lineinfo; /* the cubin is to say which line each instruction is of */
    bool rounds_apart; /* a product and a sum become no single operation */
};

/* NO_MEMORY. The caller frees. */
jit_gemm_status jg_source_assemble(const struct jg_arch *arch,
                                   const struct jg_problem *problem,
                                   const struct jg_choice *choice,
                                   struct jg_source *ret_source);
/* Appends a unit that holds the snippet in its function and no kernel: the compiler says of
 * it what it would say of the whole. NO_MEMORY. */
jit_gemm_status jg_source_assemble_snippet(const struct jg_epilogue *epilogue,
                                           struct jg_str *out);
void jg_source_free(struct jg_source *source);

/*
 * Is a place of the compiler's messages one of the snippet? Then `*line` becomes the
 * user's. The file's name is as the compiler shows it: control characters are '?'.
 */
bool jg_source_is_snippet(const struct jg_epilogue *epilogue, const char *name,
                          size_t name_size, uint32_t *line);

#endif
