/* SPDX-License-Identifier: MIT */
/*
 * A manifest: epilogues, problems and conversions of scales as text, written by a context
 * and read by prewarm.
 *
 *     jit_gemm manifest 1
 *     epilogue NAME
 *     operand NAME KIND DTYPE [out|sum|max|min]
 *     source BYTES FIRST_LINE SOURCE_NAME
 *     <BYTES bytes, then a line feed>
 *     end
 *     epilogue NAME
 *     snippet
 *     <lines of it, none of them "end">
 *     end
 *     arch NAME... that it is meant for
 *     plan_for DEVICE (plan/planned_device.h)
 *     problem TEXT, in which a dynamic size may be a range: m=1..8192 loss=5%
 *     pack bytes=BYTES from=LAYOUT to=LAYOUT
 *     combine rows=TYPE d=TYPE chosen=COUNT
 *
 * Empty lines and comments, from a '#' at the line's beginning or behind a blank, are
 * skipped between the items, and among the operands; so are blanks around an item. An
 * epilogue stands before the problems that use it. docs/manifest.md is for who
 * writes one by hand.
 */
#ifndef JG_API_MANIFEST_H
#define JG_API_MANIFEST_H

#include "api/record.h"
#include "api/registry.h"
#include "base/text_index.h"
#include "plan/arch.h"
#include "plan/range.h"
#include "plan/side_kernel.h"

/* Where a snippet stands. */
struct jg_manifest_snippet {
    char name[JIT_GEMM_NAME_SIZE]; /* of its epilogue */
    uint32_t first_line;           /* in the user's file */
    size_t line;                   /* of the same line in the manifest */
};

/* Equal lines `problem`. */
struct jg_manifest_problem {
    size_t lines;             /* how many */
    size_t line;              /* in the manifest: the first of them */
    jit_gemm_problem problem; /* of the greatest size of a range */
    bool has_range;           /* the kernels of its bands are meant */
    struct jg_range range;
    jit_gemm_range asked_range; /* the same as it was given */
};

/* A line `pack` or `combine`. */
struct jg_manifest_side {
    size_t line; /* in the manifest */
    struct jg_side_kernel kernel;
};

enum { JG_MANIFEST_MOST_ARCHS = 16, JG_MANIFEST_MOST_DEVICES = 16 };

struct jg_manifest {
    struct jg_registry *epilogues;
    struct jg_manifest_snippet *snippets;
    size_t snippet_count, snippet_capacity;
    struct jg_manifest_problem *problems;
    size_t problem_count, problem_capacity;
    struct jg_text_index lines; /* of the problems, in the text: while it is read */
    struct jg_manifest_side *sides;
    size_t side_count, side_capacity;
    const struct jg_arch
        *archs[JG_MANIFEST_MOST_ARCHS]; /* of its lines `arch`, each once */
    size_t arch_count;
    struct jg_device_facts devices[JG_MANIFEST_MOST_DEVICES]; /* of its lines `plan_for` */
    size_t device_count;
};

/* Appends the text of a manifest: the device that was planned for, NULL being none, the
 * lines of `record` and the epilogues they use. */
void jg_manifest_print(const struct jg_device_facts *device, struct jg_record *record,
                       struct jg_registry *epilogues, struct jg_str *out);
/* Appends a manifest of one line and its epilogue, which may be NULL. */
void jg_manifest_print_one(const struct jg_epilogue *epilogue, const char *line,
                           struct jg_str *out);
/*
 * Reads a manifest. ARGUMENT (the error names the line), COMPILE (a snippet; its
 * epilogue and line too), VERSION (of
 * the format), NO_MEMORY. Free it with jg_manifest_free.
 */
jit_gemm_status jg_manifest_parse(const char *text, size_t size, struct jg_log *log,
                                  struct jg_manifest *ret_manifest);
/* Adds to the thread's error, of a kernel of this problem, where that stands: what is wrong
 * in a snippet gets its epilogue and the manifest's line of it, all else the line of the
 * problem. Leaves it as it is without memory. */
void jg_manifest_locate_error(const struct jg_manifest *manifest,
                              const struct jg_manifest_problem *problem);
/* The same of a kernel beside products. */
void jg_manifest_locate_side_error(const struct jg_manifest_side *side);
void jg_manifest_free(struct jg_manifest *manifest);

#endif
