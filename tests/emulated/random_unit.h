/* SPDX-License-Identifier: MIT */
/* One kernel with random snippets: its problem, its operands, its data and its launches. */
#ifndef RANDOM_UNIT_H
#define RANDOM_UNIT_H

#include <stdbool.h>

#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"
#include "snippet_maker.h"
#include "verify/elements.h"

enum {
    MAX_MATRICES = JIT_GEMM_MAX_OPERANDS + 5, /* the operands, A, B, C, D and its scales */
    MATRIX_A = JIT_GEMM_MAX_OPERANDS,
    MATRIX_B,
    MATRIX_C,
    MATRIX_D,
    MATRIX_D_SCALE,
    MOST_OF_OUTPUT = 7, /* snippets */
    SNIPPET_SIZE = 4096 * MOST_OF_OUTPUT
};

/* One matrix, vector or scalar of a launch, on the host and on the device. */
struct array {
    struct element_view view; /* as stored */
    void *data;
    uint64_t address;
};

/* The text of the snippets of one output, and what it assigns: an operand, or D where it is
 * operand_count. */
struct snippet_of {
    char text[SNIPPET_SIZE];
    uint32_t output;
};

struct unit {
    uint64_t seed;
    struct draws draws;
    int arch;
    char problem_text[512];
    jit_gemm_problem problem;
    int64_t m, n, k, batch; /* of the launch; m and n are D's */
    bool is_dynamic;
    /* Snippets of each output, of which an element takes one by its diagonal: several where
     * the kernel has few copies of its snippet, so that many of them compile fast. */
    int of_output;
    bool has_blocks; /* D has computed scales, or there are reductions of blocks */
    bool is_gated;   /* snippets take acc0 and acc1: B has two columns for each of D */
    float alpha, beta;
    char names[JIT_GEMM_MAX_OPERANDS][16];
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    uint32_t operand_count, input_count;
    uint32_t
        in_place; /* the operand, or MATRIX_C, whose memory D has; MAX_MATRICES: none */
    uint32_t reduction_count; /* the last of the operands */
    struct snippet_of snippets[JIT_GEMM_MAX_OPERANDS + 1];
    uint32_t snippet_count;
    char *source;
    struct array arrays[MAX_MATRICES];
    uint64_t workspace;
    size_t
        guard_bytes;  /* around each array, 256 or none: an emulator sees what is beside */
    char wrong[1024]; /* empty while nothing is */
};

/* Scales by which sums stay exact: of row 0, 3, 6... of A 0.5, of the others 2; of B 0.25.
 */
struct unit_scales {
    struct array a, b;
};

/* Keeps the first thing that is wrong. */
void unit_fail(struct unit *unit, const char *what, const char *text);
/* True if the status is OK. */
bool unit_check(struct unit *unit, const char *what, jit_gemm_status status);
/* 0 to count - 1. */
uint32_t unit_below(struct unit *unit, uint32_t count);

/* Of the chip in `arch`; a problem need not be legal. `is_scaled`: D has computed scales;
 * otherwise that is drawn, too. */
void unit_draw_problem(struct unit *unit, bool is_scaled);
void unit_draw_operands(struct unit *unit);
/* `of_output` for each output, and `source` of all. `has_one_rounding` as snippet_maker.h
 * has it.
 */
void unit_draw_snippets(struct unit *unit, bool has_one_rounding);

bool unit_is_column_major(const struct unit *unit);
/* Does the kernel compute scales of D? */
bool unit_is_scaled(const struct unit *unit);
/* Columns of a kind of blocks, 0 of others. */
int unit_block_width(jit_gemm_operand_kind kind);
/* The column of B that accumulator 0 or 1 of a column of D comes from. */
int64_t unit_b_column(const struct unit *unit, int64_t column, int accumulator);
/* On the host and on the device; outputs are poisoned. False after a failure. */
bool unit_make_data(struct unit *unit, jit_gemm_context *context);
void unit_free_data(struct unit *unit, jit_gemm_context *context);
bool unit_make_workspace(struct unit *unit, jit_gemm_context *context, jit_gemm *gemm);
bool unit_make_scales(struct unit *unit, jit_gemm_context *context,
                      struct unit_scales *scales);
void unit_free_scales(const struct unit *unit, struct unit_scales *scales,
                      jit_gemm_context *context);
/* Launches and waits. */
bool unit_run(struct unit *unit, jit_gemm_context *context, jit_gemm *gemm,
              const struct unit_scales *scales);
/* C or the operand whose memory D has, anew. */
bool unit_restore_in_place(struct unit *unit, jit_gemm_context *context);
/* Has a launch written beside an array? */
void unit_check_guards(struct unit *unit, jit_gemm_context *context);
/* Brings an array back to the host. */
bool unit_download(struct unit *unit, jit_gemm_context *context, uint32_t index);

#endif
